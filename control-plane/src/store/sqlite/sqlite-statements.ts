import { putNewest } from '@holdfast/host/newest'
import type sqlite3 from 'sqlite3'

/** Most prepared statements that are kept. Beyond this number, the least recently used one is removed. */
const MAX_STATEMENTS = 200

/** The result of a statement that changes rows. */
export interface RunResult {
  readonly changes: number
  readonly lastId: number
}

/** One SQLite handle with its prepared statements. Its functions return promises. */
export interface Statements {
  all(sql: string, parameters: readonly unknown[]): Promise<unknown[]>
  run(sql: string, parameters: readonly unknown[]): Promise<RunResult>
  /** Runs statements without parameters and without a result. */
  execute(sql: string): Promise<void>
  close(): Promise<void>
}

/** Runs statements on a handle, and returns promises. */
export function createStatements(handle: sqlite3.Database): Statements {
  /** Promises, so that two callers with the same text at the same time share one statement. */
  const prepared = new Map<string, Promise<sqlite3.Statement>>()

  function prepare(sql: string): Promise<sqlite3.Statement> {
    const known = prepared.get(sql)
    if (known) {
      prepared.delete(sql)
      prepared.set(sql, known)
      return known
    }
    const made = new Promise<sqlite3.Statement>((resolve, reject) => {
      const statement = handle.prepare(sql, (error: Error | null) => {
        if (!error) return resolve(statement)
        prepared.delete(sql)
        reject(error)
      })
    })
    // Statements that were given to the handle before end before the handle is closed.
    void putNewest(prepared, sql, made, MAX_STATEMENTS)?.then((statement) => statement.finalize())
    return made
  }

  return {
    async all(sql, parameters) {
      const statement = await prepare(sql)
      return new Promise((resolve, reject) => {
        statement.all(parameters, (error, rows) => (error ? reject(error) : resolve(rows)))
      })
    },
    async run(sql, parameters) {
      const statement = await prepare(sql)
      return new Promise((resolve, reject) => {
        statement.run(parameters, function (error) {
          // A kept statement would still hold its locks. A reset releases them.
          if (error) statement.reset(() => reject(error))
          else resolve({ changes: this.changes, lastId: this.lastID })
        })
      })
    },
    execute: (sql) =>
      new Promise((resolve, reject) => {
        handle.exec(sql, (error) => (error ? reject(error) : resolve()))
      }),
    async close() {
      for (const made of prepared.values()) {
        const statement = await made
        await new Promise<void>((resolve) => statement.finalize(() => resolve()))
      }
      prepared.clear()
      await new Promise<void>((resolve, reject) => handle.close((error) => (error ? reject(error) : resolve())))
    },
  }
}
