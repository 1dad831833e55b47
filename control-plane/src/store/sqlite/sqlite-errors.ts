import { UnavailableError, messageOf } from '../../errors.js'
import type { Statements } from './sqlite-statements.js'

/**
 * Codes of errors that tell nothing about the statement. They only mean that the file is not usable now: locked by
 * another process, disk full, input or output failed, mounted read-only, no file descriptor left.
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
 * SQLite calls the file damaged as soon as one read of it fails with EIO. So this code tells nothing about the file,
 * like an error of the disk. But writes do not wait for its end as with the other codes. A damaged file stays damaged,
 * and writes that do not meet the damage must not wait behind one that does.
 */
const UNSURE_CODE = 'SQLITE_CORRUPT'

/** True for an error that may pass, so the same request may succeed later. */
export function isPassingSqliteError(error: unknown): boolean {
  if (error instanceof UnavailableError) return error.code === 'database_unavailable'
  return error instanceof Error && 'code' in error && PASSING_CODES.has(error.code)
}

/**
 * True for an error after which only new handles help (sqlite-handles.ts). SQLite has then tried for seconds to get a
 * lock.
 */
export function isStuck(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'SQLITE_PROTOCOL'
}

/**
 * The error for the caller of a statement: UnavailableError if the database is not usable now, else the error itself.
 */
export function asRefusal(error: unknown): unknown {
  if (error instanceof UnavailableError || !(isPassingSqliteError(error) || isUnsure(error))) return error
  const message = `the database cannot be used now: ${messageOf(error)}`
  return new UnavailableError('database_unavailable', message, undefined, { cause: error })
}

function isUnsure(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === UNSURE_CODE
}

/** The same handle for readers. It turns errors of an unusable database into UnavailableError. */
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
