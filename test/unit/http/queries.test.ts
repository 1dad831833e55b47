import { expect, test } from 'vitest'
import { eventsRequestOf } from '../../../control-plane/src/http/jobs/job-events-query.js'
import { listRequestOf } from '../../../control-plane/src/http/jobs/job-list-query.js'
import { wholeNumberOf } from '../../../control-plane/src/http/route/schemas.js'

const MOST = Number.MAX_SAFE_INTEGER

test.each([
  ['0', 0],
  ['+5', 5],
  ['-5', -5],
  ['007', 7],
  ['9'.repeat(30), MOST],
  [`-${'9'.repeat(30)}`, -MOST],
])('%s is a whole number', (text, number) => {
  expect(wholeNumberOf(text, 'records')).toBe(number)
})

test.each(['', ' 1', '1.0', '1e3', '0x1', 'abc', '+', '١'])('%j is none, and the parameter is named', (text) => {
  expect(() => wholeNumberOf(text, 'records')).toThrow(expect.objectContaining({ code: 'invalid_records' }))
})

test.each([
  [{ status: 'failed,odd' }, 'invalid_status'],
  [{ status: '' }, 'invalid_status'],
  [{ before: 'x' }, 'invalid_before'],
  [{ from: '2026' }, 'invalid_from'],
  [{ to: '2026-13-40' }, 'invalid_to'],
])('the list of jobs refuses %j', (query, code) => {
  expect(() => listRequestOf(query)).toThrow(expect.objectContaining({ code }))
})

test.each([
  [{ outcome: 'failed,odd' }, 'invalid_outcome'],
  [{ after: 'x' }, 'invalid_after'],
  [{ limit: 'x' }, 'invalid_limit'],
])('the events of a job refuse %j', (query, code) => {
  expect(() => eventsRequestOf(query)).toThrow(expect.objectContaining({ code }))
})
