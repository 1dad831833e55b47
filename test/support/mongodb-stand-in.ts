import { BSON } from 'mongodb'
import { once } from 'node:events'
import { type AddressInfo, type Socket, createServer } from 'node:net'

/** A server that speaks the wire protocol of MongoDB: it answers the commands that a driver needs to find documents. */
export interface MongodbStandIn {
  readonly port: number
  /** What `find` was asked, the newest at the end. */
  readonly finds: BSON.Document[]
  /** Documents by `database.collection`. Each find gives all of them, whatever its filter. */
  readonly documents: Map<string, BSON.Document[]>
  /** How many commands ended a cursor. */
  killed: number
  close(): Promise<void>
}

const [OP_REPLY, OP_QUERY, OP_MSG] = [1, 2004, 2013]
const HEADER_BYTES = 16

/** Starts it on a port of its own. */
export async function startMongodbStandIn(): Promise<MongodbStandIn> {
  const sockets = new Set<Socket>()
  const cursors = new Map<string, { readonly of: string; readonly left: BSON.Document[] }>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('close', () => sockets.delete(socket))
    socket.on('error', () => undefined)
    let received: Buffer<ArrayBufferLike> = Buffer.alloc(0)
    socket.on('data', (data) => {
      received = Buffer.concat([received, data])
      while (received.length >= HEADER_BYTES && received.length >= received.readInt32LE(0)) {
        const length = received.readInt32LE(0)
        socket.write(replyTo(received.subarray(0, length), answer))
        received = received.subarray(length)
      }
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')

  function nextBatch(id: string, size: number): BSON.Document {
    const cursor = cursors.get(id)
    if (!cursor) return { ok: 0, code: 43, errmsg: 'no such cursor' }
    const batch = cursor.left.splice(0, size)
    const isOver = cursor.left.length === 0
    if (isOver) cursors.delete(id)
    return { cursor: { id: BSON.Long.fromString(isOver ? '0' : id), ns: cursor.of, nextBatch: batch }, ok: 1 }
  }

  function answer(command: BSON.Document): BSON.Document {
    if ('hello' in command || 'ismaster' in command || 'isMaster' in command) {
      return { ok: 1, isWritablePrimary: true, ismaster: true, helloOk: true, minWireVersion: 0, maxWireVersion: 25 }
    }
    if ('find' in command) {
      standIn.finds.push(command)
      const of = `${command.$db}.${command.find}`
      const left = (standIn.documents.get(of) ?? []).slice(0, Number(command.limit) || undefined)
      const id = String(standIn.finds.length)
      cursors.set(id, { of, left })
      const { cursor } = nextBatch(id, Number(command.batchSize)) as { cursor: BSON.Document }
      const { nextBatch: firstBatch, ...rest } = cursor
      return { cursor: { ...rest, firstBatch }, ok: 1 }
    }
    if ('getMore' in command) return nextBatch(String(command.getMore), Number(command.batchSize))
    if ('killCursors' in command) standIn.killed += 1
    return 'killCursors' in command || 'endSessions' in command || 'ping' in command
      ? { ok: 1 }
      : { ok: 0, code: 59, errmsg: `no such command: ${Object.keys(command)[0]}` }
  }

  const standIn: MongodbStandIn = {
    port: (server.address() as AddressInfo).port,
    finds: [],
    documents: new Map(),
    killed: 0,
    async close() {
      for (const socket of sockets) socket.destroy()
      server.close()
      await once(server, 'close')
    },
  }
  return standIn
}

function replyTo(message: Buffer, answer: (command: BSON.Document) => BSON.Document): Buffer {
  const id = message.readInt32LE(4)
  const kind = message.readInt32LE(12)
  if (kind === OP_QUERY) {
    // Flags, the name of the collection with its NUL, two numbers.
    const document = message.indexOf(0, HEADER_BYTES + 4) + 1 + 8
    const body = BSON.serialize(answer(BSON.deserialize(message.subarray(document))))
    const head = Buffer.alloc(20)
    head.writeInt32LE(8, 0)
    head.writeInt32LE(1, 16)
    return framed(OP_REPLY, id, Buffer.concat([head, body]))
  }
  if (kind !== OP_MSG) throw new Error(`operation ${kind} is not known`)
  // Four bytes of flags, and the kind of the section: 0 is the command itself.
  const body = BSON.serialize(answer(BSON.deserialize(message.subarray(HEADER_BYTES + 5))))
  return framed(OP_MSG, id, Buffer.concat([Buffer.alloc(5), body]))
}

function framed(kind: number, to: number, body: Buffer): Buffer {
  const header = Buffer.alloc(HEADER_BYTES)
  header.writeInt32LE(HEADER_BYTES + body.length, 0)
  header.writeInt32LE(to, 8)
  header.writeInt32LE(kind, 12)
  return Buffer.concat([header, body])
}
