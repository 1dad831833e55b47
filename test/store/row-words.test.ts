import { sql } from 'kysely'
import { expect, test } from 'vitest'
import { findUser, insertUser } from '../../control-plane/src/store/accounts/users.js'
import { findJobsOfRuns } from '../../control-plane/src/store/jobs/dispatch.js'
import { listJobs } from '../../control-plane/src/store/jobs/job-list.js'
import { findJob, findJobSummary } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { queuedJob } from '../runners/queued-job.js'
import { openTestStore } from '../support/test-database.js'
import { KINDS, temporaryFolder } from './nodes.js'

test.each(KINDS)('on %s, a row whose words no release has is refused where it is read', async (kind) => {
  const folder = await temporaryFolder()
  const store = await openTestStore(folder.path, kind)
  try {
    const run = '1'.repeat(32)
    const id = await store.write('test', (queries) => insertJob(queries, { ...queuedJob(7, run), user_id: 5 }))
    const spoil = (column: string, word: string) =>
      store.write('test', (queries) =>
        sql`update job set ${sql.ref(column)} = ${word} where id = ${id}`.execute(queries),
      )
    const readers = [
      () => findJob(store.read, id),
      () => findJobSummary(store.read, id),
      () => listJobs(store.read, {}, 10),
    ]

    await spoil('dispatch', 'quued')
    await expect(findJob(store.read, id)).rejects.toThrow('a job that is not readable: /dispatch')
    await expect(findJobsOfRuns(store.read, [run])).rejects.toThrow('not readable: /dispatch')
    await spoil('dispatch', 'queued')

    await spoil('user_type', 'nis')
    for (const read of readers) await expect(read()).rejects.toThrow('/user_type')
    await spoil('user_type', 'local')
    for (const read of readers) await expect(read()).resolves.not.toBeNull()
  } finally {
    await store.close()
    await folder.remove()
  }
})

test.each(KINDS)('on %s, a column of JSON that holds something else is refused where it is read', async (kind) => {
  const folder = await temporaryFolder()
  const store = await openTestStore(folder.path, kind)
  try {
    const account = {
      type: 'local',
      passwordHash: null,
      email: null,
      enabled: true,
      passwordMustChange: false,
    } as const
    const user = await store.write('test', (queries) =>
      insertUser(queries, { ...account, username: 'ann', groups: ['ops'], createdAt: 1 }),
    )
    expect((await findUser(store.read, user?.id ?? 0))?.groups).toEqual(['ops'])
    await store.write('test', (queries) => sql`update ${sql.ref('user')} set groups = '{"ops":1}'`.execute(queries))
    await expect(findUser(store.read, user?.id ?? 0)).rejects.toThrow('Expected Array')
  } finally {
    await store.close()
    await folder.remove()
  }
})
