import { describe, expect, test } from 'vitest'
import type { AccountGrant } from '../../../control-plane/src/auth/roles/grants.js'
import type { Caller } from '../../../control-plane/src/auth/sessions/caller.js'
import { HoldfastError } from '../../../control-plane/src/errors.js'
import { approve, approvedBefore, reject } from '../../../control-plane/src/jobs/approve/approving.js'
import { approvalOf, awaitedApproval, decided } from '../../../control-plane/src/jobs/record/approval.js'
import { readOutput } from '../../../control-plane/src/store/jobs/job-output.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { insertRunner } from '../../../control-plane/src/store/runners/runners.js'
import { listEvents } from '../../../control-plane/src/store/service/notification-events.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'
import { caller } from './launch-parts.js'

const NOW = 10_000
const ASKED = { manifest_sha256: 'old folder', form_sha256: 'old form' }
const ben: Caller = { ...caller, id: 2, username: 'ben', roles: ['ops'] }
const cem: Caller = { ...caller, id: 3, username: 'cem', roles: ['dev'] }

const approval = () =>
  awaitedApproval({ title: null, message: null, roles: ['ops'], notifications: [], allowSelf: false }, {}, ASKED)

async function made() {
  const queries = await memoryDatabase()
  const told: string[] = []
  const note = (text: string) => void told.push(text)
  const state = {
    subject: { ...ASKED } as { manifest_sha256: string | null; form_sha256: string | null },
    launcher: {
      account: 'enabled',
      isAdmin: false,
      allowedRunners: null,
      allowedCredentials: null,
    } as Partial<AccountGrant>,
    meanwhile: (): Promise<unknown> => Promise.resolve(),
    endsWithRejection: true,
  }
  const store = {
    read: queries,
    async write(_: string, task: (queries: Queries) => unknown) {
      await state.meanwhile()
      return task(queries)
    },
  }
  const dependencies = {
    store: store as unknown as Store,
    live: { changed: (name: string) => note(`changed ${name}`), subscribe: () => () => undefined },
    clock: { now: () => NOW },
    runners: { jobQueued: (id: number) => note(`queued for ${id}`), abortRequested: () => undefined },
    sequences: {
      advance: (id: number) => note(`advance ${id}`),
      endsWithRejection: () => state.endsWithRejection,
      noteDecision: (_: unknown, id: number, step: string, decision: string) => {
        note(`decision of ${id} ${step}: ${(JSON.parse(decision) as { state: string }).state}`)
        return Promise.resolve()
      },
      closeWaiting: (_: unknown, id: number, { reason }: { reason: string }) => {
        note(`closed ${id}: ${reason}`)
        return Promise.resolve()
      },
    },
    grants: { of: () => Promise.resolve(state.launcher as AccountGrant) },
    subjects: { now: () => Promise.resolve(state.subject) },
  }
  const runner = await insertRunner(queries, RUNNER_ROW)
  let runs = 0
  const row = async (id: number) => {
    const job = await findJob(queries, id)
    if (!job) throw new Error(`there is no job ${id}`)
    return job
  }
  const attempt = async (act: () => Promise<unknown>) => {
    try {
      return await act()
    } catch (error) {
      if (error instanceof HoldfastError) return error.code
      throw error
    }
  }
  return {
    queries,
    told,
    state,
    runner,
    row,
    add(changes: Partial<NewJob> = {}): Promise<number> {
      const waiting = { status: 'approve', dispatch: 'parked', approval: JSON.stringify(approval()) } as const
      const named = { ...queuedJob(runner.id, String((runs += 1)).padStart(32, '0')), runner_name: runner.name }
      return insertJob(queries, { ...named, user_id: 1, ...waiting, ...changes })
    },
    approve: (id: number, force?: boolean, who = ben) => attempt(() => approve(dependencies, who, id, force)),
    reject: (id: number, who = ben) => attempt(() => reject(dependencies, who, id)),
    async outputOf(id: number) {
      let text = ''
      for await (const piece of readOutput(queries, id, 0)) text += piece.toString()
      return text
    },
    events: async () => (await listEvents(queries, 10)).map(({ event }) => ('what' in event ? event.what : event.kind)),
  }
}

const PARENT = { job_type: 'workflow', runner_id: null, runner_name: null } as const
const told = (...what: string[]) =>
  JSON.stringify({ recipients: ['ann@x'], channels: ['email'], onEvent: what, onStatus: [] })

describe('an approval', () => {
  test('sends the job to its runner, bound to what was approved, and says who gave it', async () => {
    const { add, approve, row, outputOf, told, runner } = await made()
    const id = await add({ wait_until: 5 })
    expect(await approve(id)).toEqual({ message: `Job ${id} was approved`, changes: [] })
    expect(await row(id)).toMatchObject({
      status: 'running',
      dispatch: 'queued',
      runner_id: runner.id,
      approved_manifest: 'old folder',
    })
    expect(approvalOf(await row(id))).toMatchObject({
      state: 'approved',
      decided_by: 'ben',
      decided_at: NOW,
      forced: false,
      subject: ASKED,
    })
    expect(await outputOf(id)).toBe('Approved by ben at 1970-01-01T00:00:10.000Z\n')
    expect(told).toEqual(['changed jobs', `queued for ${runner.id}`])
  })

  test('is told to those whom the form names', async () => {
    const { add, approve, reject, events } = await made()
    await approve(await add({ notifications: told('approve') }))
    await reject(await add({ notifications: told('reject') }))
    expect(await events()).toEqual(['approve', 'reject'])
  })

  test('needs the right to give it, and a job', async () => {
    const { add, approve, reject, row, told } = await made()
    const id = await add()
    expect(await approve(id, false, cem)).toBe('not_an_approver')
    expect(await reject(id, cem)).toBe('not_an_approver')
    expect(await approve(99)).toBe('job_not_found')
    expect(await reject(99)).toBe('job_not_found')
    expect((await row(id)).status).toBe('approve')
    expect(told).toEqual([])
  })

  test('of other content than the one it was asked for is refused, unless it is meant', async () => {
    const { add, approve, row, state, outputOf, told } = await made()
    const id = await add()
    state.subject = { manifest_sha256: 'new folder', form_sha256: 'old form' }
    expect(await approve(id)).toBe('changed_since_asked')
    expect((await row(id)).status).toBe('approve')
    expect(told).toEqual([])
    const changes = ['the playbook folder (old folder → new folder)']
    expect(await approve(id, true)).toEqual({ message: `Job ${id} was approved`, changes })
    expect(approvalOf(await row(id))).toMatchObject({ forced: true, subject: state.subject })
    expect((await row(id)).approved_manifest).toBe('new folder')
    expect(await outputOf(id)).toContain(`[WARNING]: Changed since the approval was asked for: ${changes[0]}`)
  })

  test('of content that nobody can read is refused, also if it is meant', async () => {
    const { add, approve, state } = await made()
    const id = await add()
    state.subject = { manifest_sha256: null, form_sha256: 'old form' }
    expect(await approve(id)).toBe('playbook_folder')
    expect(await approve(id, true)).toBe('playbook_folder')
  })

  test('of a job that does not wait any more is refused without a look at its content', async () => {
    const { add, approve, reject, state, told } = await made()
    const past = JSON.stringify(decided(approval(), 'approved', ben, 1))
    const id = await add({ status: 'running', dispatch: 'queued', approval: past })
    const sequence = await add({ ...PARENT, status: 'running', dispatch: 'driven', approval: past })
    state.subject = { manifest_sha256: null, form_sha256: null }
    expect([await approve(id), await approve(sequence), await reject(id)]).toEqual(Array(3).fill('not_waiting'))
    expect(told).toEqual([])
  })

  test.each<[string, object]>([
    ['was decided meanwhile', { status: 'rejected', dispatch: 'done' }],
    ['was asked for anew meanwhile', { approval: JSON.stringify({ ...approval(), title: 'once more' }) }],
  ])('that %s is not taken', async (_, changes) => {
    const { add, approve, reject, state, queries, row, told, outputOf } = await made()
    for (const act of [approve, reject]) {
      const id = await add()
      state.meanwhile = () => queries.updateTable('job').set(changes).where('id', '=', id).execute()
      expect(await act(id)).toBe('not_waiting')
      expect(await row(id)).toMatchObject(changes)
      expect(await outputOf(id)).toBe('')
    }
    expect(told).toEqual([])
  })
})

describe('an approved job whose launch is not allowed any more fails at once', () => {
  test.each<[string, Partial<AccountGrant>, string]>([
    ['account blocked', { account: 'blocked' }, 'The account of ann, who launched this job, is blocked'],
    ['account deleted', { account: 'none' }, 'The account of ann, who launched this job, was deleted'],
    ['runner not allowed', { allowedRunners: ['other'] }, "do not allow jobs on the runner 'one' any more"],
    ['credential not allowed', { allowedCredentials: ['other'] }, "do not allow the credential 'db login' any more"],
  ])('%s', async (_, launcher, reason) => {
    const { add, approve, state, row, told } = await made()
    const id = await add({ credentials: JSON.stringify({ db: 'db login' }) })
    Object.assign(state.launcher, launcher)
    expect(await approve(id)).toMatchObject({ message: expect.stringContaining('failed at once') as string })
    expect(await row(id)).toMatchObject({ status: 'failed', dispatch: 'done' })
    expect((await row(id)).status_reason).toContain(reason)
    expect(told).toEqual(['changed jobs'])
  })

  test.each<[string, Partial<AccountGrant>]>([
    ['the runner is among those of the roles', { allowedRunners: ['one'], allowedCredentials: ['db.*'] }],
    ['an admin launched it', { isAdmin: true, allowedRunners: ['other'], allowedCredentials: [] }],
  ])('but not when %s', async (_, launcher) => {
    const { add, approve, state, row } = await made()
    const id = await add({ credentials: JSON.stringify({ db: 'db login' }) })
    Object.assign(state.launcher, launcher)
    await approve(id)
    expect((await row(id)).status).toBe('running')
  })

  test.each<[string, object, string]>([
    ['turned off', { enabled: 0 }, "The runner 'one' is turned off"],
    ['renamed away and gone', { name: 'elsewhere', id: 77 }, "The runner 'one' of this job was deleted"],
  ])('runner %s', async (_, columns, reason) => {
    const { add, approve, queries, row } = await made()
    const id = await add()
    await queries.updateTable('runner').set(columns).execute()
    await approve(id)
    expect(await row(id)).toMatchObject({ status: 'failed', status_reason: reason })
  })

  test.each<[string, Partial<NewJob>, string]>([
    ['that never had a row', { runner_id: null }, 'running'],
    ['that has another row by now', { runner_id: 77 }, 'running'],
    ['that nobody named', { runner_id: null, runner_name: null }, 'failed'],
  ])('and goes to the runner of its name, %s', async (_, changes, status) => {
    const { add, approve, row, runner } = await made()
    const id = await add(changes)
    await approve(id)
    expect(await row(id)).toMatchObject({ status, ...(status === 'running' ? { runner_id: runner.id } : {}) })
  })

  test('and goes to its own runner, whatever that is called now', async () => {
    const { add, approve, row, queries, runner } = await made()
    const columns: object = { name: 'renamed' }
    await queries.updateTable('runner').set(columns).execute()
    await insertRunner(queries, { ...RUNNER_ROW, fingerprint: 'other' })
    const id = await add()
    await approve(id)
    expect((await row(id)).runner_id).toBe(runner.id)
  })
})

describe('an approved job of a group', () => {
  const group = { concurrency_group: 'g', concurrency_limit: 1 }

  test('gets a place, or waits for one', async () => {
    const { add, approve, row, told, runner, outputOf } = await made()
    const first = await add(group)
    const second = await add(group)
    await approve(first)
    expect(await row(first)).toMatchObject({ dispatch: 'queued', has_place: 1 })
    expect(told.splice(0)).toEqual(['changed jobs', `queued for ${runner.id}`])
    await approve(second)
    expect(await row(second)).toMatchObject({ status: 'running', dispatch: 'parked' })
    expect(await outputOf(second)).toContain('Waiting for a place')
    expect(told).toEqual(['changed jobs'])
  })

  test('that fails at once takes no place', async () => {
    const { add, approve, row, state } = await made()
    const id = await add(group)
    Object.assign(state.launcher, { account: 'none' })
    await approve(id)
    expect(await row(id)).toMatchObject({ status: 'failed', has_place: 0 })
  })

  test('is a parent job, which is driven from its place on', async () => {
    const { add, approve, row, told } = await made()
    const first = await add({ ...PARENT, ...group })
    const second = await add({ ...PARENT, ...group })
    await approve(first)
    expect(await row(first)).toMatchObject({ dispatch: 'driven', has_place: 1, approved_manifest: 'old folder' })
    expect(told.splice(0)).toEqual(['changed jobs', `advance ${first}`])
    await approve(second)
    expect(await row(second)).toMatchObject({ dispatch: 'parked', has_place: 0 })
    expect(told).toEqual(['changed jobs'])
  })

  test('is a parent job that keeps its place while a node waits', async () => {
    const { add, approve, row, told } = await made()
    const id = await add({ ...PARENT, ...group, has_place: 1, step: 'node 1' })
    await approve(id)
    expect(await row(id)).toMatchObject({ status: 'running', dispatch: 'driven', has_place: 1 })
    expect(told).toEqual([`decision of ${id} node 1: approved`, 'changed jobs', `advance ${id}`])
  })
})

test('an approved parent job without a group goes on at once', async () => {
  const { add, approve, row, told } = await made()
  const id = await add(PARENT)
  expect(await approve(id)).toMatchObject({ message: `Job ${id} was approved` })
  expect(await row(id)).toMatchObject({ status: 'running', dispatch: 'driven' })
  expect(told).toEqual(['changed jobs', `advance ${id}`])
})

describe('a rejection', () => {
  test('ends the job, and says who rejected it', async () => {
    const { add, reject, row, told, outputOf } = await made()
    const id = await add()
    expect(await reject(id)).toBe(`Job ${id} was rejected`)
    expect(await row(id)).toMatchObject({
      status: 'rejected',
      dispatch: 'done',
      end_time: NOW,
      status_reason: 'rejected by ben',
    })
    expect(approvalOf(await row(id))).toMatchObject({ state: 'rejected', decided_by: 'ben', subject: ASKED })
    expect(await outputOf(id)).toBe('[WARNING]: Rejected by ben at 1970-01-01T00:00:10.000Z\n')
    expect(told).toEqual([`closed ${id}: rejected by ben`, 'changed jobs'])
  })

  test('of a step makes its parent job look on', async () => {
    const { add, reject, told } = await made()
    const parent = await add({ ...PARENT, status: 'running', dispatch: 'driven', approval: null })
    const id = await add({ parent_id: parent })
    await reject(id)
    expect(told).toEqual([`closed ${id}: rejected by ben`, 'changed jobs', `advance ${parent}`])
  })

  test.each([
    ['ends with it', true],
    ['goes on after it', false],
  ])('of a node is stored in its parent job, which %s', async (_, ends) => {
    const { add, reject, row, told, state } = await made()
    state.endsWithRejection = ends
    const id = await add({ ...PARENT, step: 'node 1' })
    await reject(id)
    expect(await row(id)).toMatchObject(
      ends ? { status: 'rejected', dispatch: 'done' } : { status: 'running', dispatch: 'driven', end_time: null },
    )
    const decision = `decision of ${id} node 1: rejected`
    expect(told).toEqual(
      ends ? [decision, `closed ${id}: rejected by ben`, 'changed jobs'] : [decision, 'changed jobs', `advance ${id}`],
    )
  })

  test('of a whole job ends it, however its nodes would go on', async () => {
    const { add, reject, row, state } = await made()
    state.endsWithRejection = false
    const id = await add(PARENT)
    await reject(id)
    expect((await row(id)).status).toBe('rejected')
  })
})

test('a job that its runner has already was approved before: it runs, has a place, and says why', async () => {
  const { add, row, outputOf, queries } = await made()
  const id = await add()
  await approvedBefore(queries, { id, runner_name: 'one' }, NOW)
  expect(await row(id)).toMatchObject({ status: 'running', dispatch: 'queued', has_place: 1 })
  expect(approvalOf(await row(id))).toMatchObject({ state: 'approved', decided_by: null })
  expect(await outputOf(id)).toBe(
    "[WARNING]: The runner 'one' has this job already: this database was restored from a backup of before its approval\n",
  )
  const other = await add({ approval: null })
  await approvedBefore(queries, { id: other, runner_name: 'one' }, NOW)
  expect(await row(other)).toMatchObject({ status: 'running', approval: null })
})
