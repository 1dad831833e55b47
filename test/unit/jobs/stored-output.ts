import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Insertable, type KyselyPlugin, OperationNodeTransformer, type TableNode } from 'kysely'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import {
  type StoredEvent,
  appendToStreams,
  findStreamLengths,
  resetStreams,
} from '../../../control-plane/src/store/jobs/job-streams.js'
import type { OutputMark } from '../../../control-plane/src/store/jobs/output-marks.js'
import { moveJob } from '../../../control-plane/src/store/jobs/jobs.js'
import type { Database } from '../../../control-plane/src/store/schema.js'
import type { JobTable } from '../../../control-plane/src/store/schema/jobs.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'

const RUNNING = { runner_id: null, runner_name: null, dispatch: 'claimed' } as const

/** A database of its own with jobs that run, to which a test gives output as a runner does. */
export async function outputStore() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-output-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  let runs = 0
  function insert(count: number, row: Partial<Insertable<JobTable>>): Promise<number[]> {
    return store.write('test.jobs', async (queries) => {
      const ids: number[] = []
      for (; ids.length < count; runs += 1) {
        const run = runs.toString(16).padStart(32, '0')
        ids.push(await insertJob(queries, { ...queuedJob(1, run), ...RUNNING, ...row }))
      }
      return ids
    })
  }

  return {
    store,
    queries: store.read,
    job: async (row: Partial<Insertable<JobTable>> = {}): Promise<number> => (await insert(1, row))[0] ?? 0,
    /** So many jobs, in one write. */
    jobs: insert,
    /** Appends each part as a piece of its own. */
    async print(id: number, ...parts: (Buffer | string)[]): Promise<void> {
      for (const part of parts) {
        await store.write('test.print', async (queries) => {
          const stored = await findStreamLengths(queries, id)
          if (stored) await appendToStreams(queries, id, stored, Buffer.from(part), [])
        })
      }
    },
    /**
     * Appends output as a runner of today sends it: after the output of each event comes a mark with its number.
     * @param parts the output of the events in their order; null: its mark is missing
     */
    async printEvents(id: number, events: readonly StoredEvent[], ...parts: (string | null)[]): Promise<void> {
      const marks: OutputMark[] = []
      let [shown, whole] = ['', '']
      for (const [index, part] of parts.entries()) {
        if (part === null) continue
        const mark = Buffer.from(`<mark ${index + 1}>`)
        shown += part
        marks.push({ event: index + 1, at: whole.length + part.length, shown: shown.length, mark })
        whole += part + mark.toString()
      }
      await store.write('test.events', async (queries) => {
        const stored = { output: 0, events: 0, eventsCount: 0 }
        const marked = { shown: Buffer.from(shown), marks }
        await appendToStreams(queries, id, stored, Buffer.from(whole), events, marked)
      })
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
