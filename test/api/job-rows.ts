import type { Insertable } from 'kysely'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import type { JobTable } from '../../control-plane/src/store/schema/jobs.js'
import type { Queries } from '../../control-plane/src/store/store.js'
import { findUserByName } from '../../control-plane/src/store/accounts/users.js'
import type { runEvents } from '../support/run-events.js'
import { queuedJob } from '../runners/queued-job.js'
import type { TestServer } from './server.js'

let runs = 0

/** The row as the account would own it that has its user's name now. */
export async function ownedJob<Job extends Pick<Insertable<JobTable>, 'user_name' | 'user_type'>>(
  queries: Queries,
  job: Job,
): Promise<Job & { user_id: number | null }> {
  return { ...job, user_id: (await findUserByName(queries, job.user_type, job.user_name))?.id ?? null }
}

/** Puts a job straight into the database, as a launch and a runner would have left it; it was ann's and ended well. */
export function putJob(server: Pick<TestServer, 'store'>, job: Partial<Insertable<JobTable>> = {}): Promise<number> {
  runs += 1
  const run = runs.toString(16).padStart(32, '0')
  const ended = { runner_id: null, runner_name: null, status: 'success', dispatch: 'done', end_time: 2 } as const
  return server.store.write('test.job', async (queries) =>
    insertJob(queries, await ownedJob(queries, { ...queuedJob(1, run), ...ended, ...job })),
  )
}

/** Gives a job events, as its runner would have sent them. */
export async function putEvents(
  server: Pick<TestServer, 'store'>,
  jobId: number,
  events: ReturnType<typeof runEvents>,
): Promise<void> {
  const rows = events.map((event) => {
    const { order, type, play, task, host, time } = event as typeof event &
      Record<'type' | 'play' | 'task' | 'host' | 'time', string>
    const line = Buffer.from(JSON.stringify(event))
    return { job_id: jobId, position: order, type, play, task, host, time, duration: null, line }
  })
  await server.store.write('test.events', async (queries) => {
    await queries.insertInto('job_event').values(rows).execute()
    await queries.updateTable('job_stream').set({ events_count: rows.length }).where('job_id', '=', jobId).execute()
  })
}
