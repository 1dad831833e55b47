import { expect, test } from 'vitest'
import { Course } from '../../../control-plane/src/jobs/course/course.js'

/** A course that is told events in order, with a second between them. */
function told() {
  const course = new Course()
  const at = (second: number) => new Date(Date.UTC(2026, 0, 1) + second * 1000).toISOString()
  const take = (type: string, more: { task?: string; host?: string; says?: object } = {}) => {
    const position = course.position + 1
    const shown = { type, play: 'the play', task: more.task ?? null, host: more.host ?? null, time: at(position) }
    course.take({ position, ...shown, line: Buffer.from(JSON.stringify({ ...shown, ...more.says })) })
  }
  const begin = (uuid: string) => take('playbook_on_task_start', { task: uuid, says: { task_uuid: uuid } })
  const atHost = (word: string, uuid: string, host: string, says: object = {}) =>
    take(`runner_on_${word}`, { task: uuid, host, says: { task_uuid: uuid, ...says } })
  const endOf = (index: number, isOver = false) => {
    const record = course.records[index]
    return record ? course.endOf(record, isOver) : undefined
  }
  return { course, take, begin, atHost, at, endOf }
}

test('results are counted as the recap does', () => {
  const { course, begin, atHost } = told()
  begin('a')
  atHost('ok', 'a', '1')
  atHost('ok', 'a', '2', { changed: true })
  atHost('failed', 'a', '3')
  atHost('failed', 'a', '4', { ignored: true })
  atHost('failed', 'a', '5', { rescued: true })
  atHost('skipped', 'a', '6')
  atHost('unreachable', 'a', '7')
  expect(course.records[0]?.counts).toEqual({ ok: 3, changed: 1, failed: 2, skipped: 1, unreachable: 1, ignored: 1 })
})

test('a task ended when no host runs it, and another task or the end has come', () => {
  const { take, begin, atHost, at, endOf } = told()
  take('playbook_on_play_start', { says: { play_uuid: 'p' } })
  begin('a')
  atHost('start', 'a', 'web1')
  atHost('start', 'a', 'web2')
  atHost('ok', 'a', 'web1')
  begin('b')
  expect([endOf(1), endOf(1, true)]).toEqual([null, at(5)])
  atHost('ok', 'a', 'web2')
  atHost('ok', 'b', 'web1')
  expect([endOf(1), endOf(2), endOf(0)]).toEqual([at(7), null, null])
  take('playbook_on_stats')
  expect([endOf(2), endOf(0)]).toEqual([at(8), at(8)])
})

test('a run goes on when the next playbook of the job begins', () => {
  const { course, take, begin, atHost, at, endOf } = told()
  take('playbook_on_play_start', { says: { play_uuid: 'p' } })
  begin('a')
  atHost('ok', 'a', 'web1')
  expect([course.recap, course.isFinished]).toEqual([null, false])
  take('playbook_on_stats')
  expect([course.recap?.order, course.isFinished, endOf(0)]).toEqual([4, true, at(3)])
  // What came before it stays ended only with the next record: something of the last one may come again.
  take('playbook_on_start')
  expect([course.isFinished, endOf(0), endOf(1)]).toEqual([false, null, null])
  take('playbook_on_play_start', { says: { play_uuid: 'q' } })
  expect([endOf(0), endOf(1)]).toEqual([at(3), at(3)])
})

test('an event belongs to the record of its task that had begun when it came', () => {
  const { course, begin, take } = told()
  for (const uuid of ['a', 'b']) begin(uuid)
  take('playbook_on_play_start', { says: { play_uuid: 'second batch' } })
  begin('a')
  const idAt = (uuid: string | null, order: number) => course.recordAt(uuid, order)?.id ?? null
  expect([0, 1, 2, 3, 4, 9].map((order) => idAt('a', order))).toEqual([null, 1, 1, 1, 4, 4])
  expect([idAt('b', 1), idAt('b', 2), idAt('c', 9), idAt(null, 9)]).toEqual([null, 2, null, null])
})

test('a run with very many long names is kept as far as there is room, and says that it is not complete', () => {
  const { course, take } = told()
  const begin = (number: number) =>
    take('playbook_on_task_start', { task: `${number}`.repeat(200_000), says: { task_uuid: `${number}` } })
  for (let number = 100; number < 300 && course.isComplete; number += 1) begin(number)
  const { length } = course.records
  begin(300)
  expect([course.isComplete, course.records.length]).toEqual([false, length])
})

test('a task that begins once for each host is one task, and one that a host has again is another', () => {
  const { course, begin, atHost } = told()
  const shown = () => course.records.map(({ hosts, running, counts }) => [hosts, running.size, counts.ok])
  for (const host of ['web1', 'web2']) {
    begin('a')
    atHost('start', 'a', host)
  }
  expect(shown()).toEqual([[2, 2, 0]])
  atHost('ok', 'a', 'web1')
  begin('a')
  atHost('start', 'a', 'web1')
  atHost('ok', 'a', 'web2')
  atHost('ok', 'a', 'web1')
  expect(shown()).toEqual([
    [2, 0, 2],
    [1, 0, 1],
  ])
})
