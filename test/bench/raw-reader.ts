import { Agent, get } from 'node:http'

/** Reads answers over one connection that stays open, byte by byte as they come and without looking into them. */
export interface RawReader {
  /** The body. @throws Error when the answer is not 200 */
  get(path: string, token: string): Promise<Buffer>
  close(): void
}

export function openReader(address: string): RawReader {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    get: (path, token) =>
      new Promise((resolve, reject) => {
        const headers = { authorization: `Bearer ${token}` }
        get(`${address}/api/v2${path}`, { agent, headers }, (response) => {
          const pieces: Buffer[] = []
          response.on('error', reject)
          response.on('data', (piece: Buffer) => void pieces.push(piece))
          response.on('end', () => {
            const body = Buffer.concat(pieces)
            if (response.statusCode === 200) resolve(body)
            else reject(new Error(`GET ${path}: ${response.statusCode} ${body.toString()}`))
          })
        }).on('error', reject)
      }),
    close: () => agent.destroy(),
  }
}
