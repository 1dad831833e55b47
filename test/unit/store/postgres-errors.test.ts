import pg from 'pg'
import { describe, expect, test } from 'vitest'
import {
  isConflict,
  isPassingPostgresError,
  isRefusal,
} from '../../../control-plane/src/store/postgres/postgres-errors.js'

/** An error as the operating system gives it. */
const ofNetwork = (code: string) => Object.assign(new Error(`connect ${code}`), { code })

/** An error that the server answered with. */
function ofServer(code: string, severity = 'ERROR') {
  return Object.assign(new pg.DatabaseError('no', 2, 'error'), { code, severity })
}

describe('an error of PostgreSQL that may pass', () => {
  test.each([
    'ECONNREFUSED',
    'ECONNRESET',
    'ECONNABORTED',
    'EPIPE',
    'ETIMEDOUT',
    'ENOTFOUND',
    'EAI_AGAIN',
    'EHOSTUNREACH',
    'ENETUNREACH',
    'ENETDOWN',
    'EHOSTDOWN',
    'EADDRNOTAVAIL',
    'EMFILE',
    'ENFILE',
    'ENOBUFS',
    'ENOENT',
  ])('is one of the network: %s', (code) => {
    expect(isPassingPostgresError(ofNetwork(code))).toBe(true)
  })

  test.each([
    'Connection terminated unexpectedly',
    'Client was closed and is not queryable',
    'timeout exceeded when trying to connect',
    'Query read timeout',
  ])('is one of the driver without a code: %s', (message) => {
    expect(isPassingPostgresError(new Error(message))).toBe(true)
  })

  test.each(['08006', '53100', '53300', '57P01', '57P03', '58030', '55P03', '57014', '25006', '25P03', '25P04'])(
    'is an answer that tells nothing about the statement: %s',
    (code) => {
      expect(isPassingPostgresError(ofServer(code))).toBe(true)
    },
  )

  test.each([
    ['a statement that is wrong', ofServer('42601')],
    ['a row that is there', ofServer('23505')],
    ['a wrong password', ofServer('28P01')],
    // The server answered, so what its message says is not the driver's.
    ['an answer that speaks of a connection', Object.assign(ofServer('XX000'), { message: 'connection error' })],
    ['a file without rights', ofNetwork('EACCES')],
    ['something that was thrown and is no error', 'ECONNREFUSED'],
  ])('is not %s', (_, error) => {
    expect(isPassingPostgresError(error)).toBe(false)
  })
})

test('a transaction is tried again for another one beside it, and a few times for a row that may be there', () => {
  for (const code of ['40001', '40P01']) expect(isConflict(ofServer(code), 100)).toBe(true)
  for (const code of ['23505', '23503']) {
    expect([1, 3, 4].map((tries) => isConflict(ofServer(code), tries))).toEqual([true, true, false])
  }
  expect([isConflict(ofServer('42601')), isConflict(ofNetwork('40001'))]).toEqual([false, false])
})

test('a statement was certainly not done only if the server says so and stays', () => {
  const errors = [ofServer('23505'), ofServer('57P01', 'FATAL'), ofNetwork('ECONNRESET')]
  expect(errors.map(isRefusal)).toEqual([true, false, false])
})
