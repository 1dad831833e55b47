import { Agent, get } from 'node:http'
import { connect } from 'node:net'

/** Reads answers over one connection that stays open, byte by byte as they come and without looking into them. */
export interface RawReader {
  /** The body. @throws Error when the answer is not 200 */
  get(path: string, token: string): Promise<Buffer>
  /**
   * The same without the body, for measurements. All of it goes through one buffer: what is kept becomes garbage, and
   * collecting it would be measured, too. @throws Error when the answer is not 200
   */
  pass(path: string, token: string): Promise<void>
  close(): void
}

/** The end of an answer whose length is not known before. JSON has no line ends of its own. */
const END = '0\r\n\r\n'

export function openReader(address: string): RawReader {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  const { hostname, port, host } = new URL(address)
  let answer = { head: '', tail: '', done: (_error?: Error): void => undefined }
  const take = (length: number, buffer: Uint8Array): boolean => {
    const text = (from: number, to: number) => Buffer.from(buffer.buffer, from, to - from).toString('latin1')
    if (answer.head === '') answer.head = text(0, Math.min(length, 12))
    answer.tail = (answer.tail + text(Math.max(0, length - END.length), length)).slice(-END.length)
    if (answer.head !== 'HTTP/1.1 200') answer.done(new Error(`${answer.head} in place of an answer`))
    else if (answer.tail === END) answer.done()
    return true
  }
  const onread = { buffer: new Uint8Array(256 * 1024), callback: take }
  const socket = connect({ host: hostname, port: Number(port), noDelay: true, onread })
  socket.on('error', (error) => {
    answer.done(error)
  })
  socket.on('close', () => {
    answer.done(new Error('the connection was closed'))
  })
  return {
    pass: (path, token) =>
      new Promise((resolve, reject) => {
        answer = { head: '', tail: '', done: (error) => (error ? reject(error) : resolve()) }
        socket.write(`GET /api/v2${path} HTTP/1.1\r\nhost: ${host}\r\nauthorization: Bearer ${token}\r\n\r\n`)
      }),
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
    close: () => {
      agent.destroy()
      socket.destroy()
    },
  }
}
