import { beforeEach, describe, expect, test } from 'vitest'
import { endedJobs } from '../../../control-plane/src/store/jobs/ended-jobs.js'
import {
  countQueuedBefore,
  findOutputStates,
  findStreams,
  findTransitions,
  storeComparison,
} from '../../../control-plane/src/store/jobs/job-details.js'
import { type JobFilter, listJobs } from '../../../control-plane/src/store/jobs/job-list.js'
import { findJobSecrets, insertJobSecret } from '../../../control-plane/src/store/jobs/job-secrets.js'
import { findJob, moveJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { JOB_STATUSES } from '../../../control-plane/src/words/job-status.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries
let runs = 0

beforeEach(async () => {
  queries = await memoryDatabase()
})

const put = (job: Partial<NewJob> = {}) =>
  insertJob(queries, {
    ...queuedJob(7, String((runs += 1)).padStart(32, '0')),
    runner_id: null,
    runner_name: null,
    ...job,
  })
const list = async (filter: JobFilter, limit = 100) => (await listJobs(queries, filter, limit)).map(({ id }) => id)

describe('a list of jobs', () => {
  test.each<[string, Partial<NewJob>, Partial<NewJob>, JobFilter]>([
    ['the name of a user', { user_name: 'bob' }, {}, { user: { name: 'bob', type: 'local' } }],
    ['the kind of a user', { user_type: 'ldap' }, {}, { user: { name: 'ann', type: 'ldap' } }],
    ['an account', { user_id: 5 }, { user_id: 6 }, { visibleTo: { id: 5, name: 'ann', type: 'local' } }],
    [
      'an account that asks for its own',
      { user_id: 5 },
      { user_id: 6 },
      { visibleTo: { id: 5, name: 'ann', type: 'local' }, user: { name: 'ann', type: 'local' } },
    ],
    ['a runner that had them', { runner_name: 'one', held_epoch: 0 }, { runner_name: 'one' }, { runner: 'one' }],
    ['another runner', { runner_name: 'one', held_epoch: 1 }, { runner_name: 'two', held_epoch: 1 }, { runner: 'one' }],
    ['statuses', { status: 'failed' }, {}, { statuses: ['failed', 'aborted'] }],
    ['a form', { form: 'g' }, {}, { values: { form: 'g' } }],
    ['the launch', {}, { parent_id: 1 }, { parts: false }],
    ['a start from a time on', { start_time: 50 }, { start_time: 49 }, { startedFrom: 50 }],
    ['a start before a time', { start_time: 49 }, { start_time: 50 }, { startedBefore: 50 }],
    ['a text in the form', { form: 'My Form' }, {}, { text: 'my f' }],
    ['a text in the target', { target: 'restart' }, {}, { text: 'START' }],
    ['a text in the user', { user_name: 'bob' }, {}, { text: 'bo' }],
    ['a text in the runner', { runner_name: 'one' }, {}, { text: 'one' }],
    ['a text in the reason', { status_reason: 'no disk' }, {}, { text: 'disk' }],
    ['a text with signs of its own', { target: '50%_a\\b' }, { target: '500_a\\b' }, { text: '50%_a\\b' }],
  ])('is limited by %s', async (_what, wanted, other, filter) => {
    const ids = [await put(wanted), await put(other), await put(wanted)]
    expect(await list(filter)).toEqual([ids[2], ids[0]])
    expect(await list({})).toEqual(ids.toReversed())
    expect(await list({ ...filter, before: ids[2] ?? 0 })).toEqual([ids[0]])
  })

  test('has child jobs unless they are left out', async () => {
    const ids = [await put(), await put({ parent_id: 1 })]
    expect([await list({ parts: true }), await list({ parts: false })]).toEqual([ids.toReversed(), ids.slice(0, 1)])
  })

  test('is found by a number', async () => {
    for (let count = 0; count < 12; count += 1) await put()
    expect([await list({ text: '1' }), await list({ text: '#12' }), await list({ text: '#13' })]).toEqual([
      [1],
      [12],
      [],
    ])
    expect([await list({ text: '12x' }), await list({ text: '#' })]).toEqual([[], []])
  })

  test('of somebody else is empty for an account that sees only its own', async () => {
    await put({ user_id: 5 })
    const visibleTo = { id: 5, name: 'ann', type: 'local' } as const
    expect(await list({ visibleTo, user: { name: 'bob', type: 'local' } })).toEqual([])
    expect(await list({ visibleTo, user: { name: 'ann', type: 'ldap' } })).toEqual([])
  })

  test('has as many as are asked for, the newest', async () => {
    const id = await put()
    const columns = Object.keys((await findJob(queries, id)) ?? {}).filter((name) => name !== 'id')
    const names = columns.join(', ')
    for (let count = 0; count < 11; count += 1) {
      await queries.executeQuery({
        sql: `insert into job (${names}) select ${names} from job`,
        parameters: [],
        query: { kind: 'RawNode' },
      } as never)
    }
    for (const limit of [0, 1, 999, 1000, 1001, 2000, 2047, 2048, 2049]) {
      const ids = await list({}, limit)
      const most = Math.min(limit, 2048)
      expect([ids.length, ids[0], ids.at(-1)]).toEqual(
        most === 0 ? [0, undefined, undefined] : [most, 2048, 2049 - most],
      )
    }
  })
})

describe('the details of a job', () => {
  test('are its moves in the order of time, and its streams', async () => {
    const [id, other] = [await put(), await put()]
    await moveJob(queries, id, { from: ['running'], to: 'approve', time: 5, reason: null })
    await moveJob(queries, id, { from: ['approve'], to: 'rejected', time: 9, reason: 'no' })
    await moveJob(queries, other, { from: ['running'], to: 'failed', time: 7, reason: null })
    expect(await findTransitions(queries, id)).toEqual([
      { time: 5, from_status: 'running', to_status: 'approve', reason: null },
      { time: 9, from_status: 'approve', to_status: 'rejected', reason: 'no' },
    ])
    const comparison = { integrity: 'verified', output_sha256: 'o', events_sha256: 'e', verified_at: 9 } as const
    await storeComparison(queries, id, comparison)
    expect(await findStreams(queries, id)).toMatchObject({ job_id: id, ...comparison })
    expect(await findStreams(queries, other)).toMatchObject({ job_id: other, integrity: null })
    expect(await findStreams(queries, 99)).toBeNull()
    const state = { bytes: 0, generation: 0 }
    expect(await findOutputStates(queries, [other, id, 99])).toEqual([
      { jobId: id, status: 'rejected', ...state },
      { jobId: other, status: 'failed', ...state },
    ])
    expect(await findOutputStates(queries, [])).toEqual([])
  })

  test('are how many wait before it for the same runner', async () => {
    for (const job of [{}, {}, { dispatch: 'offered' as const }, { runner_id: 8 }]) await put({ runner_id: 7, ...job })
    const id = await put({ runner_id: 7 })
    await put({ runner_id: 7 })
    expect([await countQueuedBefore(queries, id, 7), await countQueuedBefore(queries, id, 8)]).toEqual([2, 1])
  })
})

test.each(JOB_STATUSES)('an old job is one that ended before a time, and no child job: %s', async (status) => {
  const ids = [
    await put({ status, end_time: 20 }),
    await put({ status, end_time: 10 }),
    await put({ status, end_time: 30 }),
  ]
  await put({ status, end_time: 10, parent_id: 1 })
  await put({ status })
  const hasEnded = status !== 'running' && status !== 'approve'
  const old = async (limit: number) => (await endedJobs(queries, 30, limit)).map(({ id }) => id)
  expect(await old(10)).toEqual(hasEnded ? [ids[1], ids[0]] : [])
  expect(await old(1)).toEqual(hasEnded ? [ids[1]] : [])
})

test('the secret values of jobs are found by the jobs that have any', async () => {
  const id = await put({ password_fields: '[]' })
  const other = await put({ password_fields: '["pin"]' })
  await insertJobSecret(queries, other, { sealed: Buffer.from('s'), names: ['pin'] })
  expect(await findJobSecrets(queries, [])).toEqual(new Map())
  expect(await findJobSecrets(queries, [id, other])).toEqual(
    new Map([[other, { sealed: Buffer.from('s'), names: ['pin'] }]]),
  )
})
