import type pg from 'pg'
import parse from 'pg-connection-string'

/**
 * The allowed values of `sslmode`. The other modes of PostgreSQL would not check whether the server is the right one.
 */
const TLS_OF: Readonly<Record<string, pg.PoolConfig['ssl']>> = {
  disable: false,
  'no-verify': { rejectUnauthorized: false },
  require: {},
  'verify-ca': {},
  'verify-full': {},
}

/**
 * The options of the driver from `postgres://user:password@host:port/database?sslmode=…`. With TLS the server's
 * certificate is checked against the authorities that Node.js knows, NODE_EXTRA_CA_CERTS among them.
 * @throws Error whose message does not contain the password
 */
export function postgresConfigOf(url: string): pg.PoolConfig {
  let parts: URL
  try {
    parts = new URL(url)
  } catch {
    throw new Error('is no address such as postgres://user:password@host:5432/database')
  }
  const mode = parts.searchParams.get('sslmode')
  parts.searchParams.delete('sslmode')
  const ssl = mode === null ? undefined : TLS_OF[mode]
  if (mode !== null && ssl === undefined) {
    throw new Error(`sslmode must be one of ${Object.keys(TLS_OF).join(', ')}`)
  }
  const config = parse.parseIntoClientConfig(parts.href)
  if (!config.database) throw new Error('must name the database, as in postgres://user:password@host:5432/database')
  return ssl === undefined ? config : { ...config, ssl }
}
