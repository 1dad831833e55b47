import type { Insertable } from 'kysely'
import { insertJob } from '../../control-plane/src/store/jobs.js'
import type { JobTable } from '../../control-plane/src/store/schema.js'
import { queuedJob } from '../runners/queued-job.js'
import type { TestServer } from './server.js'

let runs = 0

/** Puts a job straight into the database, as a launch and a runner would have left it; it was ann's and ended well. */
export function putJob(server: TestServer, job: Partial<Insertable<JobTable>> = {}): Promise<number> {
  runs += 1
  const run = runs.toString(16).padStart(32, '0')
  const ended = { runner_id: null, runner_name: null, status: 'success', dispatch: 'done', end_time: 2 }
  return server.store.write('test.job', (queries) => insertJob(queries, { ...queuedJob(1, run), ...ended, ...job }))
}
