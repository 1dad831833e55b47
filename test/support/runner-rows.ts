import type { Insertable } from 'kysely'
import type { RunnerTable } from '../../control-plane/src/store/schema/runners.js'
import { type Runner, insertRunner } from '../../control-plane/src/store/runners/runners.js'
import type { Queries } from '../../control-plane/src/store/store.js'

/** Adds the row of a runner, as a request to join leaves it, with these columns. */
export function insertTestRunner(
  queries: Queries,
  { name, ...columns }: Partial<Insertable<RunnerTable>> & { readonly name: string },
): Promise<Runner> {
  return insertRunner(queries, {
    name,
    state: 'approved',
    enabled: 1,
    is_default: 0,
    mode: 'outbound',
    fingerprint: `SHA256:${name}`,
    identity_key: 'key',
    sealing_key: 'sealing key',
    host: 'host',
    ip: '10.0.0.1',
    version: '0.1.0',
    contract: 1,
    ansible_version: null,
    isolation: 'none',
    agent_max_jobs: 10,
    max_jobs: null,
    generation: 1,
    instance: 'instance',
    clock_skew_ms: 0,
    last_seen: 1,
    epoch: 1,
    running_jobs: 0,
    draining: 0,
    spool_bytes: 0,
    requested_at: 1,
    approved_at: null,
    approved_by: null,
    description: '',
    clone_seen_at: null,
    clone_host: null,
    clone_ip: null,
    connected_node: null,
    kept_by: null,
    ...columns,
  })
}
