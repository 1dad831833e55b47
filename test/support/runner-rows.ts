import type { Insertable } from 'kysely'
import { type Runner, insertRunner } from '../../control-plane/src/store/runners/runners.js'
import type { RunnerTable } from '../../control-plane/src/store/schema/runners.js'
import type { Queries } from '../../control-plane/src/store/store.js'
import { RUNNER_ROW } from './runner-row.js'

/** Adds the row of an approved runner with these columns. Each name has a fingerprint of its own. */
export function insertTestRunner(
  queries: Queries,
  columns: Partial<Insertable<RunnerTable>> & { readonly name: string },
): Promise<Runner> {
  return insertRunner(queries, {
    ...RUNNER_ROW,
    fingerprint: `SHA256:${columns.name}`,
    isolation: 'none',
    agent_max_jobs: 10,
    last_seen: 1,
    ...columns,
  })
}
