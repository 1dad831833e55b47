import { describe, expect, test } from 'vitest'
import { eventsRequestOf } from '../../../control-plane/src/http/jobs/job-events-query.js'
import { listRequestOf } from '../../../control-plane/src/http/jobs/job-list-query.js'
import { idOf, listOf, wholeNumberOf } from '../../../control-plane/src/http/route/schemas.js'
import { nullable } from '../../../control-plane/src/words/nullable.js'
import { EVENT_STATUSES } from '../../../control-plane/src/jobs/read/event-filter.js'
import { Type } from 'typebox'

const MOST = Number.MAX_SAFE_INTEGER

describe('a whole number', () => {
  test.each([
    ['0', 0],
    ['+5', 5],
    ['-5', -5],
    ['007', 7],
    [String(MOST), MOST],
    ['9'.repeat(30), MOST],
    [`-${'9'.repeat(30)}`, -MOST],
  ])('%s', (text, number) => {
    expect(wholeNumberOf(text, 'records')).toBe(number)
  })

  test.each(['', ' 1', '1.0', '1e3', '0x1', 'abc', '+', '١'])('%j is none, and the parameter is named', (text) => {
    expect(() => wholeNumberOf(text, 'records')).toThrow(
      expect.objectContaining({ code: 'invalid_records', details: { records: text } }),
    )
  })

  test('is the id of something, unless it is larger than any id', () => {
    expect(idOf({ id: '-3' })).toBe(-3)
    expect(idOf({ id: String(MOST - 1) })).toBe(MOST - 1)
    for (const id of [String(MOST), String(-MOST), '9'.repeat(300)])
      expect(() => idOf({ id })).toThrow(expect.objectContaining({ code: 'not_found' }))
  })
})

test('a list is called after its records, and a value may be null', () => {
  expect(listOf(Type.Object({}, { title: 'JobRecord' }))).toMatchObject({ title: 'JobList' })
  expect(listOf(Type.Object({}, { title: 'Upload' }))).toMatchObject({ title: 'UploadList' })
  expect(listOf(Type.Object({}))).not.toHaveProperty('title')
  expect(nullable(Type.String({ description: 'D' }))).toMatchObject({ type: ['string', 'null'], description: 'D' })
  expect(nullable(Type.Union([Type.String(), Type.Integer()]))).toHaveProperty('anyOf')
})

describe('the query of a list of jobs', () => {
  test.each([
    [{ status: 'failed,odd' }, 'invalid_status'],
    [{ status: '' }, 'invalid_status'],
    [{ before: 'x' }, 'invalid_before'],
    [{ from: 'yesterday' }, 'invalid_from'],
    [{ from: '2026' }, 'invalid_from'],
    [{ to: '2026-13-40' }, 'invalid_to'],
  ])('%j is refused', (query, code) => {
    expect(() => listRequestOf(query)).toThrow(expect.objectContaining({ code }))
  })
})

describe('the query of events', () => {
  const ALL = { after: 0, before: MOST, limit: MOST, isDescending: false }

  test.each<[Parameters<typeof eventsRequestOf>[0], object]>([
    [{}, {}],
    [
      { after: '3', before: '9', limit: '2' },
      { after: 3, before: 9, limit: 2 },
    ],
    [{ order: 'desc' }, { isDescending: true }],
    [{ order: 'asc' }, {}],
    [
      { host: 'h', task: 't', type: 'ok', status: 'failed' },
      { host: 'h', task: 't', type: 'ok', status: 'failed' },
    ],
    [{ outcome: EVENT_STATUSES.join() }, { outcomes: [...EVENT_STATUSES] }],
  ])('%j', (query, asked) => {
    expect(eventsRequestOf(query)).toMatchObject({ ...ALL, ...asked })
  })

  test.each([
    [{ outcome: 'failed,odd' }, 'invalid_outcome'],
    [{ after: 'x' }, 'invalid_after'],
    [{ before: 'x' }, 'invalid_before'],
    [{ limit: 'x' }, 'invalid_limit'],
  ])('%j is refused', (query, code) => {
    expect(() => eventsRequestOf(query)).toThrow(expect.objectContaining({ code }))
  })
})
