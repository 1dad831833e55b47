import type { JobOutline } from '@holdfast/client'
import { expect, test } from 'vitest'
import { type OutlineEntry, sectionsOfOutline } from '../../../control-plane/web/src/log/folds.js'
import { createOutlineReader } from '../../../control-plane/web/src/log/outline.js'

const COUNTS = { ok: 1, changed: 0, failed: 0, skipped: 0, unreachable: 0, ignored: 0, hosts: 1 }

const timeOf = (seconds: number) => new Date(seconds * 1000).toISOString()

function record(id: number, kind: 'play' | 'task', line: number | null, more: object = {}) {
  const times = { started: timeOf(10 * id), ended: timeOf(10 * id + 2.5) }
  const place = { from: line, to: null, line }
  return {
    id,
    kind,
    play: null,
    name: `n${id}`,
    role: null,
    path: null,
    order: 2 * id,
    ...times,
    ...place,
    ...COUNTS,
    ...more,
  }
}

function outlineOf(records: JobOutline['records'], last: number, line: number | null = null): JobOutline {
  const recap = line === null ? null : { order: last, from: 0, line }
  return { count: records.length, records, last, complete: true, recap }
}

test('plays hold their tasks, the recap belongs to none, and a task that printed nothing is left out', async () => {
  const read: (readonly OutlineEntry[])[] = []
  const answer = outlineOf(
    [
      record(1, 'play', 0),
      record(2, 'task', 3, { failed: 1 }),
      record(3, 'task', 9),
      record(4, 'task', 9),
      record(5, 'task', 11),
    ],
    20,
    15,
  )
  const reader = createOutlineReader(
    { outline: () => Promise.resolve(answer) },
    () => () => undefined,
    (entries) => read.push(entries),
  )
  reader.look()
  await expect.poll(() => read.length).toBe(1)
  const sections = sectionsOfOutline(read[0] ?? [], 30)
  expect(sections.map(({ id, line, end }) => [id, line, end])).toEqual([
    [1, 1, 15],
    [2, 4, 9],
    [4, 10, 11],
    [5, 12, 15],
  ])
  expect(sections.map(({ hasFailed, isDull }) => [hasFailed, isDull])).toEqual([
    [false, false],
    [true, false],
    [false, true],
    [false, true],
  ])
  expect(sections[1]?.summary).toBe('1 ok · 1 failed · 2.5 s')
})

test('a place that comes later than its event is asked for again', async () => {
  const asked: number[] = []
  const read: (readonly OutlineEntry[])[] = []
  const pauses: (() => void)[] = []
  const answers = [
    outlineOf([record(1, 'play', 0), record(2, 'task', null)], 8),
    outlineOf([record(2, 'task', 3)], 8),
    outlineOf([], 8),
  ]
  const reader = createOutlineReader(
    { outline: (after) => Promise.resolve(answers[asked.push(after) - 1] ?? outlineOf([], 8)) },
    (_, callback) => {
      pauses.push(callback)
      return () => undefined
    },
    (entries) => read.push(entries),
  )
  for (const round of [1, 2, 3]) {
    reader.look()
    await expect.poll(() => pauses.length).toBe(round)
    pauses[round - 1]?.()
  }
  expect(asked).toEqual([0, 3, 8])
  expect(read.map((entries) => entries.map(({ id }) => id))).toEqual([[1], [1, 2], [1, 2]])
})

test('where hosts go through a play by themselves, only the whole play can be folded, and it has the failures', async () => {
  const at = (started: number, ended: number | null) => ({
    play: 1,
    started: timeOf(started),
    ended: ended === null ? null : timeOf(ended),
  })
  const read: (readonly OutlineEntry[])[] = []
  const answer = outlineOf(
    [
      record(1, 'play', 0),
      record(2, 'task', 3, at(10, 30)),
      record(3, 'task', 9, { ...at(20, 40), failed: 1 }),
      record(4, 'play', 30),
      record(5, 'task', 33, { ...at(40, 50), play: 4 }),
      // Nobody ran the next one, and the last one still runs.
      record(6, 'task', 36, { ...at(50, null), play: 4, hosts: 0 }),
      record(7, 'task', 39, { ...at(51, null), play: 4 }),
    ],
    20,
  )
  const reader = createOutlineReader(
    { outline: () => Promise.resolve(answer) },
    () => () => undefined,
    (entries) => read.push(entries),
  )
  reader.look()
  await expect.poll(() => read.length).toBe(1)
  const sections = sectionsOfOutline(read[0] ?? [], 60)
  expect(sections.map(({ id, kind, hasFailed }) => [id, kind, hasFailed])).toEqual([
    [1, 'play', true],
    [4, 'play', false],
    [5, 'task', false],
    [6, 'task', false],
    [7, 'task', false],
  ])
})
