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

/** What the driver says of a connection that is over, or of an answer that does not come; it has no code for that. */
const CONNECTION_WORDS = /connection terminated|connection error|client was closed|timeout exceeded|read timeout/i

/**
 * Classes and codes of errors that say nothing about the statement, only that the server cannot take it now: connection
 * lost, disk or memory full, too many connections, being stopped or started, input or output failed, waited too long for
 * a lock, cancelled, read-only (a standby that has not taken over yet).
 */
const PASSING_STATES = /^(08|53|57P|58|55P03$|57014$|25006$|25P03$|25P04$)/

/** Another node's writes were in the way: what was done is undone, and done again it comes out right. */
const CONFLICTS: ReadonlySet<string> = new Set(['40001', '40P01'])

/**
 * A row that had been looked for in vain is there, or one that was found is gone: by another node, if it is not so again.
 * A write looks before it inserts, so the next try finds what there is now.
 */
const BROKEN_RULES: ReadonlySet<string> = new Set(['23505', '23503'])
const MAX_RULE_TRIES = 3

/** True for an error that may be over without anybody changing the request. */
export function isPassingPostgresError(error: unknown): boolean {
  if (!(error instanceof Error)) return false
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors.every(isPassingPostgresError)
  const code = codeOf(error)
  if (error instanceof pg.DatabaseError) return PASSING_STATES.test(code)
  return NETWORK_CODES.has(code) || CONNECTION_WORDS.test(error.message)
}

/** True when a transaction lost, or may have lost, against one that ran at the same time. */
export function isConflict(error: unknown, tries = 1): boolean {
  if (!(error instanceof pg.DatabaseError)) return false
  const code = codeOf(error)
  return CONFLICTS.has(code) || (BROKEN_RULES.has(code) && tries <= MAX_RULE_TRIES)
}

/**
 * True when the server has refused a statement and goes on with the connection: what was asked for was certainly not
 * done. After any other error the connection is of no use, and it is not known what has become of the statement.
 */
export function isRefusal(error: unknown): boolean {
  return error instanceof pg.DatabaseError && error.severity === 'ERROR'
}

function codeOf(error: Error): string {
  return 'code' in error && typeof error.code === 'string' ? error.code : ''
}
