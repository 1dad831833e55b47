import type { Selectable } from 'kysely'
import { expect, expectTypeOf, test } from 'vitest'
import {
  DISPATCH_MOVES,
  DISPATCH_OF_STATUS,
  type Dispatch,
  type DispatchBefore,
} from '../../../control-plane/src/words/job-dispatch.js'
import {
  JOB_STATUSES,
  type JobStatus,
  STATUS_MOVES,
  type StatusBefore,
} from '../../../control-plane/src/words/job-status.js'
import type { JobType } from '../../../control-plane/src/words/job-type.js'
import type { NodeStatus } from '../../../control-plane/src/words/node-status.js'
import type { RunnerState } from '../../../control-plane/src/words/runner-state.js'
import { type JobMove, moveJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { findUserByName } from '../../../control-plane/src/store/accounts/users.js'
import { changeNode } from '../../../control-plane/src/store/jobs/sequences.js'
import type { JobTable } from '../../../control-plane/src/store/schema/jobs.js'
import type { RunnerTable } from '../../../control-plane/src/store/schema/runners.js'
import type { SequenceNodeTable } from '../../../control-plane/src/store/schema/sequences.js'
import type { UserTable } from '../../../control-plane/src/store/schema/accounts.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import type { UserType } from '../../../control-plane/src/words/user-type.js'
import { queuedJob } from '../../runners/queued-job.js'

/** The compiler looks at this file with all others (`tsc -b`): each expected error has to be one. */
const nothing = { time: 0, reason: null } as const

/** Never called. */
export async function mistakes(queries: Queries): Promise<void> {
  // @ts-expect-error a typing error
  await insertJob(queries, { ...queuedJob(1), dispatch: 'quued' })
  // @ts-expect-error a typing error
  await moveJob(queries, 1, { ...nothing, from: ['runing'], to: 'success' })
  // @ts-expect-error a job that succeeded stays so
  await moveJob(queries, 1, { ...nothing, from: ['success'], to: 'failed' })
  // @ts-expect-error what ends is on its way to no runner
  await moveJob(queries, 1, { ...nothing, from: ['running'], to: 'failed', changes: { dispatch: 'queued' } })
  // @ts-expect-error what waits for an approval is in no queue
  await moveJob(queries, 1, { ...nothing, from: ['running'], to: 'approve', changes: { dispatch: 'queued' } })
  await moveJob(queries, 1, { ...nothing, from: ['running'], to: 'approve', changes: { dispatch: 'parked' } })
  // @ts-expect-error a typing error
  await queries.selectFrom('job').select('id').where('dispatch', '=', 'quued').execute()
  // @ts-expect-error a typing error
  await insertJob(queries, { ...queuedJob(1), job_type: 'ansibel' })
  // @ts-expect-error a typing error
  await insertJob(queries, { ...queuedJob(1), user_type: 'lokal' })
  // @ts-expect-error a typing error
  await findUserByName(queries, 'lokal', 'ann')
  // @ts-expect-error a typing error
  await queries.selectFrom('runner').select('id').where('state', '=', 'aproved').execute()
  // @ts-expect-error a typing error
  await changeNode(queries, 1, 'a', { status: 'skiped' })
  // @ts-expect-error a typing error
  await queries.selectFrom('session').select('id').where('kind', '=', 'logn').execute()
}

test('columns of states have the types of their tables of moves', () => {
  expectTypeOf<JobTable['status']>().toEqualTypeOf<JobStatus>()
  expectTypeOf<JobTable['dispatch']>().toEqualTypeOf<Dispatch>()
  expectTypeOf<RunnerTable['state']>().toEqualTypeOf<RunnerState>()
  expectTypeOf<SequenceNodeTable['status']>().toEqualTypeOf<NodeStatus>()
  expectTypeOf<Selectable<JobTable>['user_type']>().toEqualTypeOf<UserType>()
  expectTypeOf<Selectable<JobTable>['job_type']>().toEqualTypeOf<JobType>()
  expectTypeOf<UserTable['type']>().toEqualTypeOf<UserType>()
  expectTypeOf<StatusBefore<'success'>>().toEqualTypeOf<'running' | 'abandoned'>()
  expectTypeOf<DispatchBefore<'offered'>>().toEqualTypeOf<'queued'>()
  expectTypeOf<JobMove<'rejected'>['from'][number]>().toEqualTypeOf<'running' | 'approve'>()
})

test('a status that can still change to another one has its place on the way to a runner', () => {
  expect(Object.keys(DISPATCH_OF_STATUS).sort()).toEqual([...JOB_STATUSES].sort())
  for (const [status, moves] of Object.entries(STATUS_MOVES)) {
    if (moves.length === 0) expect(DISPATCH_OF_STATUS[status as JobStatus]).toEqual(['done'])
  }
  // Every place is left in the end, and the end by nothing.
  for (const moves of Object.values(DISPATCH_MOVES)) expect(moves).toContain('done')
  expect(DISPATCH_MOVES.done).toEqual(['done'])
})
