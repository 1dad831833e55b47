import pg from 'pg'
import { expect, test } from 'vitest'
import {
  isConflict,
  isPassingPostgresError,
  isRefusal,
} from '../../../control-plane/src/store/postgres/postgres-errors.js'

/** An error as the operating system gives it. */
const ofNetwork = (code: string) => Object.assign(new Error(`connect ${code}`), { code })
/** An error that the server answered with. */
const ofServer = (code: string, more: object = {}) =>
  Object.assign(new pg.DatabaseError('no', 2, 'error'), { code, severity: 'ERROR', ...more })

test.each<[string, unknown, boolean]>([
  ['a server that is away', ofNetwork('ECONNREFUSED'), true],
  ['a word of the driver without a code', new Error('Connection terminated unexpectedly'), true],
  ['a full disk', ofServer('53100'), true],
  ['a server that is read-only for now', ofServer('25006'), true],
  ['several tries to connect that all failed so', new AggregateError([ofNetwork('ECONNREFUSED')]), true],
  ['several tries of which one failed for good', new AggregateError([ofNetwork('EPIPE'), new Error('no')]), false],
  ['a wrong statement', ofServer('42601'), false],
  ['a row that is there', ofServer('23505'), false],
  ['a wrong password', ofServer('28P01'), false],
  ['an answer of the server that speaks of a connection', ofServer('XX000', { message: 'connection error' }), false],
])('%s may pass: %j', (_what, error, passes) => {
  expect(isPassingPostgresError(error)).toBe(passes)
})

test('a transaction is tried again for another one beside it, and a few times for a row that may be there', () => {
  expect([isConflict(ofServer('40001'), 100), isConflict(ofServer('42601')), isConflict(ofNetwork('40001'))]).toEqual([
    true,
    false,
    false,
  ])
  expect([1, 100].map((tries) => isConflict(ofServer('23505'), tries))).toEqual([true, false])
})

test('a statement was certainly not done only if the server says so and stays', () => {
  const errors = [ofServer('23505'), ofServer('57P01', { severity: 'FATAL' }), ofNetwork('ECONNRESET')]
  expect(errors.map(isRefusal)).toEqual([true, false, false])
})
