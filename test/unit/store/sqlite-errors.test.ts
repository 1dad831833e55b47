import { describe, expect, test } from 'vitest'
import { ConflictError, UnavailableError } from '../../../control-plane/src/errors.js'
import {
  asReader,
  asRefusal,
  isPassingSqliteError,
  isStuck,
} from '../../../control-plane/src/store/sqlite/sqlite-errors.js'

/** An error as the driver of SQLite gives it. */
const ofSqlite = (code: string) => Object.assign(new Error(`${code}: no`), { code })

const PASSING = [
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_PROTOCOL',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
  'SQLITE_NOMEM',
]
const NOT_PASSING: [string, unknown][] = [
  ['a statement that is wrong', ofSqlite('SQLITE_ERROR')],
  ['a row that is there', ofSqlite('SQLITE_CONSTRAINT')],
  ['an error without a code', new Error('SQLITE_BUSY')],
  ['something that was thrown and is no error', { code: 'SQLITE_BUSY' }],
  ['a text', 'SQLITE_BUSY'],
  ['nothing', null],
]

describe('an error of SQLite that may pass', () => {
  test.each(PASSING)('is one of the file or of the disk: %s', (code) => {
    const error = ofSqlite(code)
    expect(isPassingSqliteError(error)).toBe(true)
    expect(asRefusal(error)).toMatchObject({
      code: 'database_unavailable',
      message: `the database cannot be used now: ${code}: no`,
      cause: error,
    })
  })

  test('is one that says already that the database is not available', () => {
    const error = new UnavailableError('database_unavailable', 'it is not')
    expect(isPassingSqliteError(error)).toBe(true)
    expect(asRefusal(error)).toBe(error)
  })

  test('is not one that says why the service itself does not answer', () => {
    const error = new UnavailableError('stopping', 'the service is stopping')
    expect(isPassingSqliteError(error)).toBe(false)
    expect(asRefusal(error)).toBe(error)
  })

  test.each(NOT_PASSING)('is not %s: its caller gets the error itself', (_what, error) => {
    expect(isPassingSqliteError(error)).toBe(false)
    expect(asRefusal(error)).toBe(error)
  })

  test('is not a file that seems damaged: no write waits for its end, but its caller may try again', () => {
    const error = ofSqlite('SQLITE_CORRUPT')
    expect(isPassingSqliteError(error)).toBe(false)
    expect(asRefusal(error)).toMatchObject({ code: 'database_unavailable', cause: error })
    const said = { code: 'SQLITE_CORRUPT' }
    expect(asRefusal(said)).toBe(said)
  })
})

test('only a lock that nobody gives back asks for new handles', () => {
  expect(isStuck(ofSqlite('SQLITE_PROTOCOL'))).toBe(true)
  for (const code of PASSING.filter((one) => one !== 'SQLITE_PROTOCOL')) expect(isStuck(ofSqlite(code))).toBe(false)
  for (const [, error] of NOT_PASSING) expect(isStuck(error)).toBe(false)
  expect(isStuck({ code: 'SQLITE_PROTOCOL' })).toBe(false)
})

test('a reader gets the rows, or an error in the words of the service', async () => {
  const answers: (() => Promise<unknown[]>)[] = [
    () => Promise.resolve(['a row']),
    () => Promise.reject(ofSqlite('SQLITE_IOERR')),
    () => Promise.reject(new ConflictError('taken', 'it is taken')),
  ]
  const reader = asReader({
    all: () => answers.shift()?.() ?? Promise.resolve([]),
    run: () => Promise.resolve({ changes: 0, lastId: 0 }),
    execute: () => Promise.resolve(),
    close: () => Promise.resolve(),
  })
  expect(await reader.all('select 1', [])).toEqual(['a row'])
  await expect(reader.all('select 1', [])).rejects.toMatchObject({ code: 'database_unavailable' })
  await expect(reader.all('select 1', [])).rejects.toMatchObject({ code: 'taken' })
})
