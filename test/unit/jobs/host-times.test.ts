import { expect, test } from 'vitest'
import { HostTimes } from '../../../control-plane/src/jobs/course/host-times.js'

const at = (second: number) => new Date(second * 1000).toISOString()

/** A host that was at tasks from and until these seconds. */
function told(spans: readonly (readonly [number, number])[]): HostTimes {
  const times = new HostTimes()
  for (const [from, to] of spans) times.end(at(from), at(to))
  return times
}

const seconds = (times: HostTimes) => times.spans.map(([from, to]) => [from / 1000, to / 1000])

test('tasks that follow each other without a pause are one span', () => {
  const times = told([
    [1, 2],
    [2, 4],
    [6, 7],
  ])
  expect(seconds(times)).toEqual([
    [1, 4],
    [6, 7],
  ])
  expect(times.busyMs).toBe(4000)
})

test('the results of the items of one task do not count its time again', () => {
  const times = told([
    [1, 3],
    [1, 5],
    [1, 4],
  ])
  expect(seconds(times)).toEqual([[1, 5]])
  expect(times.busyMs).toBe(4000)
})

test('of many spans those with the shortest pause between them become one, and the busy time stays exact', () => {
  const times = told(Array.from({ length: 500 }, (_, task) => [task * 10, task * 10 + (task === 3 ? 9.5 : 5)] as const))
  expect(times.spans).toHaveLength(40)
  expect(times.busyMs).toBe(500 * 5000 + 4500)
  expect(times.spans[0]?.[0]).toBe(0)
  expect(times.spans.at(-1)?.[1]).toBe(4_995_000)
})

test('a time that nobody can read, or an end before the beginning, leaves no span', () => {
  const times = new HostTimes()
  times.begin('soon')
  expect(times.since).toBeNull()
  times.end('soon', at(3))
  times.end(at(5), at(4))
  expect([times.spans, times.busyMs]).toEqual([[], 0])
})
