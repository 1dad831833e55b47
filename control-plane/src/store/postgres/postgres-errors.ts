import pg from 'pg'

/** The connection to the server could not be made, or broke. */
const NETWORK_CODES: ReadonlySet<string> = new Set([
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
])

/** The messages of the driver for a closed connection, or for a missing answer. These errors have no code. */
const CONNECTION_WORDS = /connection terminated|connection error|client was closed|timeout exceeded|read timeout/i

/**
 * Classes and codes of errors that tell nothing about the statement. They only mean that the server cannot accept it
 * now: connection lost, disk or memory full, too many connections, being stopped or started, input or output failed,
 * waited too long for a lock, cancelled, read-only (a standby that has not taken over yet).
 */
const PASSING_STATES = /^(08|53|57P|58|55P03$|57014$|25006$|25P03$|25P04$)/

/**
 * The writes of another node were in conflict with this transaction. It was rolled back, and succeeds when it runs
 * again.
 */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

/**
 * A row exists now that was missing before, or the other way round. Another node may have changed it. If so, the error
 * does not come again: a write looks before it inserts, and the next try finds the present rows.
 */
const BROKEN_RULES: ReadonlySet<string> = new Set(['23505', '23503'])
const MAX_RULE_TRIES = 3

/** True for an error that may pass, so the same request may succeed later. */
export function isPassingPostgresError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isPassingPostgresError)
  const code = codeOf(error)
  if (error instanceof pg.DatabaseError) return PASSING_STATES.test(code)
  return NETWORK_CODES.has(code) || CONNECTION_WORDS.test(error.message)
}

/** True when a transaction failed, or may have failed, because of another one at the same time. */
export function isConflict(error: unknown, tries = 1): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  const code = codeOf(error)
  return CONFLICTS.has(code) || (BROKEN_RULES.has(code) && tries <= MAX_RULE_TRIES)
}

/**
 * True when the server has refused a statement and goes on with the connection. Then the statement was certainly not
 * done. After any other error the connection cannot be used again, and it is unknown whether the statement was done.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR'
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
