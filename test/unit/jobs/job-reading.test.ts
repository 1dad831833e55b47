import { describe, expect, test } from 'vitest'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import {
  type JobReading,
  type ListRequest,
  readJob,
  readJobs,
  readPlainOutput,
  readRecords,
} from '../../../control-plane/src/jobs/read/reading.js'
import { awaitedApproval, decided } from '../../../control-plane/src/jobs/record/approval.js'
import { insertAwaitedApproval } from '../../../control-plane/src/store/jobs/approvals.js'
import { appendServiceLine } from '../../../control-plane/src/store/jobs/job-streams.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { caller } from './launch-parts.js'

/** What a caller gets of jobs: which of them, and what of each. */
const admin: Caller = { ...caller, id: 1, isAdmin: true }
const ann: Caller = { ...caller, id: 7, username: 'ann', roles: [] }
const ops: Caller = { ...caller, id: 8, username: 'ben', roles: ['ops'] }

const NO_FILTER: ListRequest = { records: undefined, waiting: false, filter: {} }
type Asked = ListRequest['filter'] & Partial<Pick<ListRequest, 'records' | 'waiting'>>
const APPROVAL = awaitedApproval(
  { title: null, message: null, roles: ['ops'], notifications: [], allowSelf: false },
  {},
  { manifest_sha256: null, form_sha256: null },
)

async function made(listSize = 100) {
  const queries = await memoryDatabase()
  const reading: JobReading = {
    queries,
    maskPattern: /secret/,
    listSize,
    passwordFieldsOf: () => Promise.resolve(new Set(['now'])),
    runners: { connectionsOf: (ids) => Promise.resolve(new Map(ids.map((id) => [id, 3]))) },
  }
  let runs = 0
  return {
    queries,
    reading,
    add: (job: Partial<NewJob> = {}): Promise<number> =>
      insertJob(queries, { ...queuedJob(5, String((runs += 1)).padStart(32, '0')), user_id: 7, ...job }),
    /** A job of somebody else that waits for an approval by the role `ops`. */
    async addWaiting(): Promise<number> {
      const waiting = { status: 'approve', dispatch: 'parked', approval: JSON.stringify(APPROVAL) } as const
      const row = { ...queuedJob(5, String((runs += 1)).padStart(32, '0')), user_id: 9, user_name: 'cem', ...waiting }
      const id = await insertJob(queries, row)
      await insertAwaitedApproval(queries, id, { roles: ['ops'], allowSelf: false })
      return id
    },
    async list(who: Caller, { records: most, waiting = false, ...filter }: Asked = {}) {
      const { records, next } = await readRecords(reading, who, { records: most, waiting, filter })
      return { ids: records.part(0, records.count).map(({ id }) => id), next }
    },
  }
}

describe('a list of jobs', () => {
  test('is filtered by each thing that is asked for, and by nothing else', async () => {
    const { add, list } = await made()
    const usual = { form: 'f', runner_name: 'one', held_epoch: 3, start_time: 100 } as const
    const all = await add(usual)
    const others: [Asked, Partial<NewJob>][] = [
      [{ values: { form: 'f' } }, { form: 'g' }],
      [{ statuses: ['running'] }, { status: 'failed', dispatch: 'done' }],
      [{ user: { name: 'ann', type: 'local' } }, { user_name: 'cem' }],
      [{ user: { name: 'ann', type: 'local' } }, { user_type: 'ldap' }],
      [{ runner: 'one' }, { runner_name: 'two' }],
      [{ parts: false }, { parent_id: all }],
      [{ startedFrom: 100 }, { start_time: 99 }],
      [{ startedBefore: 101 }, { start_time: 101 }],
      [{ text: 'needle' }, { form: 'no such word' }],
    ]
    for (const [asked, other] of others) {
      const needle = 'text' in asked ? await add({ ...usual, form: 'has a needle' }) : all
      const left = await add({ ...usual, ...other })
      const { ids } = await list(admin, asked)
      expect([ids.includes(needle), ids.includes(left)], JSON.stringify(asked)).toEqual([true, false])
      expect((await list(admin)).ids).toContain(left)
    }
    expect((await list(admin, { before: all + 1 })).ids).toEqual([all])
  })

  test('has a next page when it is full, which goes on with the oldest', async () => {
    const { add, list } = await made(2)
    const ids = [await add(), await add(), await add()].toReversed()
    expect(await list(admin)).toEqual({ ids: ids.slice(0, 2), next: ids[1] })
    expect(await list(admin, { before: ids[1] })).toEqual({ ids: ids.slice(2), next: null })
    expect(await list(admin, { records: '3' })).toEqual({ ids, next: ids[2] })
    expect(await list(admin, { records: '4' })).toEqual({ ids, next: null })
    expect(await list(admin, { values: { form: 'none' } })).toEqual({ ids: [], next: null })
  })

  test('has for who does not see all jobs their own, and those that they may approve, newest first', async () => {
    const { add, addWaiting, list } = await made()
    const first = await addWaiting()
    const own = await add({ user_id: 8, user_name: 'ben' })
    const second = await addWaiting()
    await add()
    expect((await list(ops)).ids).toEqual([second, own, first])
    expect((await list(ann)).ids).toEqual([own + 2])
    expect((await list({ ...ann, options: { ...ann.options, showAllJobLogs: true } })).ids).toHaveLength(4)
    // What is older than a full page belongs to the next page.
    expect(await list(ops, { records: '2' })).toEqual({ ids: [second, own], next: own })
    expect(await list(ops, { records: '1' })).toEqual({ ids: [second], next: second })
    expect(await list(ops, { records: '2', before: own })).toEqual({ ids: [first], next: null })
  })

  test('of the jobs that wait has only those that the caller may approve', async () => {
    const { add, addWaiting, list } = await made()
    const waiting = await addWaiting()
    await add({ user_id: 8 })
    expect((await list(ops, { waiting: true })).ids).toEqual([waiting])
    expect((await list(ann, { waiting: true })).ids).toEqual([])
    expect((await list(admin, { waiting: true })).ids).toEqual([waiting])
  })

  test('has another tag when a job has changed, and the same one when none has', async () => {
    const { add, reading, queries } = await made()
    await add()
    const tag = async () => (await readJobs(reading, admin, NO_FILTER)).tag
    const before = await tag()
    expect(before).toBe(await tag())
    await queries.updateTable('job').set({ abort_requested: 1 }).execute()
    expect(await tag()).not.toBe(before)
  })
})

describe('a job', () => {
  test('is shown with its approval, without the account of who decided', async () => {
    const { add, reading } = await made()
    const given = decided(APPROVAL, 'approved', ops, 1000)
    const id = await add({ approval: JSON.stringify(given), abort_requested: 1, schedule_id: 4, schedule_name: 's' })
    const { job } = await readJob(reading, ann, id, 'none')
    expect(job.approval).toMatchObject({ state: 'approved', decided_by: 'ben', decided_at: '1970-01-01T00:00:01.000Z' })
    expect(job.approval).not.toHaveProperty('decided_by_id')
    expect(job).toMatchObject({ abort_requested: true, schedule: { id: 4, name: 's' } })
    const bare = await readJob(reading, ann, await add(), 'none')
    expect(bare.job).toMatchObject({ approval: null, abort_requested: false, schedule: null })
  })

  test('hides what is a password now, or was one at the launch', async () => {
    const { add, reading } = await made()
    const extravars = JSON.stringify({ a: 'x', now: 'x', then: 'x', my_secret: 'x' })
    const id = await add({ extravars, password_fields: '["then"]' })
    const { job } = await readJob(reading, ann, id, 'none')
    const shown = { __jobid__: id, a: 'x', now: '********', then: '********', my_secret: '********' }
    expect([job.extravars, job.payload]).toEqual([shown, shown])
  })

  test('of somebody else is not shown, and neither is its output', async () => {
    const { add, reading } = await made()
    const id = await add({ user_id: 9 })
    await expect(readJob(reading, ann, id, 'text')).rejects.toMatchObject({ code: 'not_your_job' })
    await expect(readPlainOutput(reading, ann, id)).rejects.toMatchObject({ code: 'not_your_job' })
    await expect(readJob(reading, ann, 99, 'text')).rejects.toMatchObject({ code: 'job_not_found' })
  })

  test.each([
    ['text', 'a <b>\n'],
    ['html', 'a &lt;b&gt;\n'],
    ['none', ''],
  ] as const)('has its output as %s', async (form, expected) => {
    const { add, reading, queries } = await made()
    const id = await add()
    await appendServiceLine(queries, id, 'a <b>')
    let text = ''
    for await (const part of (await readJob(reading, ann, id, form)).output) text += part
    expect(text).toBe(expected)
  })
})
