import {
  type CompiledQuery,
  type DatabaseConnection,
  type Dialect,
  type QueryResult,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
} from 'kysely'
import type { Statements } from './sqlite-statements.js'

/**
 * Kysely over handles of the `sqlite3` package. Several handles may serve one reading instance in turn; a writing
 * instance has exactly one, and the group commit controls its transactions (sqlite-store.ts).
 */
export function createSqliteDialect(handles: readonly Statements[]): Dialect {
  const connections = handles.map(createConnection)
  let next = 0
  const begin = (connection: DatabaseConnection, sql: string) =>
    connection.executeQuery(rawQuery(sql)).then(() => undefined)
  return {
    createAdapter: () => new TransactionalAdapter(),
    createIntrospector: (database) => new SqliteIntrospector(database),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createDriver: () => ({
      init: () => Promise.resolve(),
      acquireConnection: () => {
        const connection = connections[next % connections.length]
        next += 1
        if (!connection) throw new Error('a dialect needs at least one handle')
        return Promise.resolve(connection)
      },
      beginTransaction: (connection) => begin(connection, 'begin immediate'),
      commitTransaction: (connection) => begin(connection, 'commit'),
      rollbackTransaction: (connection) => begin(connection, 'rollback'),
      releaseConnection: () => Promise.resolve(),
      destroy: () => Promise.resolve(),
    }),
  }
}

/** A migration is done completely or not at all, because SQLite changes tables inside transactions, like rows. */
class TransactionalAdapter extends SqliteAdapter {
  override get supportsTransactionalDdl(): boolean {
    return true
  }
}

function createConnection(statements: Statements): DatabaseConnection {
  return {
    async executeQuery<R>({ sql, parameters, query }: CompiledQuery): Promise<QueryResult<R>> {
      const returnsRows =
        query.kind === 'SelectQueryNode' || query.kind === 'RawNode' || ('returning' in query && query.returning)
      if (returnsRows) {
        const rows = (await statements.all(sql, parameters)) as R[]
        return { rows, numAffectedRows: BigInt(rows.length) }
      }
      const { changes, lastId } = await statements.run(sql, parameters)
      return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastId) }
    },
    async *streamQuery() {
      throw new Error('streaming is not used; page through with a key instead')
    },
  }
}

function rawQuery(sql: string): CompiledQuery {
  return {
    sql,
    parameters: [],
    query: { kind: 'RawNode', sqlFragments: [sql], parameters: [] },
    queryId: { queryId: sql },
  }
}
