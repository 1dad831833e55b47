import type { Kysely } from 'kysely'
import { columnTypesOf } from '../sql/column-types.js'
import { createAccounts } from './001-initial/accounts.js'
import { createAudit } from './001-initial/audit.js'
import { createJobStreams } from './001-initial/job-streams.js'
import { createJobs } from './001-initial/jobs.js'
import { createNotifications } from './001-initial/notifications.js'
import { createRunners } from './001-initial/runners.js'
import { createSchedules } from './001-initial/schedules.js'
import { createSequences } from './001-initial/sequences.js'
import { createService } from './001-initial/service.js'
import { createUploads } from './001-initial/uploads.js'
import { createWriteMarks } from './001-initial/write-marks.js'

/**
 * The tables of the first release. Each file has one aggregate, with its columns in the order of the file of the same
 * name in the folder `schema`, which explains them. A table comes after the tables to which it refers.
 */
export async function up(database: Kysely<unknown>): Promise<void> {
  const types = columnTypesOf(database)
  await createAccounts(database, types)
  await createUploads(database, types)
  await createJobs(database, types)
  await createJobStreams(database, types)
  await createSequences(database, types)
  await createRunners(database, types)
  await createSchedules(database, types)
  await createNotifications(database, types)
  await createAudit(database, types)
  await createService(database, types)
  await createWriteMarks(database)
}
