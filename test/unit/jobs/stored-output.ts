import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type KyselyPlugin, OperationNodeTransformer, type TableNode } from 'kysely'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { appendToStreams, findStreamLengths, resetStreams } from '../../../control-plane/src/store/jobs/job-streams.js'
import { moveJob } from '../../../control-plane/src/store/jobs/jobs.js'
import type { Database } from '../../../control-plane/src/store/schema.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'

const RUNNING = { runner_id: null, runner_name: null, dispatch: 'claimed' } as const

/** A database of its own with jobs that run, to which a test gives output as a runner does. */
export async function outputStore() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-output-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  let runs = 0
  return {
    queries: store.read,
    job: (): Promise<number> =>
      store.write('test.job', (queries) =>
        insertJob(queries, { ...queuedJob(1, (runs += 1).toString(16).padStart(32, '0')), ...RUNNING }),
      ),
    /** Appends each part as a piece of its own. */
    async print(id: number, ...parts: (Buffer | string)[]): Promise<void> {
      for (const part of parts) {
        await store.write('test.print', async (queries) => {
          const stored = await findStreamLengths(queries, id)
          if (stored) await appendToStreams(queries, id, stored, Buffer.from(part), [])
        })
      }
    },
    end(id: number): Promise<boolean> {
      const changes = { end_time: 9, dispatch: 'done' } as const
      return store.write('test.end', (queries) =>
        moveJob(queries, id, { from: ['running'], to: 'success', time: 9, reason: null, changes }),
      )
    },
    beginAgain: (id: number) => store.write('test.reset', (queries) => resetStreams(queries, id)),
    async close(): Promise<void> {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

/** The tables that a statement names. */
class TablesOf extends OperationNodeTransformer {
  readonly names = new Set<string>()
  protected override transformTable(node: TableNode): TableNode {
    this.names.add(node.table.identifier.name)
    return node
  }
}

/** The same queries, which count their reads of one table, and hold the answers while a test says so. */
export function watched(queries: Queries, table: keyof Database) {
  const gates = new WeakMap<object, Promise<Error | null>>()
  const opened: Promise<Error | null> = Promise.resolve(null)
  let gate = opened
  let open: (failure: Error | null) => void = () => undefined
  const seen = { count: 0 }
  const plugin: KyselyPlugin = {
    transformQuery({ node, queryId }) {
      const tables = new TablesOf()
      tables.transformNode(node)
      if (tables.names.has(table)) {
        seen.count += 1
        gates.set(queryId, gate)
      }
      return node
    },
    async transformResult({ result, queryId }) {
      const failure = await gates.get(queryId)
      if (failure) throw failure
      return result
    },
  }
  return {
    queries: queries.withPlugin(plugin),
    /** How many statements have read the table. */
    get count() {
      return seen.count
    },
    /** The answers to what is asked from now on wait. */
    hold() {
      gate = new Promise((resolve) => {
        open = resolve
      })
    },
    /** Gives the answers that wait. With a failure, their reads fail. */
    release(failure: Error | null = null) {
      open(failure)
      gate = opened
    },
  }
}
