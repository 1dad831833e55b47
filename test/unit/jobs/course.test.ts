import { describe, expect, test } from 'vitest'
import { Course, LETTERS } from '../../../control-plane/src/jobs/course/course.js'

const EMPTY = { type: 'playbook_on_task_start', play: null, host: null, time: '2026-01-01T00:00:00.000Z' }

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
  const shown = (number: number) => {
    const { cells, hosts } = course.records[number] ?? { cells: Buffer.alloc(0), hosts: -1 }
    return { hosts, text: Buffer.from(cells).toString('latin1').replace(/\0+$/, '') }
  }
  return { course, take, begin, atHost, shown, at }
}

describe('the course of a run', () => {
  test('has a letter for every host of a task, however many there are', () => {
    const { begin, atHost, shown } = told()
    begin('a')
    for (let host = 1; host <= 67; host += 1) {
      atHost('ok', 'a', `web${host}`)
      expect(shown(0)).toEqual({ hosts: host, text: LETTERS.ok.repeat(host) })
    }
    begin('b')
    atHost('failed', 'b', 'web17')
    expect(shown(1)).toEqual({ hosts: 1, text: '\0'.repeat(16) + LETTERS.failed })
  })

  test('counts as the recap does', () => {
    const { course, begin, atHost, shown } = told()
    begin('a')
    atHost('ok', 'a', '1')
    atHost('ok', 'a', '2', { changed: true })
    atHost('failed', 'a', '3')
    atHost('failed', 'a', '4', { ignored: true })
    atHost('failed', 'a', '5', { rescued: true })
    atHost('skipped', 'a', '6')
    atHost('unreachable', 'a', '7')
    expect(course.records[0]?.counts).toEqual({ ok: 3, changed: 1, failed: 2, skipped: 1, unreachable: 1, ignored: 1 })
    expect(course.hosts).toEqual(['1', '2', '3', '4', '5', '6', '7'])
    const outcomes = ['ok', 'changed', 'failed', 'ignored', 'rescued', 'skipped', 'unreachable'] as const
    expect(shown(0).text).toBe(outcomes.map((outcome) => LETTERS[outcome]).join(''))
  })

  test('knows when a task ended: when no host runs it, and another task or the end has come', () => {
    const { course, take, begin, atHost, at } = told()
    take('playbook_on_play_start', { says: { play_uuid: 'p' } })
    begin('a')
    atHost('start', 'a', 'web1')
    atHost('start', 'a', 'web2')
    atHost('ok', 'a', 'web1')
    const [play, task] = course.records
    if (!play || !task) throw new Error('there are no records')
    begin('b')
    expect(course.endOf(task, false)).toBeNull()
    expect(course.endOf(task, true)).toBe(at(5))
    atHost('ok', 'a', 'web2')
    expect(course.endOf(task, false)).toBe(at(7))
    const last = course.records[2]
    if (!last) throw new Error('there is no last record')
    atHost('ok', 'b', 'web1')
    expect([course.endOf(last, false), course.endOf(play, false)]).toEqual([null, null])
    take('playbook_on_stats')
    expect([course.endOf(last, false), course.endOf(play, false)]).toEqual([at(8), at(8)])
  })

  test('has its handlers and the place of its recap, and goes on when the next playbook of the job begins', () => {
    const { course, take, begin, atHost, at } = told()
    take('playbook_on_start')
    take('playbook_on_play_start', { says: { play_uuid: 'p' } })
    begin('a')
    atHost('ok', 'a', 'web1')
    take('playbook_on_handler_task_start', { task: 'h', says: { task_uuid: 'h' } })
    atHost('start', 'h', 'web1')
    expect(course.records.map(({ kind, play }) => [kind, play])).toEqual([
      ['play', null],
      ['task', 1],
      ['handler', 1],
    ])
    expect(course.records[2]?.running.get(0)).toBe(at(6))
    atHost('ok', 'h', 'web1')
    const [play, , handler] = course.records
    if (!play || !handler) throw new Error('there is no play or no handler')
    expect([course.recap, course.isFinished]).toEqual([null, false])
    take('playbook_on_stats')
    expect([course.recap, course.isFinished]).toEqual([{ order: 8, from: null, line: null }, true])
    expect([course.endOf(play, false), course.endOf(handler, false)]).toEqual([at(7), at(7)])
    // What came before it stays ended only with the next record: something of the last one may come again.
    take('playbook_on_start')
    expect([course.isFinished, course.endOf(play, false), course.endOf(handler, false)]).toEqual([false, null, null])
    take('playbook_on_play_start', { says: { play_uuid: 'q' } })
    expect([course.endOf(play, false), course.endOf(handler, false)]).toEqual([at(7), at(7)])
  })

  test('finds the record that an event belonged to when it came', () => {
    const { course, begin } = told()
    begin('a')
    begin('b')
    begin('a')
    const idAt = (uuid: string | null, order: number) => course.recordAt(uuid, order)?.id ?? null
    expect([0, 1, 2, 3, 9].map((order) => idAt('a', order))).toEqual([null, 1, 1, 3, 3])
    expect([idAt('b', 1), idAt('b', 2), idAt('c', 9), idAt(null, 9)]).toEqual([null, 2, null, null])
  })

  test.each([
    ['hosts with long names', (number: number) => ({ host: `${number}`.repeat(200_000), task: 'a' })],
    ['tasks with long names', (number: number) => ({ host: '', task: `${number}`.repeat(200_000) })],
  ])('is not kept completely with too many %s', (_, partsOf) => {
    const { course, take } = told()
    take('playbook_on_task_start', { task: 'a', says: { task_uuid: 'a' } })
    for (let number = 100; number < 300 && course.isComplete; number += 1) {
      const { host, task } = partsOf(number)
      if (host === '') take('playbook_on_task_start', { task, says: { task_uuid: `${number}` } })
      else take('runner_on_ok', { task, host, says: { task_uuid: 'a' } })
    }
    expect(course.isComplete).toBe(false)
    expect(course.weight).toBeGreaterThan(24 * 1024 * 1024)
    const { length } = course.records
    take('playbook_on_task_start', { task: 'late', says: { task_uuid: 'late' } })
    expect(course.records).toHaveLength(length)
  })
  test('is kept completely up to 24 Mi characters, and not with one more', () => {
    // A record counts 400 in addition to its texts.
    const most = 24 * 1024 * 1024 - 400
    for (const [length, isComplete] of [
      [most, true],
      [most + 1, false],
    ] as const) {
      const { course, take } = told()
      take('playbook_on_task_start')
      const { length: records } = course.records
      const task = 'x'.repeat(length - 400)
      course.take({ ...EMPTY, position: 2, task, line: Buffer.from('{}') })
      expect([course.weight, course.isComplete]).toEqual([length + 400, isComplete])
      expect(course.records).toHaveLength(records + 1)
    }
  })
})
