import { UnavailableError, messageOf } from '../errors.js'
import type { Statements } from './statements.js'

/**
 * Codes of errors that say nothing about the statement, only that the file cannot be had now: locked by another process,
 * disk full, input or output failed, mounted read-only, no file descriptor left.
 */
const PASSING_CODES: ReadonlySet<unknown> = new Set([
  'SQLITE_BUSY',
  'SQLITE_LOCKED',
  'SQLITE_PROTOCOL',
  'SQLITE_FULL',
  'SQLITE_IOERR',
  'SQLITE_READONLY',
  'SQLITE_CANTOPEN',
])

/** True for an error that may be over without anybody changing the request. */
export function isPassing(error: unknown): boolean {
  return error instanceof Error && 'code' in error && PASSING_CODES.has(error.code)
}

/** The same handle for readers: a database that cannot be had now is said in the words of the house. */
export function asReader(statements: Statements): Statements {
  return {
    ...statements,
    async all(sql, parameters) {
      try {
        return await statements.all(sql, parameters)
      } catch (error) {
        if (!isPassing(error)) throw error
        const message = `the database cannot be read now: ${messageOf(error)}`
        throw new UnavailableError('database_unavailable', message, undefined, { cause: error })
      }
    },
  }
}
