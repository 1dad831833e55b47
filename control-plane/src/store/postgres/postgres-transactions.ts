import { Kysely } from 'kysely'
import type pg from 'pg'
import { messageOf } from '../../errors.js'
import { OutcomeUnknownError, type WriteTransactions } from '../engine/group-commit.js'
import { poolClient, sendQuery } from './postgres-connections.js'
import { createPostgresDialect } from './postgres-dialect.js'
import { isConflict, isPassingPostgresError, isRefusal } from './postgres-errors.js'
import type { Database } from '../schema.js'
import type { Queries } from '../store.js'

/** How write transactions are run. */
export interface TransactionDependencies {
  /** A text that no transaction of any node has used before. */
  readonly newMark: () => string
  /** The transaction with this mark is committed. */
  readonly noteCommitted: (mark: string) => void
  /** How long to ask for the result of a commit, in milliseconds. */
  readonly commitCheckMs: number
  readonly pause: (ms: number) => Promise<void>
  readonly now: () => number
}

/**
 * Write transactions of one node, one at a time: `idle → open → idle`. They are SERIALIZABLE: transactions at the same
 * time have the same result as one after the other, or one of them gets an error (`isConflict`) and runs again. So an
 * operation may decide from rows that it has read, as on SQLite.
 *
 * If the answer to a commit is lost, the commit may have happened or not. It must not be repeated or dropped by guess.
 * Therefore each transaction inserts its own mark into `write_mark`. To find out, another transaction inserts the same
 * mark as abandoned. This insert waits for the first transaction if that is still running. Then either the mark is
 * there already, or the first transaction can never be committed any more.
 */
export function createPostgresTransactions(
  pool: pg.Pool,
  { newMark, noteCommitted, commitCheckMs, pause, now }: TransactionDependencies,
): WriteTransactions<Queries> {
  let client: pg.PoolClient | null = null

  const held = (): pg.PoolClient => {
    if (!client) throw new Error('a query of a write came after its transaction')
    return client
  }
  const connection = poolClient(
    (text, parameters) => sendQuery(held(), text, parameters),
    () => undefined,
  )
  const queries = new Kysely<Database>({
    dialect: createPostgresDialect({ connect: () => Promise.resolve(connection), end: () => Promise.resolve() }),
  })

  function letGo(isBroken: boolean): void {
    client?.release(isBroken)
    client = null
  }

  async function commitOutcome(mark: string, lost: unknown): Promise<'committed' | 'abandoned'> {
    const deadline = now() + commitCheckMs
    for (;;) {
      try {
        const results = (await pool.query(
          `insert into write_mark (id, state) values ('${mark}', 'abandoned') on conflict (id) do nothing;
           select state from write_mark where id = '${mark}'`,
        )) as unknown as pg.QueryResult<{ state: string }>[]
        return results[1]?.rows[0]?.state === 'committed' ? 'committed' : 'abandoned'
      } catch (error) {
        if (!isPassingPostgresError(error) && !isConflict(error))
          throw new OutcomeUnknownError(messageOf(error), { cause: error })
        if (now() > deadline) throw new OutcomeUnknownError(messageOf(lost), { cause: lost })
        await pause(200)
      }
    }
  }

  return {
    queries,
    isPassing: isPassingPostgresError,
    isConflict,
    async begin() {
      client = await pool.connect()
      try {
        await client.query('begin isolation level serializable')
      } catch (error) {
        letGo(true)
        throw error
      }
    },
    async commit() {
      const mark = newMark()
      try {
        await held().query(`insert into write_mark (id, state) values ('${mark}', 'committed'); commit`)
      } catch (error) {
        if (isRefusal(error)) throw error
        letGo(true)
        if ((await commitOutcome(mark, error)) === 'abandoned') throw error
      }
      noteCommitted(mark)
      letGo(false)
    },
    async rollback() {
      if (!client) return
      try {
        await client.query('rollback')
        letGo(false)
      } catch {
        letGo(true)
      }
    },
  }
}
