import { OPEN_STATUSES } from '../../words/job-status.js'
import type { Insertable, Selectable, Updateable } from 'kysely'
import { Type } from 'typebox'
import type { RunnerTable } from '../schema/runners.js'
import { RUNNER_STATES, type RunnerState } from '../../words/runner-state.js'
import { rowParser } from '../sql/row-parser.js'
import type { Queries } from '../store.js'

/**
 * A runner as it is stored. Times are in milliseconds since the epoch. Whether it is online follows from its socket.
 */
export interface Runner {
  readonly id: number
  readonly name: string
  readonly state: RunnerState
  readonly enabled: boolean
  readonly isDefault: boolean
  /** Which side dials. `outbound`: the agent. */
  readonly mode: string
  readonly fingerprint: string
  /** Raw public keys, base64. */
  readonly identityKey: string
  readonly sealingKey: string
  readonly host: string
  readonly ip: string
  readonly version: string
  readonly contract: number
  readonly ansibleVersion: string | null
  /** How it separates jobs from each other; null: unknown. */
  readonly isolation: string
  /**
   * Playbooks at the same time, 0 = no limit: what the agent reports, and what an admin set (the latter wins; null: not
   * set).
   */
  readonly agentMaxJobs: number
  readonly maxJobs: number | null
  readonly generation: number
  readonly instance: string
  readonly epoch: number
  readonly runningJobs: number
  readonly draining: boolean
  readonly spoolBytes: number
  /** The agent's clock minus ours. */
  readonly clockSkewMs: number
  readonly requestedAt: number
  readonly approvedAt: number | null
  readonly approvedBy: string | null
  readonly lastSeen: number
  readonly description: string
  /** When another process was refused because it claimed this identity, and its address. */
  readonly cloneSeenAt: number | null
  readonly cloneHost: string | null
  readonly cloneIp: string | null
  readonly cloneGeneration: number | null
  readonly cloneInstance: string | null
  /** The process that an admin replaced by another one. */
  readonly replacedInstance: string | null
  /** The admin who accepted a copy of the state folder whose jobs were not compared yet; null: nobody. */
  readonly copyAcceptedBy: string | null
  /** The node with its socket, unless that node died; null: none. */
  readonly connectedNode: string | null
  /** The admin who marked the request, so that it stays when its socket goes; null: nobody. */
  readonly keptBy: string | null
}

/** Columns of a runner to change. */
export type RunnerUpdate = Updateable<RunnerTable>

/** Every runner by name, including requests and refused ones. */
export async function listRunners(queries: Queries): Promise<Runner[]> {
  const rows = await queries.selectFrom('runner').selectAll().orderBy('name').orderBy('id').execute()
  return rows.map(parseRunner)
}

/** A runner by id in any state, or null. */
export async function findRunner(queries: Queries, id: number): Promise<Runner | null> {
  return parsed(await queries.selectFrom('runner').selectAll().where('id', '=', id).executeTakeFirst())
}

/** The one runner that owns a name, approved or not; null when the name is free. Denied requests own no name. */
export async function findRunnerByName(queries: Queries, name: string): Promise<Runner | null> {
  const query = queries.selectFrom('runner').selectAll().where('name', '=', name).where('state', '<>', 'denied')
  return parsed(await query.executeTakeFirst())
}

/** The columns of a runner that decide about its connection. */
export type WatchedRunner = Pick<
  Runner,
  'id' | 'fingerprint' | 'state' | 'epoch' | 'enabled' | 'maxJobs' | 'connectedNode'
>

/** The runners with these ids, and all runners whose socket a node has, as far as the database knows. */
export async function findRunnersOfNode(
  queries: Queries,
  ids: readonly number[],
  nodeId: string,
): Promise<WatchedRunner[]> {
  const rows = await queries
    .selectFrom('runner')
    .select(['id', 'fingerprint', 'state', 'epoch', 'enabled', 'max_jobs', 'connected_node'])
    .where((where) =>
      where.or([where('connected_node', '=', nodeId), ...(ids.length > 0 ? [where('id', 'in', ids)] : [])]),
    )
    .execute()
  return rows.map(parseColumns).map((row) => ({
    id: row.id,
    fingerprint: row.fingerprint,
    state: row.state,
    epoch: row.epoch,
    enabled: row.enabled === 1,
    maxJobs: row.max_jobs,
    connectedNode: row.connected_node,
  }))
}

/** The node and the epoch of the newest connection of each runner. */
export async function findConnectedNodes(
  queries: Queries,
  ids: readonly number[],
): Promise<Pick<Runner, 'id' | 'epoch' | 'connectedNode'>[]> {
  if (ids.length === 0) return []
  const columns = ['id', 'epoch', 'connected_node as connectedNode'] as const
  return queries.selectFrom('runner').select(columns).where('id', 'in', ids).execute()
}

/** Those of these runners in whose place another process was refused after they were last seen, and its host. */
export async function findRefusedCopies(
  queries: Queries,
  ids: readonly number[],
): Promise<{ readonly id: number; readonly host: string | null }[]> {
  if (ids.length === 0) return []
  const query = queries.selectFrom('runner').select(['id', 'clone_host as host']).where('id', 'in', ids)
  return query.whereRef('clone_seen_at', '>=', 'last_seen').execute()
}

/** Stores that no node has the socket of this runner any more, unless it has connected again meanwhile. */
export async function clearConnectedNode(queries: Queries, id: number, epoch: number): Promise<void> {
  await queries
    .updateTable('runner')
    .set({ connected_node: null })
    .where('id', '=', id)
    .where('epoch', '=', epoch)
    .execute()
}

/** The row of a key, or null. A key has at most one row. */
export async function findRunnerByFingerprint(queries: Queries, fingerprint: string): Promise<Runner | null> {
  return parsed(
    await queries.selectFrom('runner').selectAll().where('fingerprint', '=', fingerprint).executeTakeFirst(),
  )
}

/**
 * The default runner: the approved runner for jobs of forms that name none, turned on or off; null when there is none.
 */
export async function findDefaultRunner(queries: Queries): Promise<Runner | null> {
  const query = queries.selectFrom('runner').selectAll().where('is_default', '=', 1).where('state', '=', 'approved')
  return parsed(await query.executeTakeFirst())
}

/** Whether there is an approved runner at all, turned on or off. */
export async function hasApprovedRunner(queries: Queries): Promise<boolean> {
  const query = queries.selectFrom('runner').select('id').where('state', '=', 'approved').limit(1)
  return (await query.executeTakeFirst()) !== undefined
}

/** The request that was refused last because another key owned its name; null when there is none. */
export async function findDeniedRequest(queries: Queries, name: string): Promise<Runner | null> {
  const query = queries.selectFrom('runner').selectAll().where('name', '=', name).where('state', '=', 'denied')
  return parsed(await query.orderBy('last_seen', 'desc').orderBy('id', 'desc').executeTakeFirst())
}

/** The columns of a request that decide about its place in the list. Times are in milliseconds since the epoch. */
export type WaitingRunner = Pick<Runner, 'id' | 'ip' | 'fingerprint' | 'keptBy' | 'lastSeen' | 'connectedNode'>

/** Requests that wait for an admin, the oldest first. */
export async function listWaitingRunners(queries: Queries): Promise<WaitingRunner[]> {
  const rows = await queries
    .selectFrom('runner')
    .select(['id', 'ip', 'fingerprint', 'kept_by', 'last_seen', 'connected_node'])
    .where('state', '=', 'waiting')
    .orderBy('id')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    ip: row.ip,
    fingerprint: row.fingerprint,
    keptBy: row.kept_by,
    lastSeen: row.last_seen,
    connectedNode: row.connected_node,
  }))
}

/** Addresses from which approved runners came last. */
export async function findApprovedAddresses(queries: Queries): Promise<string[]> {
  const rows = await queries.selectFrom('runner').select('ip').distinct().where('state', '=', 'approved').execute()
  return rows.map((row) => row.ip)
}

/** Jobs of a runner that wait for it or that it may have, without abandoned ones. */
export async function countUnfinishedJobs(queries: Queries, runnerId: number): Promise<number> {
  const query = queries.selectFrom('job').select((e) => e.fn.countAll<number>().as('count'))
  const row = await query
    .where('dispatch', 'in', ['queued', 'offered', 'claimed'])
    .where('runner_id', '=', runnerId)
    .where('status', 'in', OPEN_STATUSES)
    .executeTakeFirstOrThrow()
  return Number(row.count)
}

/** Inserts a runner. @returns the row with its id */
export async function insertRunner(queries: Queries, row: Insertable<RunnerTable>): Promise<Runner> {
  return parseRunner(await queries.insertInto('runner').values(row).returningAll().executeTakeFirstOrThrow())
}

/**
 * Changes a runner whose state is still `from`; null when it is not, or the runner is gone. `state` may only be a move
 * of `runners/registration/admin/states.ts`.
 */
export async function updateRunner(
  queries: Queries,
  id: number,
  from: RunnerState,
  changes: RunnerUpdate,
): Promise<Runner | null> {
  const query = queries.updateTable('runner').set(changes).where('id', '=', id).where('state', '=', from)
  return parsed(await query.returningAll().executeTakeFirst())
}

/** The admin who accepted the older copy of a state folder that this runner uses now. It is returned only once. */
export async function takeAcceptedCopy(queries: Queries, id: number): Promise<string | null> {
  const query = queries.selectFrom('runner').select('copy_accepted_by').where('id', '=', id)
  const acceptedBy = (await query.executeTakeFirst())?.copy_accepted_by ?? null
  if (acceptedBy === null) return null
  await queries.updateTable('runner').set({ copy_accepted_by: null }).where('id', '=', id).execute()
  return acceptedBy
}

/** Makes no runner the default one. */
export async function clearDefaultRunner(queries: Queries): Promise<void> {
  await queries.updateTable('runner').set({ is_default: 0 }).where('is_default', '=', 1).execute()
}

/** Removes the row of a runner. Its jobs stay. */
export async function deleteRunner(queries: Queries, id: number): Promise<void> {
  await queries.deleteFrom('runner').where('id', '=', id).execute()
}

/** Removes those of these requests that nobody marked and that did not come again since `time`. Returns their ids. */
export async function deleteLeftRequests(queries: Queries, ids: readonly number[], time: number): Promise<number[]> {
  const query = queries
    .deleteFrom('runner')
    .where('id', 'in', ids)
    .where('state', '=', 'waiting')
    .where('kept_by', 'is', null)
    .where('last_seen', '<', time)
  return (await query.returning('id').execute()).map((row) => row.id)
}

/** Removes all but the newest denied requests, so that unknown agents cannot fill the table. */
export async function trimDenied(queries: Queries, most: number): Promise<void> {
  const newest = queries
    .selectFrom('runner')
    .select('id')
    .where('state', '=', 'denied')
    .orderBy('last_seen', 'desc')
    .orderBy('id', 'desc')
    .limit(most)
  await queries.deleteFrom('runner').where('state', '=', 'denied').where('id', 'not in', newest).execute()
}

function parsed(row: Selectable<RunnerTable> | undefined): Runner | null {
  return row ? parseRunner(row) : null
}

const parseColumns = rowParser('runner', { state: Type.Enum(RUNNER_STATES) })

function parseRunner(stored: Selectable<RunnerTable>): Runner {
  const row = parseColumns(stored)
  return {
    id: row.id,
    name: row.name,
    state: row.state,
    enabled: row.enabled === 1,
    isDefault: row.is_default === 1,
    mode: row.mode,
    fingerprint: row.fingerprint,
    identityKey: row.identity_key,
    sealingKey: row.sealing_key,
    host: row.host,
    ip: row.ip,
    version: row.version,
    contract: row.contract,
    ansibleVersion: row.ansible_version,
    isolation: row.isolation,
    agentMaxJobs: row.agent_max_jobs,
    maxJobs: row.max_jobs,
    generation: row.generation,
    instance: row.instance,
    epoch: row.epoch,
    runningJobs: row.running_jobs,
    draining: row.draining === 1,
    spoolBytes: row.spool_bytes,
    clockSkewMs: row.clock_skew_ms,
    requestedAt: row.requested_at,
    approvedAt: row.approved_at,
    approvedBy: row.approved_by,
    lastSeen: row.last_seen,
    description: row.description,
    cloneSeenAt: row.clone_seen_at,
    cloneHost: row.clone_host,
    cloneIp: row.clone_ip,
    cloneGeneration: row.clone_generation,
    cloneInstance: row.clone_instance,
    replacedInstance: row.replaced_instance,
    copyAcceptedBy: row.copy_accepted_by,
    connectedNode: row.connected_node,
    keptBy: row.kept_by,
  }
}
