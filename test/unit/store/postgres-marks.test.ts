import type pg from 'pg'
import { expect, test } from 'vitest'
import { openNotificationsOf } from '../../../control-plane/src/store/open-notifications.js'
import { createWriteMarks } from '../../../control-plane/src/store/postgres/postgres-marks.js'
import { heldTimers } from '../../api/held-timers.js'

/** Marks over a pool whose sweeps end when the test says so. */
function marks() {
  const sweeps: string[] = []
  const ends: { readonly end: () => void; readonly fail: () => void }[] = []
  const state = { time: 1000 }
  const pool = {
    query: (text: string) => {
      sweeps.push(text)
      return new Promise<void>((resolve, reject) =>
        ends.push({ end: resolve, fail: () => reject(new Error('the connection was cut')) }),
      )
    },
  }
  return { sweeps, ends, state, ...createWriteMarks(pool as unknown as pg.Pool, () => state.time) }
}

test('no two transactions have the same mark', () => {
  const { next } = marks()
  const all = ['a', 'a', 'b', 'b', 'a'].map((node) => next(node))
  expect(new Set(all).size).toBe(all.length)
})

test('old marks are swept by a write, at most once a minute', () => {
  const { next, sweeps, state } = marks()
  next('a')
  state.time += 60_000
  next('a')
  expect(sweeps).toEqual([])
  state.time += 1
  next('a')
  next('a')
  expect(sweeps).toEqual([expect.stringMatching(/^delete from write_mark where made_at < /)])
  state.time += 60_001
  next('a')
  expect(sweeps).toHaveLength(2)
})

test.each(['end', 'fail'] as const)('the end waits for a sweep, which may fail: %s', async (how) => {
  const { next, ends, state, written } = marks()
  await written()
  state.time += 60_001
  next('a')
  let isOver = false
  const end = written().then(() => (isOver = true))
  await new Promise<void>((resolve) => setImmediate(resolve))
  expect(isOver).toBe(false)
  ends[0]?.[how]()
  await end
})

test('control planes on a file have nobody to notify', async () => {
  const log = { info: () => undefined, warn: () => undefined }
  const deps = { timers: heldTimers().timers, log }
  expect(await openNotificationsOf({ kind: 'sqlite', path: '/nowhere/holdfast.db' }, deps)).toBeNull()
  const open = await openNotificationsOf({ kind: 'postgres', url: 'postgres://ann@127.0.0.1:1/x' }, deps)
  expect(open).toBeTypeOf('function')
})
