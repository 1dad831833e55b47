import { expect, test } from 'vitest'
import { failOverdue } from '../../control-plane/src/runners/offers/waiting-jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import {
  changeNode,
  findFirstDueTime,
  findNode,
  insertSequence,
  renewDueTimes,
} from '../../control-plane/src/store/jobs/sequences.js'
import { readServiceTime } from '../../control-plane/src/store/service/service-clock.js'
import { openTestStore } from '../support/test-database.js'
import { queuedJob } from '../runners/queued-job.js'
import { KINDS, temporaryFolder } from './nodes.js'

test.each(KINDS)('on %s, waits that an older release kept by a wall clock begin anew', async (kind) => {
  const folder = await temporaryFolder()
  const store = await openTestStore(folder.path, kind)
  try {
    const { time } = await readServiceTime(store.read)
    const jobId = await store.write('test', async (queries) => {
      const id = await insertJob(queries, { ...queuedJob(7), wait_until: 1_700_000_000_000 })
      await insertSequence(queries, id, { plan: '{}', nodes: ['asks'] })
      const asks = { status: 'approve' as const, start_time: 1_700_000_000_000, due_time: 1_700_000_060_000 }
      await changeNode(queries, id, 'asks', asks)
      return id
    })
    const nobody = { changed: () => undefined } as never
    const waiting = { store, clock: { now: () => Date.now() }, live: nobody, queueMs: 5000 }
    await failOverdue(waiting, { id: 7, name: 'seven' }, 'has no free slot', time)
    const job = await store.read.selectFrom('job').selectAll().where('id', '=', jobId).executeTakeFirst()
    expect(job).toMatchObject({ status: 'running', wait_until: time + 5000 })

    expect(await findFirstDueTime(store.read)).toBe(1_700_000_060_000)
    await store.write('test', (queries) => renewDueTimes(queries, time))
    expect(await findNode(store.read, jobId, 'asks')).toMatchObject({ due_time: time + 60_000 })
  } finally {
    await store.close()
    await folder.remove()
  }
})
