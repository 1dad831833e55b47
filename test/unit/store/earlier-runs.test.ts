import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Insertable, sql } from 'kysely'
import { expect, onTestFinished, test } from 'vitest'
import {
  findEarlierRuns,
  findEarlierSequences,
  findLastGoodRun,
  findParts,
} from '../../../control-plane/src/store/jobs/earlier-runs.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import type { JobTable } from '../../../control-plane/src/store/schema/jobs.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'

/** A database with jobs of one form, in which each has ten events unless it says otherwise. */
async function jobs(...rows: (Partial<Insertable<JobTable>> & { events?: number })[]) {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-earlier-'))
  const store = await openSqliteStore(join(folder, 'holdfast.db'))
  onTestFinished(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })
  await store.write('test.jobs', async (queries) => {
    for (const [index, { events = 10, ...row }] of rows.entries()) {
      const run = index.toString(16).padStart(32, '0')
      const ended = { runner_id: null, runner_name: null, status: 'success', dispatch: 'done', end_time: 2 } as const
      const id = await insertJob(queries, { ...queuedJob(1, run), ...ended, form: 'f', target: 'a', ...row })
      await queries.updateTable('job_stream').set({ events_count: events }).where('job_id', '=', id).execute()
    }
  })
  return store
}

/** Copies a job many times. One statement is enough, so that thousands take no time. */
async function copyJob(store: Store, id: number, times: number): Promise<void> {
  await store.write('test.copies', async (queries) => {
    const row = await queries.selectFrom('job').selectAll().where('id', '=', id).executeTakeFirstOrThrow()
    const kept = Object.keys(row).filter((name) => name !== 'id' && name !== 'run_id')
    const columns = sql.join(kept.map((name) => sql.ref(name)))
    await sql`with recursive copies (nth) as (select 1 union all select nth + 1 from copies where nth < ${times})
      insert into job (run_id, ${columns}) select 'copy ' || nth, ${columns} from job, copies where id = ${id}`.execute(
      queries,
    )
  })
}

test('a run is measured by the newest runs of the same that succeeded, and that have events but not too many', async () => {
  const { read: queries } = await jobs(
    {}, // 1
    { target: 'b' },
    { form: 'other' },
    { status: 'failed' },
    { job_type: 'multistep' },
    { events: 0 },
    { events: 11 },
    {}, // 8
    { target: 'b', events: 0 },
    {}, // 10
    {}, // 11: asked about
    {}, // newer
  )
  const job = { id: 11, form: 'f', target: 'a' }
  expect(await findEarlierRuns(queries, job, { runs: 5, mostEvents: 10 })).toEqual([10, 8, 1])
  expect(await findEarlierRuns(queries, job, { runs: 2, mostEvents: 11 })).toEqual([10, 8])
  expect(await findEarlierRuns(queries, job, { runs: 3, mostEvents: 11 })).toEqual([10, 8, 7])
})

test('earlier runs of what consists of other jobs are of the same kind and succeeded', async () => {
  const multistep = { job_type: 'multistep' } as const
  const { read: queries } = await jobs(
    multistep,
    { ...multistep, target: 'b' },
    { ...multistep, status: 'failed' },
    {},
    { ...multistep, events: 0 },
    multistep,
  )
  const job = { id: 6, form: 'f', target: 'a', job_type: 'multistep' } as const
  expect(await findEarlierSequences(queries, job, 5)).toEqual([5, 1])
  expect(await findEarlierSequences(queries, job, 1)).toEqual([5])
})

test('the last good run is the same job, of the same account when one is named, and a part only for a part', async () => {
  const { read: queries } = await jobs(
    {}, // 1
    { job_type: 'multistep' },
    { parent_id: 2 }, // 3
    { target: 'b' },
    { status: 'aborted' },
    {}, // 6
  )
  const job = { id: 6, form: 'f', target: 'a', job_type: 'ansible', parent_id: null } as const
  expect(await findLastGoodRun(queries, job, null)).toBe(1)
  expect(await findLastGoodRun(queries, { ...job, parent_id: 2 }, null)).toBe(3)
  expect(await findLastGoodRun(queries, { ...job, id: 1 }, null)).toBeNull()
  expect(await findLastGoodRun(queries, job, 77)).toBeNull()
})

test('the last good run of an account is one of its own, however many others are newer', async () => {
  const { read: queries } = await jobs({ user_id: 5 }, { user_id: 6 }, { user_id: null }, {})
  const job = { id: 4, form: 'f', target: 'a', job_type: 'ansible', parent_id: null } as const
  expect(await findLastGoodRun(queries, job, 5)).toBe(1)
  expect(await findLastGoodRun(queries, job, 6)).toBe(2)
  expect(await findLastGoodRun(queries, job, null)).toBe(3)
})

test('the parts of a job are its child jobs, with their events', async () => {
  const { read: queries } = await jobs({ job_type: 'multistep' }, { parent_id: 1, events: 3 }, { parent_id: 9 }, {})
  expect(await findParts(queries, 1)).toEqual([{ id: 2, job_type: 'ansible', events_count: 3 }])
})

test('the last good run is looked for among the last 20,000 jobs of a form, and not among all', async () => {
  const store = await jobs(
    {}, // 1
    { target: 'b' }, // 2
  )
  await copyJob(store as Store, 2, 19_999)
  const job = { form: 'f', target: 'a', job_type: 'ansible', parent_id: null } as const
  expect(await findLastGoodRun(store.read, { ...job, id: 20_001 }, null)).toBe(1)
  expect(await findLastGoodRun(store.read, { ...job, id: 20_002 }, null)).toBeNull()
})
