import { createHash } from 'node:crypto'
import { createTurns } from '../time/turns.js'
import { DATABASE_TYPES, type DatabaseType, type OpenCredential } from '../credentials/stored/credential.js'
import type { Credentials } from '../credentials/stored/credentials.js'
import { messageOf } from '../errors.js'
import type { Ground } from '../ground/ground.js'
import { foreignText } from '../secrets/foreign-text.js'
import { type NamedDatabase, namedDatabases } from './config.js'
import type { AskLimits, Engine, Target } from './engine.js'
import { openMongodb } from './mongodb.js'
import { openMssql } from './mssql.js'
import { openMysql } from './mysql.js'
import { openOracle } from './oracle.js'
import { openPostgres } from './postgres.js'
import { DatabaseProblem } from './problem.js'
import type { DatabaseAnswer, DatabaseQuery, Databases } from './query-type.js'
import { gatherRows } from './rows.js'

/** What a field of a form may cost a database. */
const LIMITS: AskLimits = {
  connectMs: 5_000,
  statementMs: 30_000,
  rows: 10_000,
  bytes: 4 * 1024 * 1024,
  connections: 4,
  idleMs: 30_000,
}

/** The names that forms have for the kinds of databases. */
const TYPES = new Map<string, DatabaseType>(
  Object.entries({
    postgres: 'postgres',
    postgresql: 'postgres',
    mysql: 'mysql',
    mariadb: 'mysql',
    mssql: 'mssql',
    sqlserver: 'mssql',
    oracle: 'oracle',
    mongodb: 'mongodb',
    mongo: 'mongodb',
  }),
)

/** How each kind is connected to. Nothing is connected before the first question. */
const OPEN: Readonly<
  Record<DatabaseType, (target: Target, limits: AskLimits, onError: (error: Error) => void) => Promise<Engine>>
> = { postgres: openPostgres, mysql: openMysql, mssql: openMssql, oracle: openOracle, mongodb: openMongodb }

interface OpenEngine {
  readonly key: string
  readonly engine: Promise<Engine>
  readonly target: Target
}

/** Asks databases with stored credentials. The connections to a database stay open for a while. */
export function createDatabases(deps: {
  readonly credentials: Pick<Credentials, 'open'>
  readonly log: { warn(fields: object, text: string): void }
  readonly limits: AskLimits
}): Databases {
  const { credentials, log, limits } = deps
  /** By the name of the credential. A credential that was changed gets new connections. */
  const engines = new Map<string, OpenEngine>()
  /** By the name of the credential, too. The drivers would give their connections in order of arrival. */
  const turns = createTurns({ most: limits.connections })
  let closed = false

  function engineOf(name: string, type: DatabaseType, target: Target): Promise<Engine> {
    const key = createHash('sha256')
      .update(JSON.stringify([type, target]))
      .digest('hex')
    const known = engines.get(name)
    if (known?.key === key) return known.engine
    const onError = (error: Error) =>
      log.warn({ credential: name, reason: foreignText(error, secretsOf(target)) }, 'a connection to a database ended')
    const engine = OPEN[type](target, limits, onError)
    engines.set(name, { key, engine, target })
    // A driver that takes no such settings is asked anew with the next ones.
    engine.catch(() => engines.get(name)?.engine === engine && engines.delete(name))
    if (known) void closeQuietly(name, known)
    return engine
  }

  async function closeQuietly(name: string, { engine, target }: OpenEngine): Promise<void> {
    try {
      await (await engine).close()
    } catch (error) {
      const reason = foreignText(error, secretsOf(target))
      log.warn({ credential: name, reason }, 'the connections to a database could not be ended in order')
    }
  }

  async function askOne(database: NamedDatabase, query: DatabaseQuery): Promise<DatabaseAnswer> {
    const { name } = database
    const credential = await opened(credentials, name)
    const type = typeOf(database, credential)
    if (closed) throw new DatabaseProblem('the service is stopping')
    const rows = gatherRows(limits)
    let leave: () => void = () => undefined
    try {
      leave = await turns.take(name, query.callers, query.signal)
      if (closed) throw new DatabaseProblem('the service is stopping')
      const engine = await engineOf(name, type, targetOf(credential, type))
      await engine.ask(query, rows)
    } catch (error) {
      if (error instanceof DatabaseProblem) throw error
      const reason =
        foreignText(error, [credential.password, credential.options.certificate]) || 'the driver says no reason'
      throw new DatabaseProblem(`the database '${name}' cannot be asked: ${reason}`)
    } finally {
      leave()
    }
    return rows.answer()
  }

  return {
    async ask(query) {
      const answers = await Promise.all(namedDatabases(query.config).map((database) => askOne(database, query)))
      return {
        rows: answers.flatMap(({ rows }) => rows),
        truncated: answers.some(({ truncated }) => truncated),
      }
    },
    async close() {
      closed = true
      await Promise.all([...engines].map(([name, engine]) => closeQuietly(name, engine)))
    },
  }
}

async function opened(credentials: Pick<Credentials, 'open'>, name: string): Promise<OpenCredential> {
  let found: OpenCredential | null
  try {
    found = await credentials.open(name)
  } catch (error) {
    throw new DatabaseProblem(`the credential '${name}' cannot be opened: ${messageOf(error)}`)
  }
  if (!found) throw new DatabaseProblem(`there is no credential '${name}'`)
  if (found.type === 'database' || found.type === 'userpass' || found.type === 'certificate') return found
  throw new DatabaseProblem(`the credential '${name}' is of type ${found.type} and opens no database`)
}

function typeOf({ name, type }: NamedDatabase, { options }: OpenCredential): DatabaseType {
  const said = type === null ? null : TYPES.get(type.toLowerCase())
  if (said === undefined) {
    throw new DatabaseProblem(`databases of type ${type} cannot be asked; ${DATABASE_TYPES.join(', ')} can`)
  }
  const known = options.db_type ?? said
  if (!known) throw new DatabaseProblem(`the credential '${name}' does not say which type its database has`)
  if (said !== null && said !== known) {
    throw new DatabaseProblem(`the database '${name}' is of type ${known}, and the form says ${type}`)
  }
  return known
}

/** The kinds whose servers a client certificate can log in to. */
const TAKES_CERTIFICATE: ReadonlySet<DatabaseType> = new Set<DatabaseType>(['postgres', 'mysql'])

function targetOf({ name, type, host, port, user, password, options }: OpenCredential, kind: DatabaseType): Target {
  if (host === null) throw new DatabaseProblem(`the credential '${name}' has no host`)
  const ca = options.ca ?? null
  const place = { host, port, database: options.db_name ?? null, user }
  if (type !== 'certificate') return { ...place, password, tls: options.secure ? { ca } : null }
  if (!TAKES_CERTIFICATE.has(kind)) {
    throw new DatabaseProblem(
      `the credential '${name}' is of type certificate, which opens no database of type ${kind}`,
    )
  }
  // The key proves who asks, and stays here.
  return { ...place, password: '', tls: { ca, own: { cert: options.certificate ?? '', key: password } } }
}

function secretsOf({ password, tls }: Target): (string | undefined)[] {
  return [password, tls?.own?.key]
}

/** Builds what asks databases for fields of forms. */
export function composeDatabases({ log, onClose }: Ground, credentials: Pick<Credentials, 'open'>): Databases {
  const databases = createDatabases({ credentials, log, limits: LIMITS })
  onClose(() => databases.close())
  return databases
}
