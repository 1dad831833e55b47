import type { Readable } from 'node:stream'
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { type OutputFeeds, createOutputFeeds } from '../../../control-plane/src/jobs/read/output-feed.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { heldTimers } from '../../api/held-timers.js'
import { waitFor } from '../../support/wait.js'
import { outputStore, watched } from './stored-output.js'

const KIB = 1024
const LOOK_MS = 100
const MINUTE = 60_000

let db: Awaited<ReturnType<typeof outputStore>>
const open: OutputFeeds[] = []
beforeAll(async () => {
  db = await outputStore()
})
afterEach(() => {
  for (const feeds of open.splice(0)) feeds.close()
})
afterAll(() => db.close())

/** Feeds whose clock and timers only move when the test says so. */
function start(queries: Queries = db.queries) {
  const held = heldTimers()
  const failures: unknown[] = []
  let time = 0
  const { timers } = held
  const feeds = createOutputFeeds({ queries, timers, now: () => time, onFailure: (error) => failures.push(error) })
  open.push(feeds)
  return {
    feeds,
    failures,
    isLooking: () => held.count() > 0,
    look: () => held.move(LOOK_MS),
    pass: (ms: number) => {
      time += ms
    },
  }
}

/** A viewer that takes everything at once. */
function taken(stream: Readable) {
  const pieces: Buffer[] = []
  const state = { ended: false, closed: false }
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  stream.on('end', () => (state.ended = true))
  stream.on('close', () => (state.closed = true))
  return {
    state,
    text: () => Buffer.concat(pieces).toString('latin1'),
    bytes: () => pieces.reduce((sum, { length }) => sum + length, 0),
  }
}

/** A stream that nobody reads, and what becomes of it. */
function unread(stream: Readable) {
  const state = { ended: false, closed: false }
  stream.on('end', () => (state.ended = true))
  stream.on('close', () => (state.closed = true))
  return { stream, state, waiting: () => stream.readableLength }
}

/** Looks until one look has ended that began after this call: it comes to a job without output that has ended. */
async function emptyLook({ feeds, look }: ReturnType<typeof start>): Promise<void> {
  const id = await db.job()
  await db.end(id)
  const last = taken(feeds.follow(id, 0))
  await waitFor('a look to end', () => {
    look()
    return last.state.ended
  })
}

describe('a viewer', () => {
  test('gets what is there at once, waits for no timer, and gets it before it begins to read', async () => {
    const id = await db.job()
    await db.print(id, 'first\n')
    const { feeds } = start()
    const viewer = unread(feeds.follow(id, 2))
    await waitFor('the bytes', () => viewer.waiting() === 4)
    expect(taken(viewer.stream).state.ended).toBe(false)
  })

  test('gets the rest of what was read as soon as it takes more, without another look', async () => {
    const id = await db.job()
    await db.print(id, Buffer.alloc(100 * KIB, 'a'), Buffer.alloc(100 * KIB, 'b'), Buffer.alloc(100 * KIB, 'c'))
    const { feeds } = start()
    const stream = feeds.follow(id, 0)
    // No more than is asked for waits: a second piece fills the buffer, and the third one stays outside.
    await waitFor('a full buffer', () => stream.readableLength === 200 * KIB)
    const viewer = taken(stream)
    await waitFor('everything', () => viewer.bytes() === 300 * KIB)
  })

  test('gets the whole output of a job that has ended, over several looks, and then its end', async () => {
    const id = await db.job()
    await db.print(id, ...Array.from('abcdef', (letter) => Buffer.alloc(256 * KIB, letter)))
    await db.end(id)
    const begun = start()
    const viewer = taken(begun.feeds.follow(id, 0))
    await waitFor('the end', () => {
      begun.look()
      return viewer.state.ended
    })
    expect(viewer.bytes()).toBe(6 * 256 * KIB)
    expect(viewer.text().replace(/(.)\1*/g, '$1')).toBe('abcdef')
  })

  test('of a job that does not exist gets the end, and that is no failure', async () => {
    const begun = start()
    const viewer = taken(begun.feeds.follow(987_654, 0))
    await waitFor('the end', () => viewer.state.ended)
    expect(begun.failures).toEqual([])
    expect(begun.isLooking()).toBe(false)
  })

  test('that has left during a look does not keep others from their bytes', async () => {
    const [one, other] = [await db.job(), await db.job()]
    await db.print(other, 'other')
    const streams = watched(db.queries, 'job_stream')
    const begun = start(streams.queries)
    streams.hold()
    const gone = begun.feeds.follow(one, 0)
    begun.feeds.follow(one, 0).destroy()
    gone.destroy()
    const viewer = taken(begun.feeds.follow(other, 0))
    await waitFor('the others to be gone', () => gone.closed)
    streams.release()
    await waitFor('the bytes', () => {
      begun.look()
      return viewer.text() === 'other'
    })
    expect(begun.failures).toEqual([])
  })
})

describe('the time of a stream', () => {
  test('is five minutes: it is not ended at them, and is ended after them', async () => {
    const id = await db.job()
    const begun = start()
    const viewer = taken(begun.feeds.follow(id, 0))
    begun.pass(5 * MINUTE)
    await emptyLook(begun)
    expect(viewer.state.ended).toBe(false)
    begun.pass(1)
    await emptyLook(begun)
    await waitFor('the end', () => viewer.state.ended)
  })

  test('does not end early when a job prints nothing, or when the viewer has everything', async () => {
    const [quiet, full] = [await db.job(), await db.job()]
    await db.print(full, Buffer.alloc(128 * KIB, 'x'))
    const begun = start()
    const hungry = taken(begun.feeds.follow(quiet, 0))
    const satisfied = unread(begun.feeds.follow(full, 0))
    await waitFor('the bytes', () => {
      begun.look()
      return satisfied.waiting() === 128 * KIB
    })
    begun.pass(2 * MINUTE)
    await emptyLook(begun)
    expect([hungry.state.closed, satisfied.state.closed]).toEqual([false, false])
  })

  test('ends after 30 seconds for a viewer that takes nothing although more waits, and not at them', async () => {
    const id = await db.job()
    await db.print(id, Buffer.alloc(200 * KIB, 'x'), 'more')
    const begun = start()
    const viewer = unread(begun.feeds.follow(id, 0))
    await waitFor('a full buffer', () => viewer.waiting() === 200 * KIB)
    begun.pass(30_000)
    await emptyLook(begun)
    expect(viewer.state.closed).toBe(false)
    begun.pass(1)
    await emptyLook(begun)
    await waitFor('the end', () => viewer.state.closed)
    // It got no end: its client must not believe that this was all.
    expect(viewer.state.ended).toBe(false)
  })
})

describe('a look', () => {
  test('reads no bytes of an output that has not grown', async () => {
    const id = await db.job()
    await db.print(id, 'some')
    const reads = watched(db.queries, 'job_output')
    const begun = start(reads.queries)
    const viewer = taken(begun.feeds.follow(id, 0))
    await waitFor('the bytes', () => viewer.text() === 'some')
    const { count } = reads
    await emptyLook(begun)
    expect(reads.count).toBe(count)
    await db.print(id, '!')
    await waitFor('the next byte', () => {
      begun.look()
      return viewer.text() === 'some!'
    })
    expect(reads.count).toBeGreaterThan(count)
  })

  test('reads 256 KiB of a job at most, so that a long output does not keep others waiting', async () => {
    const id = await db.job()
    await db.print(id, Buffer.alloc(256 * KIB, 'a'), Buffer.alloc(256 * KIB, 'b'))
    const begun = start()
    const viewer = taken(begun.feeds.follow(id, 0))
    await waitFor('the first part', () => viewer.bytes() > 0)
    expect(viewer.bytes()).toBe(256 * KIB)
    begun.look()
    await waitFor('the rest', () => viewer.bytes() === 512 * KIB)
  })

  test('is not repeated while the database has not answered the one before', async () => {
    const id = await db.job()
    const states = watched(db.queries, 'job_stream')
    const begun = start(states.queries)
    states.hold()
    const viewer = taken(begun.feeds.follow(id, 0))
    for (let look = 0; look < 5; look += 1) begun.look()
    expect(states.count).toBe(1)
    states.release()
    await db.print(id, 'late')
    await waitFor('the bytes', () => {
      begun.look()
      return viewer.text() === 'late'
    })
    expect(states.count).toBeGreaterThan(1)
  })

  test('that fails is told, and the next one goes on', async () => {
    const id = await db.job()
    await db.print(id, 'late')
    const states = watched(db.queries, 'job_stream')
    const begun = start(states.queries)
    states.hold()
    const viewer = taken(begun.feeds.follow(id, 0))
    await waitFor('the question', () => states.count === 1)
    states.release(new Error('the database is away'))
    await waitFor('the failure', () => begun.failures.length === 1)
    await waitFor('the bytes', () => {
      begun.look()
      return viewer.text() === 'late'
    })
  })

  test('is made only while somebody follows', async () => {
    const [one, other] = [await db.job(), await db.job()]
    const begun = start()
    expect(begun.isLooking()).toBe(false)
    const [first, second, third] = [
      begun.feeds.follow(one, 0),
      begun.feeds.follow(one, 0),
      begun.feeds.follow(other, 0),
    ]
    const closed = async (stream: Readable) => {
      stream.destroy()
      await waitFor('the viewer to leave', () => stream.closed)
      return begun.isLooking()
    }
    expect([await closed(first), await closed(second), await closed(third)]).toEqual([true, true, false])
    await db.print(one, 'again')
    const viewer = taken(begun.feeds.follow(one, 0))
    await waitFor('the bytes', () => viewer.text() === 'again')
    expect(begun.isLooking()).toBe(true)
  })
})

describe('a viewer that is behind what is kept', () => {
  const MIB = 1024 * KIB

  /** A job with 1.5 MiB of output, followed at its end by a viewer that takes everything. */
  async function longJob(queries: Queries) {
    const id = await db.job()
    await db.print(id, ...Array.from('abcdef', (letter) => Buffer.alloc(256 * KIB, letter)))
    const begun = start(queries)
    const newest = taken(begun.feeds.follow(id, 6 * 256 * KIB))
    await db.print(id, '!')
    await waitFor('the newest byte', () => {
      begun.look()
      return newest.text() === '!'
    })
    return { id, begun, newest }
  }

  test('gets every byte once, also when looks are made while its read is slow', async () => {
    const reads = watched(db.queries, 'job_output')
    const { id, begun } = await longJob(reads.queries)
    reads.hold()
    const viewer = taken(begun.feeds.follow(id, 0))
    await waitFor('its read', () => reads.count > 0)
    for (let look = 0; look < 3; look += 1) await emptyLook(begun)
    reads.release()
    await waitFor('all bytes', () => {
      begun.look()
      return viewer.bytes() >= 1.5 * MIB + 1
    })
    expect(viewer.text().replace(/(.)\1*/g, '$1')).toBe('abcdef!')
    expect(viewer.bytes()).toBe(1.5 * MIB + 1)
  })

  test('has one piece waiting and no more, as long as it takes nothing', async () => {
    const { id, begun } = await longJob(db.queries)
    const viewer = unread(begun.feeds.follow(id, 0))
    await waitFor('a piece', () => viewer.waiting() === 256 * KIB)
    for (let look = 0; look < 3; look += 1) await emptyLook(begun)
    expect(viewer.waiting()).toBe(256 * KIB)
  })

  test('gets nothing of a slow read after its stream has ended', async () => {
    const reads = watched(db.queries, 'job_output')
    const { id, begun } = await longJob(reads.queries)
    const before = reads.count
    reads.hold()
    const viewer = taken(begun.feeds.follow(id, 0))
    await waitFor('its read', () => reads.count > before)
    await db.beginAgain(id)
    await waitFor('the end', () => {
      begun.look()
      return viewer.state.ended
    })
    reads.release()
    await emptyLook(begun)
    expect([viewer.bytes(), begun.failures]).toEqual([0, []])
  })

  test('is ended when its read fails, and the failure is told', async () => {
    const reads = watched(db.queries, 'job_output')
    const { id, begun } = await longJob(reads.queries)
    const before = reads.count
    reads.hold()
    const viewer = taken(begun.feeds.follow(id, 0))
    await waitFor('its read', () => reads.count > before)
    const failure = new Error('the disk is broken')
    reads.release(failure)
    await waitFor('the end', () => viewer.state.closed)
    expect([viewer.state.ended, begun.failures]).toEqual([false, [failure]])
  })

  test('reads for itself, and from the first kept byte on nobody reads again: the last MiB is kept', async () => {
    const reads = watched(db.queries, 'job_output')
    const id = await db.job()
    const begun = start(reads.queries)
    const newest = taken(begun.feeds.follow(id, 0))
    for (const letter of 'abcde') {
      await db.print(id, Buffer.alloc(256 * KIB, letter))
      await waitFor('the bytes', () => {
        begun.look()
        return newest.text().endsWith(letter)
      })
    }
    const before = reads.count
    const last = taken(begun.feeds.follow(id, 256 * KIB))
    await waitFor('the kept part', () => last.bytes() === MIB)
    expect(reads.count).toBe(before)
    const first = taken(begun.feeds.follow(id, 0))
    await waitFor('everything', () => first.bytes() === MIB + 256 * KIB)
    expect(reads.count).toBeGreaterThan(before)
  })
})

test('a stop ends streams, and cuts off those whose viewers have not taken everything', async () => {
  const [one, other] = [await db.job(), await db.job()]
  await db.print(one, 'one')
  await db.print(other, 'other')
  const begun = start()
  const reader = taken(begun.feeds.follow(one, 0))
  const sleeper = unread(begun.feeds.follow(other, 0))
  await waitFor('the bytes', () => {
    begun.look()
    return reader.text() === 'one' && sleeper.waiting() === 5
  })
  begun.feeds.close()
  await waitFor('both to be gone', () => reader.state.closed && sleeper.state.closed)
  expect([reader.state.ended, sleeper.state.ended, begun.isLooking()]).toEqual([true, false, false])
})
