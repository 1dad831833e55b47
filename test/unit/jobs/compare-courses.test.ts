import { describe, expect, test } from 'vitest'
import { compareCourses } from '../../../control-plane/src/jobs/course/compare-courses.js'
import type { Course } from '../../../control-plane/src/jobs/course/course.js'
import { hostsOf, matrixOf, outlinePages } from '../../../control-plane/src/jobs/course/outline.js'
import { courseOf, hostsWith } from './made-course.js'

const over = (course: Course) => ({ course, isOver: true })
const running = (course: Course) => ({ course, isOver: false })

describe('two runs', () => {
  test.each([2000, 2001])('of %i results that differ show 2000 of them, and count all', async (count) => {
    const one = courseOf([{ name: 'copy', at: 0, hosts: hostsWith(count, 'ok') }])
    const other = courseOf([{ name: 'copy', at: 0, hosts: hostsWith(count, 'failed') }])
    const { results, tasks } = await compareCourses(over(one), over(other))
    expect([results.count, results.records.length]).toEqual([count, Math.min(count, 2000)])
    expect(tasks.records).toMatchObject([{ id: 1 + 1, with_id: 2, changed: count }])
  })

  test('that had no host in common show 2000 of the hosts of each', async () => {
    const one = courseOf([{ name: 'copy', at: 0, hosts: { a: ['ok', 1], both: ['ok', 1] } }])
    const other = courseOf([{ name: 'copy', at: 0, hosts: { ...hostsWith(2001, 'ok'), both: ['ok', 1] } }])
    const { hosts } = await compareCourses(over(one), over(other))
    expect([hosts.added, hosts.removed.length, hosts.removed.includes('both')]).toEqual([['a'], 2000, false])
  })

  test.each([
    [true, true, true],
    [true, false, false],
    [false, true, false],
    [false, false, false],
  ])('are compared completely only if both were kept completely: %s and %s', async (here, there, complete) => {
    const [one, other] = [courseOf([]), courseOf([])]
    one.isComplete = here
    other.isComplete = there
    expect((await compareCourses(over(one), over(other))).complete).toBe(complete)
  })

  test('differ at a task that one of them has no result of only when no result can come any more', async () => {
    const begun = courseOf([{ name: 'copy', at: 0, hosts: { web: ['start', 1] } }], 4)
    const done = courseOf([{ name: 'copy', at: 0, hosts: { web: ['ok', 1] } }])
    const outcomes = async (...runs: Parameters<typeof compareCourses>) =>
      (await compareCourses(...runs)).results.records.map(({ outcome, with_outcome }) => [outcome, with_outcome])
    expect(await outcomes(running(begun), over(done))).toEqual([])
    expect(await outcomes(over(begun), over(done))).toEqual([['none', 'ok']])
    expect(await outcomes(over(done), running(begun))).toEqual([['ok', 'running']])
    expect(await outcomes(over(done), over(begun))).toEqual([['ok', 'none']])
    const notYet = courseOf([
      { name: 'copy', at: 0, hosts: {} },
      { name: 'next', at: 5, hosts: { web: ['ok', 6] } },
    ])
    const both = courseOf([
      { name: 'copy', at: 0, hosts: { web: ['ok', 1] } },
      { name: 'next', at: 5, hosts: { web: ['ok', 6] } },
    ])
    expect(await outcomes(running(notYet), over(both))).toEqual([])
    expect(await outcomes(over(notYet), over(both))).toEqual([['none', 'ok']])
  })

  test('have a time for each task that has ended, and none for one that has not', async () => {
    const one = courseOf([{ name: 'copy', at: 1, hosts: { web: ['ok', 3.5] } }])
    const other = courseOf([{ name: 'copy', at: 1, hosts: { web: ['ok', 3.5] } }], 4)
    const { tasks } = await compareCourses(over(one), running(other))
    expect(tasks.records).toMatchObject([{ seconds: 2.5, with_seconds: null, name: 'copy', play: 'Servers' }])
  })

  test('name the play of a task that only one of them has', async () => {
    const one = courseOf([{ name: 'copy', at: 1, hosts: { web: ['ok', 2] } }])
    const play = 'Servers'
    expect((await compareCourses(over(one), over(courseOf([], 0)))).tasks.records).toMatchObject([
      { name: 'copy', play, with_id: null },
    ])
    expect((await compareCourses(over(courseOf([], 0)), over(one))).tasks.records).toMatchObject([
      { name: 'copy', play, id: null },
    ])
  })
})

describe('the outline', () => {
  test.each([
    [0, []],
    [1, [1]],
    [500, [500]],
    [501, [500, 1]],
    [1000, [500, 500]],
  ])('of %i records comes in pages of 500', (records, lengths) => {
    const tasks = Array.from({ length: Math.max(0, records - 1) }, (_, at) => ({ name: `t${at}`, at, hosts: {} }))
    const course = courseOf(tasks, records === 0 ? 1 : undefined)
    expect([...outlinePages(course, 0, false)].map(({ length }) => length)).toEqual(lengths)
  })

  test('has the records that events after an order have changed', () => {
    const course = courseOf([{ name: 'copy', at: 0, hosts: { web: ['ok', 1] } }], 4)
    const idsAfter = (order: number) => [...outlinePages(course, order, false)].flat().map(({ id }) => id)
    // The play begins with event 2, the task with event 3. The result is event 4, and changes both.
    expect([idsAfter(3), idsAfter(4)]).toEqual([[1, 2], []])
  })

  test('says where the output of a record ends: at the next play, the next record, or the recap', () => {
    const course = courseOf([
      { name: 'one', at: 0, hosts: {} },
      { name: 'two', at: 1, hosts: {} },
    ])
    for (const [index, record] of course.records.entries()) record.from = index * 10
    if (course.recap) course.recap.from = 99
    const places = [...outlinePages(course, 0, true)].flat().map(({ from, to }) => [from, to])
    expect(places).toEqual([
      [0, 99],
      [10, 20],
      [20, 99],
    ])
  })
})

describe('hosts', () => {
  test('are listed as soon as they are at a task, also if that took no time, with times from their start', () => {
    const course = courseOf([
      { name: 'one', at: 1, hosts: { fast: ['ok', 1] } },
      { name: 'two', at: 2, hosts: { fast: ['ok', 4], slow: ['start', 3] } },
    ])
    expect(hostsOf(course, false)).toMatchObject([
      {
        host: 'fast',
        busy_ms: 2000,
        spans: [
          [0, 0],
          [1000, 3000],
        ],
        since: null,
        ok: 2,
      },
      { host: 'slow', busy_ms: 0, spans: [], since: '2026-01-01T00:00:03.000Z' },
    ])
    // The job has ended, so nothing shows that the second host was at work.
    expect(hostsOf(course, true).map(({ host }) => host)).toEqual(['fast'])
  })

  test('and tasks of a matrix are those with one of the wanted outcomes', () => {
    const course = courseOf([
      { name: 'one', at: 0, hosts: { a: ['ok', 1], b: ['failed', 1] } },
      { name: 'two', at: 2, hosts: { a: ['start', 3] } },
    ])
    const shown = (isOver: boolean, ...outcomes: ('ok' | 'running' | 'none')[]) => {
      const { hosts, tasks, rows } = matrixOf(course, { outcomes }, isOver)
      return [hosts, tasks, [...rows]]
    }
    expect(shown(false, 'ok')).toEqual([['a'], [2], ['o']])
    expect(shown(false, 'running')).toEqual([['a'], [3], ['>']])
    expect(shown(true, 'running')).toEqual([[], [], []])
    expect(shown(true, 'none')).toEqual([['a', 'b'], [3], ['..']])
  })
})
