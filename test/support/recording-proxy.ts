import { once } from 'node:events'
import { type Socket, connect, createServer } from 'node:net'

/** A TCP proxy that keeps every byte of WebSockets that go through it, in clear: what a tap behind TLS would see. */
export interface RecordingProxy {
  readonly address: string
  /** From the control plane to the agents. */
  down(): Buffer
  /** From the agents, the masks of their frames taken off. */
  up(): Buffer
  close(): Promise<void>
}

export async function startRecordingProxy(target: string): Promise<RecordingProxy> {
  const { hostname, port } = new URL(target)
  const sockets = new Set<Socket>()
  const connections: { up: Buffer[]; down: Buffer[] }[] = []
  const server = createServer((near) => {
    const far = connect(Number(port), hostname)
    const recorded = { up: [] as Buffer[], down: [] as Buffer[] }
    connections.push(recorded)
    near.on('data', (bytes) => recorded.up.push(bytes))
    far.on('data', (bytes) => recorded.down.push(bytes))
    for (const [one, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(one)
      one.pipe(other)
      one.on('error', () => other.destroy())
      one.on('close', () => {
        sockets.delete(one)
        other.destroy()
      })
    }
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    address: `http://127.0.0.1:${(server.address() as { port: number }).port}`,
    down: () => Buffer.concat(connections.flatMap(({ down }) => down)),
    up: () => Buffer.concat(connections.map(({ up }) => unmasked(Buffer.concat(up)))),
    async close() {
      server.close()
      for (const socket of sockets) socket.destroy()
      await once(server, 'close')
    },
  }
}

/** The request of the upgrade as it is, then the payloads of all frames (RFC 6455 section 5.2). */
function unmasked(bytes: Buffer): Buffer {
  const end = bytes.indexOf('\r\n\r\n') + 4
  const parts = [bytes.subarray(0, end)]
  let at = end
  while (at + 2 <= bytes.length) {
    const second = bytes.readUInt8(at + 1)
    const short = second & 0x7f
    const extended = short === 126 ? 2 : short === 127 ? 8 : 0
    const length =
      short === 126 ? bytes.readUInt16BE(at + 2) : short === 127 ? Number(bytes.readBigUInt64BE(at + 2)) : short
    const hasMask = second >= 0x80
    const mask = bytes.subarray(at + 2 + extended, at + 2 + extended + (hasMask ? 4 : 0))
    const from = at + 2 + extended + mask.length
    const payload = Buffer.from(bytes.subarray(from, from + length))
    if (hasMask)
      for (let index = 0; index < payload.length; index += 1)
        payload[index] = (payload[index] ?? 0) ^ (mask[index % 4] ?? 0)
    parts.push(payload)
    at = from + length
  }
  return Buffer.concat(parts)
}
