import { UnavailableError, messageOf } from '../../errors.js'
import type { Statements } from './sqlite-statements.js'

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
  'SQLITE_NOMEM',
])

/**
 * SQLite calls the file damaged as soon as one read of it fails with EIO. So this word says as little about the file as an
 * error of the disk does. It is not waited for like the others: a file that is damaged for good stays so, and writes that
 * do not meet the damage must not wait behind one that does.
 */
const UNSURE_CODE = 'SQLITE_CORRUPT'

/** True for an error that may be over without anybody changing the request. */
export function isPassingSqliteError(error: unknown): boolean {
  if (error instanceof UnavailableError) return error.code === 'database_unavailable'
  return error instanceof Error && 'code' in error && PASSING_CODES.has(error.code)
}

/** True for an error after which only new handles help (sqlite-handles.ts): SQLite has tried for seconds to get a lock. */
export function isStuck(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_PROTOCOL'
}

/** What whoever gave a statement is told: a database that cannot be had now in the words of the house, else the error itself. */
export function asRefusal(error: unknown): unknown {
  if (error instanceof UnavailableError || !(isPassingSqliteError(error) || isUnsure(error))) return error
  const message = `the database cannot be used now: ${messageOf(error)}`
  return new UnavailableError('database_unavailable', message, undefined, { cause: error })
}

function isUnsure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNSURE_CODE
}

/** The same handle for readers: a database that cannot be had now is said in the words of the house. */
export function asReader(statements: Statements): Statements {
  return {
    ...statements,
    async all(sql, parameters) {
      try {
        return await statements.all(sql, parameters)
      } catch (error) {
        throw asRefusal(error)
      }
    },
  }
}
