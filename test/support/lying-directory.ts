import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'

/** BER: a tag, the length of its content, and the content. */
export function tlv(tag: number, ...content: readonly (Buffer | string)[]): Buffer {
  const body = Buffer.concat(content.map((part) => (typeof part === 'string' ? Buffer.from(part) : part)))
  const length =
    body.length < 128 ? Buffer.from([body.length]) : Buffer.from([0x84, ...new Uint8Array(uint32(body.length))])
  return Buffer.concat([Buffer.from([tag]), length, body])
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

export const TAG = { sequence: 0x30, octets: 0x04, integer: 0x02, enumerated: 0x0a, set: 0x31, controls: 0xa0 } as const
export const OP = { bind: 0x60, bindDone: 0x61, search: 0x63, entry: 0x64, searchDone: 0x65, reference: 0x73 } as const

/** A message of a directory. */
export function message(id: number, op: Buffer, controls: readonly Buffer[] = []): Buffer {
  const end = controls.length === 0 ? [] : [tlv(TAG.controls, ...controls)]
  return tlv(TAG.sequence, tlv(TAG.integer, Buffer.from([id & 0xff])), op, ...end)
}

/** The end of a request, with its result code and the words of the directory. */
export function result(tag: number, code: number, words = ''): Buffer {
  return tlv(tag, tlv(TAG.enumerated, Buffer.from([code])), tlv(TAG.octets), tlv(TAG.octets, words))
}

export function control(type: string, value?: Buffer): Buffer {
  return tlv(TAG.sequence, tlv(TAG.octets, type), ...(value === undefined ? [] : [tlv(TAG.octets, value)]))
}

export function entry(dn: string, attributes: Readonly<Record<string, readonly string[]>>): Buffer {
  const written = Object.entries(attributes).map(([name, values]) =>
    tlv(TAG.sequence, tlv(TAG.octets, name), tlv(TAG.set, ...values.map((value) => tlv(TAG.octets, value)))),
  )
  return tlv(OP.entry, tlv(TAG.octets, dn), tlv(TAG.sequence, ...written))
}

/** A request, as the directory gets it. */
export interface Asked {
  readonly id: number
  readonly op: number
  /** How many binds came before over this connection. The first is that of the service, if it has a login. */
  readonly binds: number
  readonly bytes: Buffer
  readonly socket: Socket
}

/** A directory that answers what a test wants, byte by byte. */
export interface LyingDirectory {
  readonly url: string
  /** What it answers next; undefined: the right answer, for the only user `jo`. */
  lie(answer: (asked: Asked) => readonly Buffer[] | undefined): void
  /** How many requests came. */
  readonly asked: () => number
  close(): Promise<void>
}

export const JO = 'uid=jo,dc=example,dc=com'

export async function startLyingDirectory(): Promise<LyingDirectory> {
  const sockets = new Set<Socket>()
  let lie: (asked: Asked) => readonly Buffer[] | undefined = () => undefined
  let count = 0

  function right({ id, op }: Asked): readonly Buffer[] {
    if (op === OP.bind) return [message(id, result(OP.bindDone, 0))]
    if (op !== OP.search) return []
    return [message(id, entry(JO, { uid: ['jo'] })), message(id, result(OP.searchDone, 0))]
  }
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket)).on('error', () => undefined)
    let rest = Buffer.alloc(0)
    let binds = 0
    socket.on('data', (bytes: Buffer) => {
      rest = Buffer.concat([rest, bytes])
      for (let end = endOf(rest); end !== null; end = endOf(rest)) {
        const bytesOfOne = rest.subarray(0, end)
        rest = rest.subarray(end)
        const { id, op } = headOf(bytesOfOne)
        const asked = { id, op, binds, bytes: bytesOfOne, socket }
        if (op === OP.bind) binds += 1
        count += 1
        for (const part of lie(asked) ?? right(asked)) socket.write(part)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `ldap://127.0.0.1:${(server.address() as AddressInfo).port}`,
    lie: (answer) => void (lie = answer),
    asked: () => count,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
}

function lengthOf(bytes: Buffer, at: number): { length: number; head: number } | null {
  const first = bytes[at]
  if (first === undefined) return null
  if (first < 128) return { length: first, head: 1 }
  const count = first & 127
  if (bytes.length < at + 1 + count) return null
  return { length: bytes.readUIntBE(at + 1, count), head: 1 + count }
}

function endOf(bytes: Buffer): number | null {
  const found = lengthOf(bytes, 1)
  if (found === null) return null
  const end = 1 + found.head + found.length
  return bytes.length < end ? null : end
}

function headOf(bytes: Buffer): { id: number; op: number } {
  const start = 1 + (lengthOf(bytes, 1)?.head ?? 1)
  const length = bytes[start + 1] ?? 1
  return { id: bytes.readUIntBE(start + 2, length), op: bytes[start + 2 + length] ?? 0 }
}
