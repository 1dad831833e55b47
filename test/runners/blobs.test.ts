import { randomBytes } from 'node:crypto'
import { MAX_PAYLOAD_BYTES } from '@holdfast/protocol'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { BlobSender } from '../../control-plane/src/runners/socket/blob-sender.js'
import { waitFor } from '../support/wait.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import type { RawAgent } from '../support/raw-agent.js'

let fixture: HubFixture
let agent: RawAgent

beforeEach(async () => {
  fixture = await startHub()
  agent = await fixture.approved('edge-1')
})
afterEach(() => fixture.close())

const HASHES = ['a', 'b', 'c'].map((digit) => digit.repeat(64)) as [string, string, string]

function connection() {
  const session = fixture.sessions[0]
  if (!session) throw new Error('there is no session')
  return session.connection
}

async function* inChunks(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

function received(sha256: string): Buffer {
  const parts = agent.frames.flatMap((frame) => (frame.kind === 'blob' && frame.sha256 === sha256 ? [frame] : []))
  let length = 0
  for (const part of parts) {
    expect(part.offset).toBe(length)
    length += part.payload.length
  }
  return Buffer.concat(parts.map((part) => part.payload))
}

test('a blob arrives completely and in order, in frames within the limit, whatever the pieces of its source are', async () => {
  const content = randomBytes(3 * MAX_PAYLOAD_BYTES + 17)
  await connection().sendBlob(HASHES[0], content.length, inChunks(content, 700_000))
  await waitFor('all of it', () => received(HASHES[0]).length === content.length)
  expect(received(HASHES[0]).equals(content)).toBe(true)
  expect(agent.frames.every((frame) => frame.payload.length <= MAX_PAYLOAD_BYTES)).toBe(true)
})

test('an empty blob is one empty frame', async () => {
  await connection().sendBlob(HASHES[0], 0, inChunks(Buffer.alloc(0), 1))
  await waitFor('the frame', () => agent.frames.length === 1)
  expect(agent.frames[0]).toMatchObject({ kind: 'blob', offset: 0, size: 0 })
})

test('blobs sent at the same time take turns', async () => {
  const content = randomBytes(4 * MAX_PAYLOAD_BYTES)
  await Promise.all(
    HASHES.map((hash) => connection().sendBlob(hash, content.length, inChunks(content, MAX_PAYLOAD_BYTES))),
  )
  await waitFor('all of them', () => agent.frames.length === 12)
  for (const hash of HASHES) expect(received(hash).equals(content)).toBe(true)
  const lastOfFirst = agent.frames.findLastIndex((frame) => frame.kind === 'blob' && frame.sha256 === HASHES[0])
  const firstOfLast = agent.frames.findIndex((frame) => frame.kind === 'blob' && frame.sha256 === HASHES[2])
  expect(firstOfLast).toBeLessThan(lastOfFirst)
})

test('a control message goes between the frames of a blob, and a full socket stops the reading of the source', async () => {
  const { _socket: network } = agent.socket as unknown as { _socket: { pause(): void; resume(): void } }
  network.pause()
  let read = 0
  const size = 64 * 1024 * 1024
  async function* source() {
    for (; read < size; read += MAX_PAYLOAD_BYTES) yield Buffer.alloc(MAX_PAYLOAD_BYTES)
  }
  const sending = connection().sendBlob(HASHES[0], size, source())
  let before = 0
  const stopped = () => {
    const same = read > 0 && read === before
    before = read
    return same
  }
  await waitFor('the reading to stop', stopped, { everyMs: 100 })
  expect(read).toBeLessThan(size / 2)
  connection().send({ type: 'forget', job_id: 1, run_id: '0'.repeat(32) })
  network.resume()
  await agent.next('forget')
  expect(agent.frames.length).toBeLessThan(size / MAX_PAYLOAD_BYTES)
  await sending
  await waitFor('all of it', () => agent.frames.length === size / MAX_PAYLOAD_BYTES)
})

test('the sending fails when the connection ends, and the source is closed', async () => {
  let released = false
  async function* endless() {
    try {
      for (;;) yield randomBytes(1000)
    } finally {
      released = true
    }
  }
  const sending = connection().sendBlob(HASHES[0], Number.MAX_SAFE_INTEGER, endless())
  await waitFor('some of it', () => agent.frames.length > 3)
  agent.socket.terminate()
  await expect(sending).rejects.toThrow()
  expect(released).toBe(true)
  await expect(connection().sendBlob(HASHES[0], 1, inChunks(Buffer.from('x'), 1))).rejects.toThrow()
})

test('a source that fails, or has another size than announced, fails the sending and not the connection', async () => {
  async function* broken(): AsyncGenerator<Buffer> {
    yield Buffer.from('x')
    throw new Error('the disk is gone')
  }
  await expect(connection().sendBlob(HASHES[0], 5, broken())).rejects.toThrow('the disk is gone')
  await expect(connection().sendBlob(HASHES[0], 5, inChunks(Buffer.from('x'), 1))).rejects.toThrow(/ended after 1/)
  await expect(connection().sendBlob(HASHES[0], 1, inChunks(Buffer.from('xx'), 2))).rejects.toThrow(/longer/)
  agent.say({ type: 'inventory', jobs: [] })
  await waitFor('the message', () => fixture.sessions[0]?.messages.length === 1)
})

test('a frame that cannot be sent does not delay the blobs after it', async () => {
  let failures = 1
  const sent: Buffer[] = []
  const sender = new BlobSender({
    ended: false,
    sendBytes: (bytes) => (failures-- > 0 ? Promise.reject(new Error('once')) : Promise.resolve(void sent.push(bytes))),
  })
  const first = sender.send(HASHES[0], 1, inChunks(Buffer.from('x'), 1))
  const second = sender.send(HASHES[1], 1, inChunks(Buffer.from('y'), 1))
  await expect(first).rejects.toThrow('once')
  await second
  expect(sent).toHaveLength(1)
})
