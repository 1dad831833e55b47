import type { EndRecord } from '@holdfast/protocol'
import { MAX_PAYLOAD_BYTES } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { Replica } from '../../../runner-agent/src/spool/replica.js'
import { createSender } from '../../../runner-agent/src/spool/sender.js'
import type { StreamFile } from '../../../runner-agent/src/spool/stream-file.js'

/** One job on its way to the control plane, step by step. */
class MemoryFile implements StreamFile {
  content: Buffer
  closed = 0
  failure: Error | null = null

  constructor(text: string) {
    this.content = Buffer.from(text)
  }

  size(): number {
    return this.content.length
  }

  read(offset: number, into: Buffer): Promise<Buffer> {
    if (this.failure !== null) return Promise.reject(this.failure)
    return Promise.resolve(into.subarray(0, this.content.copy(into, 0, offset)))
  }

  close(): Promise<void> {
    this.closed += 1
    return Promise.resolve()
  }
}

const endOf = (output: number, events: number): EndRecord =>
  ({ output: { length: output }, events: { length: events } }) as unknown as EndRecord

function jobOf(output: string, events = '') {
  const files = { output: new MemoryFile(output), events: new MemoryFile(events) }
  const told: string[] = []
  const replica = new Replica({ jobId: 1, runId: 'a'.repeat(32) }, files, {
    doubt: () => void told.push('doubt'),
    ready: () => void told.push('ready'),
  })
  replica.look()
  const next = () => replica.next(1000, Buffer.alloc(MAX_PAYLOAD_BYTES))
  return { files, told, replica, next }
}

describe('a job', () => {
  test('says whether one of its files grew, and how long both are', () => {
    const { files, replica } = jobOf('one', 'two\n')
    expect(replica.look()).toBe(false)
    files.output.content = Buffer.from('one more')
    expect(replica.look()).toBe(true)
    files.events.content = Buffer.from('two\nthree\n')
    expect(replica.look()).toBe(true)
    expect([replica.lengths(), replica.remaining]).toEqual([{ output: 8, events: 10 }, 18])
    replica.setEnd(endOf(5, 4))
    expect(replica.lengths()).toEqual({ output: 5, events: 4 })
  })

  test('sends events before output, both before its end, and closes its files with the end', async () => {
    const { files, replica, next } = jobOf('text', '{}\n')
    replica.setEnd(endOf(4, 3))
    expect(await next()).toMatchObject({ kind: 'piece', stream: 'events', offset: 0, final: true })
    expect(await next()).toMatchObject({ kind: 'piece', stream: 'output', offset: 0, final: true })
    expect([replica.unacknowledged, files.output.closed, files.events.closed]).toEqual([7, 0, 0])
    expect(await next()).toMatchObject({ kind: 'end' })
    expect([files.output.closed, files.events.closed]).toEqual([1, 1])
    expect([await next(), replica.isReady(1000)]).toEqual([null, false])
  })

  test('has nothing while one piece of it is read, and says when that is over', async () => {
    const { told, replica, next } = jobOf('text', '{}\n')
    const reading = next()
    expect([replica.isReady(1000), await next()]).toEqual([false, null])
    await reading
    expect(told).toEqual(['ready'])
    expect(replica.isReady(1000)).toBe(true)
  })

  test('sends no piece that was read before the control plane asked for another place', async () => {
    const { replica, next } = jobOf('text')
    const reading = next()
    replica.rewind('output', 2)
    expect(await reading).toBeNull()
    expect(await next()).toMatchObject({ offset: 2 })
    expect(replica.unacknowledged).toBe(2)
  })

  test('that goes on over a new connection sends its end again', async () => {
    const { replica, next } = jobOf('text')
    replica.setEnd(endOf(4, 0))
    await next()
    expect(await next()).toMatchObject({ kind: 'end' })
    replica.resume({ output: 4, events: 0 })
    expect([replica.unacknowledged, await next()]).toMatchObject([0, { kind: 'end' }])
  })

  test('that goes on over a new connection begins both streams where the control plane says', async () => {
    const { replica, next } = jobOf('text', '{}\n{}\n')
    replica.resume({ output: 1, events: 3 })
    expect([replica.remaining, replica.unacknowledged]).toEqual([6, 0])
    expect(await next()).toMatchObject({ stream: 'events', offset: 3 })
    expect(await next()).toMatchObject({ stream: 'output', offset: 1 })
  })

  test('has under way what is acknowledged of neither stream', async () => {
    const { replica, next } = jobOf('text', '{}\n')
    await next()
    await next()
    expect(replica.unacknowledged).toBe(7)
    replica.acknowledge({ output: 1, events: 0 })
    expect(replica.unacknowledged).toBe(6)
    replica.acknowledge({ output: 1, events: 3 })
    expect(replica.unacknowledged).toBe(3)
  })

  test('ends where the control plane keeps no more', async () => {
    const { replica, next } = jobOf('text')
    replica.setEnd(endOf(4, 0))
    replica.stopAt('output', 1)
    expect(await next()).toMatchObject({ payload: Buffer.from('t'), final: false })
    expect(await next()).toMatchObject({ kind: 'end' })
    replica.acknowledge({ output: 1, events: 0 })
    expect(replica.unacknowledged).toBe(0)
  })
})

describe('an end that the files do not agree with', () => {
  test.each([
    ['output', endOf(5, 3)],
    ['events', endOf(4, 4)],
  ])('is doubted, because the %s is shorter, and nothing goes out until it is set again', async (_, end) => {
    const { told, replica, next } = jobOf('text', '{}\n')
    replica.setEnd(end)
    expect([told, replica.isReady(1000), await next()]).toEqual([['doubt'], false, null])
    replica.setEnd(endOf(4, 3))
    expect([told, replica.isReady(1000)]).toEqual([['doubt'], true])
  })

  test('is doubted when the control plane asks for a stream after it got the end, and not before', async () => {
    const { told, replica, next } = jobOf('text')
    replica.setEnd(endOf(4, 0))
    replica.rewind('output', 0)
    expect(told).toEqual([])
    await next()
    await next()
    replica.rewind('output', 0)
    expect(told).toEqual(['ready', 'doubt'])
    replica.rewind('events', 0)
    expect(told).toEqual(['ready', 'doubt'])
  })

  test.each(['ENOENT', 'EISDIR'])(
    'is doubted when a file is gone (%s), which is an error before the end',
    async (code) => {
      const { files, told, replica, next } = jobOf('text')
      files.output.failure = Object.assign(new Error(code), { code })
      await expect(next()).rejects.toThrow(code)
      expect(files.output.closed).toBe(1)
      expect(told).toEqual(['ready'])
      replica.setEnd(endOf(4, 0))
      expect(await next()).toBeNull()
      expect(told).toEqual(['ready', 'doubt', 'ready'])
    },
  )

  test('is not doubted because a file cannot be read just now', async () => {
    const { files, told, replica, next } = jobOf('text')
    replica.setEnd(endOf(4, 0))
    files.output.failure = Object.assign(new Error('EIO'), { code: 'EIO' })
    await expect(next()).rejects.toThrow('EIO')
    expect(told).toEqual(['ready'])
  })
})

test('a file that became shorter before the end is looked at again, and what is there is sent', async () => {
  const { files, told, replica, next } = jobOf('text')
  files.output.content = Buffer.from('te')
  expect(await next()).toMatchObject({ payload: Buffer.from('te') })
  expect([told, replica.remaining]).toEqual([['ready'], 0])
})

describe('the sender of a connection', () => {
  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

  function sending(buffered: number) {
    const sent: string[] = []
    const port = {
      open: true,
      bufferedBytes: () => buffered,
      send: ({ type }: { type: string }) => void sent.push(type),
      sendFrame: ({ stream, jobId }: { stream: string; jobId: number }) => void sent.push(`${stream} of ${jobId}`),
    }
    const sender = createSender(port, () => undefined)
    return { port, sender, sent }
  }

  test.each([
    [1024 * 1024, ['output of 1']],
    [1024 * 1024 + 1, []],
  ])('with %i bytes that wait for the network sends %j', async (buffered, expected) => {
    const { sender, sent } = sending(buffered)
    sender.add(jobOf('text').replica)
    await settled()
    expect(sent).toEqual(expected)
  })

  test('sends a job that was added twice once, by its number at the control plane', async () => {
    const { sender, sent } = sending(0)
    const { replica } = jobOf('text')
    replica.number = 7
    sender.add(replica)
    sender.add(replica)
    await settled()
    expect([sent, sender.unacknowledged()]).toEqual([['output of 7'], 4])
  })

  test('sends nothing of a job that was removed, or over a connection that is lost, also when it is read just then', async () => {
    const removed = sending(0)
    const { replica } = jobOf('text')
    removed.sender.add(replica)
    removed.sender.remove(replica)
    removed.sender.remove(replica)
    await settled()
    expect([removed.sent, removed.sender.unacknowledged()]).toEqual([[], 0])
    const lost = sending(0)
    lost.sender.add(jobOf('text').replica)
    lost.port.open = false
    await settled()
    expect(lost.sent).toEqual([])
  })
})
