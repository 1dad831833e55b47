import type { Readable } from 'node:stream'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { createOutputFeeds } from '../../../control-plane/src/jobs/read/output-feed.js'
import { heldTimers } from '../../api/held-timers.js'
import { waitFor } from '../../support/wait.js'
import { outputStore, watched } from './stored-output.js'

/** What happens when the database is slow or fails, or a viewer takes nothing. Neither can be made over HTTP. */
const PIECE = 256 * 1024
const LETTERS = 'abcdef'

let db: Awaited<ReturnType<typeof outputStore>>
beforeAll(async () => {
  db = await outputStore()
})
afterAll(() => db.close())

/** Feeds whose clock and timers only move when the test says so, over reads that it may hold. */
function start() {
  const held = heldTimers()
  const failures: unknown[] = []
  const reads = watched(db.queries, 'job_output')
  const state = { time: 0 }
  const deps = { queries: reads.queries, timers: held.timers, now: () => state.time }
  const feeds = createOutputFeeds({ ...deps, onFailure: (error) => failures.push(error) })
  onTestFinished(() => feeds.close())
  const look = () => held.move(100)
  /** Looks until one look has ended that began after this call: it comes to a job without output that has ended. */
  const wholeLook = async () => {
    const id = await db.job()
    await db.end(id)
    const { state: last } = taken(feeds.follow(id, 0))
    await waitFor('a look to end', () => {
      look()
      return last.ended
    })
  }
  return { feeds, failures, reads, state, look, wholeLook }
}

/** A viewer that takes everything at once. */
function taken(stream: Readable) {
  const pieces: Buffer[] = []
  const state = { ended: false, closed: false }
  stream.on('data', (piece: Buffer) => pieces.push(piece))
  stream.on('end', () => (state.ended = true))
  stream.on('close', () => (state.closed = true))
  return { state, text: () => Buffer.concat(pieces).toString('latin1') }
}

/** A job with more output than is kept for viewers, of which another viewer has the newest byte. */
async function longJob() {
  const id = await db.job()
  await db.print(id, ...Array.from(LETTERS, (letter) => Buffer.alloc(PIECE, letter)))
  const begun = start()
  const newest = taken(begun.feeds.follow(id, LETTERS.length * PIECE))
  await db.print(id, '!')
  await waitFor('the newest byte', () => {
    begun.look()
    return newest.text() === '!'
  })
  return { id, ...begun }
}

/** A viewer of a long job from its beginning, whose first read does not come to an end. */
async function slowViewer() {
  const long = await longJob()
  const before = long.reads.count
  long.reads.hold()
  const viewer = taken(long.feeds.follow(long.id, 0))
  await waitFor('its read', () => long.reads.count > before)
  return { ...long, viewer }
}

test('a viewer gets every byte once, also when looks are made while its read is slow', async () => {
  const { viewer, reads, look, wholeLook } = await slowViewer()
  await wholeLook()
  await wholeLook()
  reads.release()
  await waitFor('all bytes', () => {
    look()
    return viewer.text().endsWith('!')
  })
  expect(viewer.text() === `${Array.from(LETTERS, (letter) => letter.repeat(PIECE)).join('')}!`).toBe(true)
})

test('a viewer gets nothing of a slow read when the output began again meanwhile', async () => {
  const { id, viewer, reads, look, wholeLook, failures } = await slowViewer()
  await db.beginAgain(id)
  await waitFor('the end', () => {
    look()
    return viewer.state.ended
  })
  reads.release()
  await wholeLook()
  expect([viewer.text(), failures]).toEqual(['', []])
})

test('a viewer whose read fails is cut off, without an end that looks like the whole output', async () => {
  const { viewer, reads, failures } = await slowViewer()
  const failure = new Error('the disk is broken')
  reads.release(failure)
  await waitFor('the end', () => viewer.state.closed)
  expect([viewer.state.ended, failures]).toEqual([false, [failure]])
})

test('a viewer that takes nothing has one piece waiting and no more, and is cut off after a while', async () => {
  const { id, feeds, state, wholeLook } = await longJob()
  const stream = feeds.follow(id, 0)
  await waitFor('a piece', () => stream.readableLength > 0)
  await wholeLook()
  await wholeLook()
  expect([stream.readableLength, stream.destroyed]).toEqual([PIECE, false])
  state.time += 60_000
  await wholeLook()
  await waitFor('the end', () => stream.destroyed)
})
