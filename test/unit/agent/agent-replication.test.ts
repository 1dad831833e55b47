import {
  MAX_PAYLOAD_BYTES,
  type AgentMessage,
  type EndRecord,
  type StreamName,
  WINDOW_PER_JOB_BYTES,
  WINDOW_PER_SOCKET_BYTES,
} from '@holdfast/protocol'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Replica } from '../../../runner-agent/src/spool/replica.js'
import { createSender, type Sender, type SenderPort } from '../../../runner-agent/src/spool/sender.js'
import type { StreamFile } from '../../../runner-agent/src/spool/stream-file.js'
import { waitUntil } from '../../agent/waiting.js'

/** A stream file in memory. */
class MemoryFile implements StreamFile {
  content = Buffer.alloc(0)

  append(text: string | Buffer): void {
    this.content = Buffer.concat([this.content, Buffer.from(text)])
  }

  size(): number {
    return this.content.length
  }

  async read(offset: number, into: Buffer): Promise<Buffer> {
    await Promise.resolve()
    return into.subarray(0, this.content.copy(into, 0, offset))
  }

  async close(): Promise<void> {
    await Promise.resolve()
  }
}

interface Sent {
  readonly job: number
  readonly stream: StreamName
  readonly offset: number
  readonly bytes: Buffer
  readonly final: boolean
}

/** A connection that keeps what is sent. */
class FakePort implements SenderPort {
  open = true
  buffered = 0
  readonly pieces: Sent[] = []
  readonly ends: number[] = []
  #flushed: (() => void)[] = []

  bufferedBytes(): number {
    return this.buffered
  }

  send(message: AgentMessage): void {
    if (message.type === 'end') this.ends.push(message.job_id)
  }

  sendFrame(frame: Parameters<SenderPort['sendFrame']>[0], flushed: () => void): void {
    const { jobId: job, stream, offset, final } = frame
    this.pieces.push({ job, stream, offset, final, bytes: Buffer.from(frame.payload) })
    this.#flushed.push(flushed)
  }

  flush(): void {
    this.buffered = 0
    for (const flushed of this.#flushed.splice(0)) flushed()
  }

  bytesOf(job: number, stream: StreamName = 'output'): number {
    return this.pieces
      .filter((piece) => piece.job === job && piece.stream === stream)
      .reduce((sum, piece) => sum + piece.bytes.length, 0)
  }
}

interface Job {
  readonly replica: Replica
  readonly files: Record<StreamName, MemoryFile>
  doubts: number
}

function jobOf(id: number, sender?: Sender): Job {
  const files = { output: new MemoryFile(), events: new MemoryFile() }
  const job: Job = {
    files,
    doubts: 0,
    replica: new Replica({ jobId: id, runId: '0'.repeat(32) }, files, {
      doubt: () => (job.doubts += 1),
      ready: () => sender?.wake(),
    }),
  }
  return job
}

function endOf({ output, events }: { output: number; events: number }): EndRecord {
  return {
    run_id: '0'.repeat(32),
    cause: 'exited',
    exit_code: 0,
    signal: null,
    message: null,
    aborted: false,
    started_at: null,
    ended_at: '2026-01-01T00:00:00.000Z',
    output: { length: output, sha256: '0'.repeat(64), dropped_bytes: 0 },
    events: { length: events, sha256: '0'.repeat(64), dropped: 0, errors: 0, plugin_seen: true },
  }
}

const failed = (_: Replica, error: unknown): never => {
  throw error
}

/** The sender works in promises only: once this resolves it has done what it can. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve))

describe('pieces of a job', () => {
  test('events are sent in whole lines, an incomplete line waits for its rest, and the end sends everything', async () => {
    const port = new FakePort()
    const sender = createSender(port, failed)
    const { replica, files } = jobOf(1, sender)
    sender.add(replica)
    files.events.append('{"a":1}\n{"b":')
    replica.look()
    sender.wake()
    await settled()
    expect(port.pieces.map(({ bytes, final }) => [bytes.toString(), final])).toEqual([['{"a":1}\n', false]])
    files.events.append('2}\n{"torn')
    replica.look()
    sender.wake()
    await settled()
    expect(port.pieces.at(-1)?.bytes.toString()).toBe('{"b":2}\n')
    replica.setEnd(endOf({ output: 0, events: files.events.size() }))
    sender.wake()
    await settled()
    expect(port.pieces.at(-1)).toMatchObject({ offset: 16, final: true })
    expect(port.ends).toEqual([1])
  })

  test('a line that fills a whole piece is sent alone', async () => {
    const port = new FakePort()
    const sender = createSender(port, failed)
    const { replica, files } = jobOf(1, sender)
    sender.add(replica)
    files.events.append('x'.repeat(MAX_PAYLOAD_BYTES + 10))
    replica.look()
    sender.wake()
    await settled()
    expect(port.pieces.map(({ bytes }) => bytes.length)).toEqual([MAX_PAYLOAD_BYTES])
  })

  test('bytes after the end are never sent', async () => {
    const port = new FakePort()
    const sender = createSender(port, failed)
    const { replica, files } = jobOf(1, sender)
    files.output.append('0123456789')
    replica.look()
    replica.setEnd(endOf({ output: 4, events: 0 }))
    sender.add(replica)
    await settled()
    expect(port.pieces).toMatchObject([{ offset: 0, bytes: Buffer.from('0123'), final: true }])
  })

  test('if a file is shorter than its end says, nothing is sent until the end is corrected', async () => {
    const port = new FakePort()
    const sender = createSender(port, failed)
    const job = jobOf(1, sender)
    job.files.output.append('0123')
    job.replica.look()
    job.replica.setEnd(endOf({ output: 10, events: 0 }))
    sender.add(job.replica)
    await settled()
    expect(job.doubts).toBe(1)
    expect([port.pieces, port.ends]).toEqual([[], []])
    job.replica.setEnd(endOf({ output: 4, events: 0 }))
    sender.wake()
    await settled()
    expect(port.pieces).toHaveLength(1)
    expect(port.ends).toEqual([1])
  })

  test('after a rewind behind the end, the owner checks the file, and the end is sent again', async () => {
    const port = new FakePort()
    const sender = createSender(port, failed)
    const job = jobOf(1, sender)
    job.files.output.append('0123')
    const end = endOf({ output: 4, events: 0 })
    job.replica.look()
    job.replica.setEnd(end)
    sender.add(job.replica)
    await settled()
    job.replica.rewind('output', 0)
    job.replica.rewind('events', 0)
    sender.wake()
    await settled()
    expect(job.doubts).toBe(1)
    job.replica.setEnd(end)
    sender.wake()
    await settled()
    expect(port.pieces.map(({ offset }) => offset)).toEqual([0, 0])
    expect(port.ends).toEqual([1, 1])
  })
})

test('a job whose streams cannot be read is reported and left out, and the other jobs are sent', async () => {
  const port = new FakePort()
  const reported: [Replica, unknown][] = []
  const sender = createSender(port, (replica, error) => void reported.push([replica, error]))
  const [broken, good] = [jobOf(1, sender), jobOf(2, sender)]
  const error = new Error('EIO: i/o error, read')
  broken.files.output.read = () => Promise.reject(error)
  for (const { files, replica } of [broken, good]) {
    files.output.append('some text')
    replica.look()
    sender.add(replica)
  }
  await settled()
  expect(reported).toEqual([[broken.replica, error]])
  expect([port.bytesOf(1), port.bytesOf(2)]).toEqual([0, 9])
  sender.wake()
  await settled()
  expect(reported).toHaveLength(1)
})

describe('windows', () => {
  const backlog = (id: number, bytes: number, sender: Sender): Job => {
    const job = jobOf(id, sender)
    job.files.output.append(Buffer.alloc(bytes))
    job.replica.look()
    return job
  }

  test('a job stops at its own window, the socket at its own, and acknowledgements open both', async () => {
    const port = new FakePort()
    const sender = createSender(port, failed)
    const jobs = [1, 2, 3, 4, 5].map((id) => backlog(id, 2 * WINDOW_PER_JOB_BYTES, sender))
    for (const job of jobs) sender.add(job.replica)
    await waitUntil('the pump rests', async () => {
      const before = port.pieces.length
      await settled()
      return before === port.pieces.length
    })
    for (const id of [1, 2, 3, 4, 5]) expect(port.bytesOf(id)).toBeLessThanOrEqual(WINDOW_PER_JOB_BYTES)
    // A part of the socket's window is kept for jobs without a backlog.
    expect(sender.unacknowledged()).toBe(WINDOW_PER_SOCKET_BYTES * 0.75)

    const live = backlog(6, 1000, sender)
    sender.add(live.replica)
    await settled()
    expect(port.bytesOf(6)).toBe(1000)

    jobs[0]?.replica.acknowledge({ output: port.bytesOf(1), events: 0 })
    const before = port.bytesOf(1)
    sender.wake()
    await waitUntil('the first goes on', () => port.bytesOf(1) > before)
  })

  test('jobs take turns', async () => {
    const port = new FakePort()
    const sender = createSender(port, failed)
    for (const id of [1, 2]) sender.add(backlog(id, 4 * MAX_PAYLOAD_BYTES, sender).replica)
    await waitUntil('all is sent', () => port.pieces.length === 8)
    expect(port.pieces.slice(2).map(({ job }) => job)).toEqual(
      [2, 1, 2, 1, 2, 1].map((job) => (port.pieces[1]?.job === 2 ? 3 - job : job)),
    )
  })

  test('the bytes that wait for the network are limited', async () => {
    const port = new FakePort()
    const sender = createSender(port, failed)
    port.buffered = 2 * 1024 * 1024
    sender.add(backlog(1, 1000, sender).replica)
    await settled()
    expect(port.pieces).toEqual([])
    port.buffered = 0
    sender.wake()
    await settled()
    expect(port.pieces).toHaveLength(1)
  })
})

test('whatever is dropped, cut and repeated, the other side gets the same bytes', async () => {
  const step = fc.oneof(
    fc.record({
      kind: fc.constant('append' as const),
      lines: fc.integer({ min: 1, max: 40 }),
      width: fc.integer({ min: 1, max: 30_000 }),
    }),
    fc.record({ kind: fc.constant('lose' as const) }),
    fc.record({ kind: fc.constant('reconnect' as const) }),
  )
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
      let port = new FakePort()
      let sender = createSender(port, failed)
      const job = jobOf(1)
      sender.add(job.replica)
      const stored: Record<StreamName, Buffer> = { output: Buffer.alloc(0), events: Buffer.alloc(0) }
      let lose = false
      /** The control plane's rule: a piece counts at the stored length only. */
      const store = (): void => {
        const asked = new Set<StreamName>()
        for (const { stream, offset, bytes } of port.pieces.splice(0)) {
          const at = stored[stream].length
          if (lose) lose = false
          else if (offset > at) asked.add(stream)
          else stored[stream] = Buffer.concat([stored[stream], bytes.subarray(at - offset)])
        }
        for (const stream of asked) job.replica.rewind(stream, stored[stream].length)
        job.replica.acknowledge({ output: stored.output.length, events: stored.events.length })
        port.flush()
        sender.wake()
      }
      for (const action of steps) {
        if (action.kind === 'append') {
          for (let line = 0; line < action.lines; line += 1) job.files.events.append('e'.repeat(action.width) + '\n')
          job.files.output.append('o'.repeat(action.width * action.lines))
          job.replica.look()
          sender.wake()
        } else if (action.kind === 'lose') {
          lose = true
        } else {
          port.open = false
          port = new FakePort()
          sender = createSender(port, failed)
          job.replica.resume({ output: stored.output.length, events: stored.events.length })
          sender.add(job.replica)
        }
        await settled()
        store()
      }
      const end = endOf({ output: job.files.output.size(), events: job.files.events.size() })
      job.replica.setEnd(end)
      const isWhole = (): boolean =>
        stored.output.length === end.output.length && stored.events.length === end.events.length
      for (let round = 0; round < 500 && !(isWhole() && port.ends.length > 0); round += 1) {
        store()
        await settled()
        // The control plane takes an end only when it has everything; else it asks for the rest.
        if (port.ends.length > 0 && port.pieces.length === 0 && !isWhole()) {
          port.ends.length = 0
          job.replica.rewind('output', stored.output.length)
          job.replica.rewind('events', stored.events.length)
        }
        // A real owner checks the files after that and says the end again.
        if (job.doubts > 0) {
          job.doubts = 0
          job.replica.setEnd(end)
          sender.wake()
        }
      }
      expect(port.ends.length).toBeGreaterThan(0)
      expect(stored.output.equals(job.files.output.content)).toBe(true)
      expect(stored.events.equals(job.files.events.content)).toBe(true)
    }),
    { numRuns: 60 },
  )
})
