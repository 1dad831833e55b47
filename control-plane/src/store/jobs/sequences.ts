import type { Selectable } from 'kysely'
import { Type } from 'typebox'
import type { SequenceNodeTable } from '../schema/sequences.js'
import { JOB_STATUSES, type JobStatus, OPEN_STATUSES } from '../../words/job-status.js'
import { NODE_STATUSES, type NodeStatus } from '../../words/node-status.js'
import { RUNNER_STATES, type RunnerState } from '../../words/runner-state.js'
import { rowParser } from '../sql/row-parser.js'
import type { Queries } from '../store.js'

/** A step or workflow node with facts of its job; null: it has no job (yet, or any more). */
export interface SequenceNodeRow extends Selectable<SequenceNodeTable> {
  readonly subjob_status: JobStatus | null
  readonly subjob_reason: string | null
  readonly subjob_end_time: number | null
  readonly subjob_abort_requested: number | null
  /** State of the runner of the child job; null: it has no runner, or that was deleted. */
  readonly runner_state: RunnerState | null
}

/** A change of a step or node. */
export type NodeChange = Partial<
  Pick<
    Selectable<SequenceNodeTable>,
    'status' | 'subjob_id' | 'start_time' | 'end_time' | 'reason' | 'approval' | 'due_time' | 'artifacts'
  >
>

/** Makes a job a parent job. None of its steps or nodes has begun. */
export async function insertSequence(
  queries: Queries,
  jobId: number,
  { plan, nodes }: { readonly plan: string; readonly nodes: readonly string[] },
): Promise<void> {
  await queries.insertInto('job_sequence').values({ job_id: jobId, version: 0, plan }).execute()
  const nothing = { start_time: null, end_time: null, reason: null, approval: null, due_time: null, artifacts: null }
  for (const [index, identifier] of nodes.entries()) {
    const row = {
      job_id: jobId,
      position: index + 1,
      identifier,
      status: 'waiting' as const,
      subjob_id: null,
      ...nothing,
    }
    await queries.insertInto('sequence_node').values(row).execute()
  }
}

/** The plan of a parent job, and how often it was moved on; null: the job is no parent job. */
export async function findSequence(
  queries: Queries,
  jobId: number,
): Promise<{ readonly version: number; readonly plan: string } | null> {
  const query = queries.selectFrom('job_sequence').select(['version', 'plan']).where('job_id', '=', jobId)
  return (await query.executeTakeFirst()) ?? null
}

const parseNode = rowParser('step or workflow node', {
  status: Type.Enum(NODE_STATUSES),
  subjob_status: Type.Union([Type.Enum(JOB_STATUSES), Type.Null()]),
  runner_state: Type.Union([Type.Enum(RUNNER_STATES), Type.Null()]),
})

/** The steps or nodes of a parent job, in the order of the plan. */
export async function findNodes(queries: Queries, jobId: number): Promise<SequenceNodeRow[]> {
  const rows = await queries
    .selectFrom('sequence_node')
    .leftJoin('job as subjob', 'subjob.id', 'sequence_node.subjob_id')
    .leftJoin('runner', 'runner.id', 'subjob.runner_id')
    .selectAll('sequence_node')
    .select([
      'subjob.status as subjob_status',
      'subjob.status_reason as subjob_reason',
      'subjob.end_time as subjob_end_time',
      'subjob.abort_requested as subjob_abort_requested',
      'runner.state as runner_state',
    ])
    .where('sequence_node.job_id', '=', jobId)
    .orderBy('sequence_node.position')
    .execute()
  return rows.map(parseNode)
}

/** A step or node as it is stored, or null. */
export async function findNode(
  queries: Queries,
  jobId: number,
  identifier: string,
): Promise<Selectable<SequenceNodeTable> | null> {
  const query = queries.selectFrom('sequence_node').selectAll().where('job_id', '=', jobId)
  const row = await query.where('identifier', '=', identifier).executeTakeFirst()
  return row ? parseNode(row) : null
}

/**
 * If the result is true, the caller may move the parent job on in this write. False: somebody else has done so since it
 * was read.
 */
export async function takeTurn(queries: Queries, jobId: number, version: number): Promise<boolean> {
  const { numUpdatedRows } = await queries
    .updateTable('job_sequence')
    .set({ version: version + 1 })
    .where('job_id', '=', jobId)
    .where('version', '=', version)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Changes a step or workflow node of a parent job. */
export async function changeNode(
  queries: Queries,
  jobId: number,
  identifier: string,
  change: NodeChange,
): Promise<void> {
  await queries
    .updateTable('sequence_node')
    .set(change)
    .where('job_id', '=', jobId)
    .where('identifier', '=', identifier)
    .execute()
}

/** Stores which nodes of an ended parent job will not run. */
export async function closeNodes(
  queries: Queries,
  jobId: number,
  { status, reason, time }: { readonly status: NodeStatus; readonly reason: string; readonly time: number },
): Promise<void> {
  await queries
    .updateTable('sequence_node')
    .set({ status, reason, end_time: time, due_time: null })
    .where('job_id', '=', jobId)
    .where('status', 'in', ['waiting', 'approve'])
    .execute()
}

/** Stores the present step or node of a sequence. */
export async function setStep(queries: Queries, jobId: number, step: string): Promise<void> {
  await queries.updateTable('job').set({ step }).where('id', '=', jobId).execute()
}

/** The earliest end of an approval with a time limit; null: no approval has one. */
export async function findFirstDueTime(queries: Queries): Promise<number | null> {
  const query = queries.selectFrom('sequence_node').select('due_time').where('due_time', 'is not', null)
  const row = await query.where('status', '=', 'approve').orderBy('due_time').limit(1).executeTakeFirst()
  return row?.due_time ?? null
}

/**
 * Ids of the sequences that need a look: none of their nodes runs, a node is shown as running although its job has
 * ended, an abort was asked for, or an approval is overdue. The query reads only unfinished sequences, however many
 * other jobs there are.
 * @param serviceTime by which approvals are overdue
 */
export async function findDueSequences(queries: Queries, serviceTime: number): Promise<number[]> {
  const driven = await queries
    .selectFrom('job')
    .select('job.id')
    .where('job.dispatch', '=', 'driven')
    .where((is) =>
      is.or([
        is('job.abort_requested', '=', 1),
        is.not(
          is.exists(
            is
              .selectFrom('sequence_node')
              .select('sequence_node.job_id')
              .whereRef('sequence_node.job_id', '=', 'job.id')
              .where('sequence_node.status', '=', 'running'),
          ),
        ),
        is.exists(
          is
            .selectFrom('sequence_node')
            .leftJoin('job as subjob', 'subjob.id', 'sequence_node.subjob_id')
            .leftJoin('runner', 'runner.id', 'subjob.runner_id')
            .select('sequence_node.job_id')
            .whereRef('sequence_node.job_id', '=', 'job.id')
            .where('sequence_node.status', '=', 'running')
            .where((one) =>
              one.or([
                one('subjob.id', 'is', null),
                one('subjob.status', 'not in', [...OPEN_STATUSES, 'abandoned']),
                one.and([
                  one('subjob.status', '=', 'abandoned'),
                  one.or([
                    one('sequence_node.reason', 'is', null),
                    one('runner.id', 'is', null),
                    one('runner.state', '!=', 'approved'),
                  ]),
                ]),
              ]),
            ),
        ),
      ]),
    )
    .orderBy('job.id')
    .execute()
  const overdue = await queries
    .selectFrom('sequence_node')
    .select('job_id')
    .where('due_time', '<=', serviceTime)
    .where('status', '=', 'approve')
    .execute()
  return [...new Set([...driven.map(({ id }) => id), ...overdue.map((row) => row.job_id)])]
}
