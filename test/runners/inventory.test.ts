import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { SpooledJob } from '@holdfast/protocol'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createLiveEvents } from '../../control-plane/src/live/live-events.js'
import { takeOrphan } from '../../control-plane/src/runners/held/adoption.js'
import type { HeldJobs } from '../../control-plane/src/runners/held/held-jobs.js'
import { createOrphanActions } from '../../control-plane/src/runners/held/orphan-actions.js'
import { SessionOrphans, refOf } from '../../control-plane/src/runners/held/session-orphans.js'
import { answerInventory, takeBack } from '../../control-plane/src/runners/held/spooled-jobs.js'
import type { RunnerConnection } from '../../control-plane/src/runners/socket/connection.js'
import { readOutput } from '../../control-plane/src/store/jobs/job-output.js'
import { findJob, requestAbort } from '../../control-plane/src/store/jobs/jobs.js'
import { type NewJob, insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { decideOrphan, listOrphans, noteOrphan } from '../../control-plane/src/store/jobs/orphans.js'
import type { Runner } from '../../control-plane/src/store/runners/runners.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { insertTestRunner } from '../support/runner-rows.js'
import { openTestStore } from '../support/test-database.js'
import { queuedJob } from './queued-job.js'

/** What becomes of the jobs of a runner that has connected and listed what it has, as far as the database decides it. */
const RUN = 'a'.repeat(32)
const OTHER_RUN = 'b'.repeat(32)
const NOW = 1_900_000_000_000

let folder: string
let store: Store
let runner: Runner

beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-inventory-'))
  store = await openTestStore(folder)
  runner = await store.write('test', (queries) => insertTestRunner(queries, { name: 'edge' }))
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const spooled = (jobId: number, changes: Partial<SpooledJob> = {}): SpooledJob => ({
  job_id: jobId,
  run_id: RUN,
  output: 0,
  events: 0,
  ended: false,
  ...changes,
})

function listed(list: readonly SpooledJob[]) {
  const holder = { runnerId: runner.id, keys: [runner.fingerprint] as const, epoch: 4 }
  return answerInventory({ store, clock: { now: () => NOW } }, { ...holder, keys: [runner.fingerprint] }, list)
}

async function answersTo(list: readonly SpooledJob[]) {
  return (await listed(list)).answers
}

const addJob = (columns: Partial<NewJob> = {}) =>
  store.write('test', (queries) =>
    insertJob(queries, { ...queuedJob(runner.id, RUN), runner_key: runner.fingerprint, ...columns }),
  )
const setJob = (id: number, changes: object) =>
  store.write('test', (queries) => queries.updateTable('job').set(changes).where('id', '=', id).execute())
const job = (id: number) => findJob(store.read, id)
const orphan = (columns: object = {}) => ({
  runner_id: runner.id,
  run_id: RUN,
  job_number: 7,
  reason: 'no_description' as const,
  service: null,
  form: null,
  user_name: null,
  user_type: null,
  claimed_at: null,
  reported_at: 1,
  ended: 0,
  ...columns,
})

describe('a job that the runner has', () => {
  test.each([
    ['queued', 'running', 'continue', 'claimed'],
    ['offered', 'running', 'continue', 'claimed'],
    ['claimed', 'running', 'continue', 'claimed'],
    ['claimed', 'abandoned', 'continue', 'claimed'],
    ['claimed', 'failed', 'stored', 'claimed'],
    ['done', 'success', 'stored', 'done'],
    ['done', 'abandoned', 'stored', 'done'],
  ] as const)(
    'and is %s and %s here: its answer is %s, and it is %s from then on',
    async (from, status, verdict, to) => {
      const id = await addJob({ dispatch: from })
      await setJob(id, { status })
      const [answer, ...more] = await answersTo([spooled(id)])
      expect(more).toEqual([])
      expect(answer?.job).toEqual({ job_id: id, run_id: RUN, verdict, output: 0, events: 0, abort: false })
      expect(answer?.copy).toBeNull()
      expect(await job(id)).toMatchObject({ dispatch: to, status })
    },
  )

  test('goes on from what is stored, under its number here, and with its abort', async () => {
    const id = await addJob({ dispatch: 'claimed' })
    await store.write('test', async (queries) => {
      await requestAbort(queries, id, 'ann')
      const lengths = { output_length: 30, events_length: 40, events_count: 2, output_full: 1, events_full: 0 }
      await queries.updateTable('job_stream').set(lengths).where('job_id', '=', id).execute()
    })
    const [answer] = await answersTo([spooled(id + 50, { output: 99 })])
    expect(answer).toEqual({
      job: { job_id: id + 50, run_id: RUN, verdict: 'continue', output: 30, events: 40, abort: true, number: id },
      stored: { output: 30, events: 40, eventsCount: 2 },
      full: { output: true, events: false },
      copy: null,
    })
    expect(await job(id)).toMatchObject({ held_epoch: 4 })
  })

  test('of an older database gets the runner that has it', async () => {
    const id = await addJob({ dispatch: 'claimed', runner_key: null, runner_id: runner.id + 9 })
    await answersTo([spooled(id)])
    expect(await job(id)).toMatchObject({ runner_id: runner.id, runner_key: runner.fingerprint })
  })
})

describe('a job that the runner has not', () => {
  const LOST = "the runner 'seven' claimed the job and says that it has never heard of it"
  const GIVEN_UP = "given up on its way to the runner 'seven', which never started it"
  test.each([
    ['claimed', {}, { status: 'failed', dispatch: 'done' }, LOST],
    ['offered', {}, { status: 'running', dispatch: 'queued' }, null],
    ['offered', { status: 'abandoned' }, { status: 'failed', dispatch: 'done' }, GIVEN_UP],
    ['offered', { abort_requested: 1, abort_requested_by: 'ann' }, { status: 'aborted', dispatch: 'done' }, 'ann'],
  ] as const)(
    'and is %s with %o here is asked for, and the answer decides',
    async (dispatch, changes, after, reason) => {
      const id = await addJob({ dispatch })
      await setJob(id, { runner_name: 'seven', ...changes })
      expect(await listed([])).toEqual({ answers: [], missing: [{ job_id: id, run_id: RUN }] })
      expect(await job(id)).toMatchObject({ dispatch })
      await store.write('test', (queries) => takeBack(queries, runner.fingerprint, { job_id: id, run_id: RUN }, NOW))
      const found = await job(id)
      expect(found).toMatchObject(after)
      if (reason === null) expect(found?.status_reason).toBeNull()
      else expect(found?.status_reason).toContain(reason)
    },
  )

  test('and waits in the queue stays there', async () => {
    const id = await addJob({ dispatch: 'queued' })
    expect(await listed([])).toEqual({ answers: [], missing: [] })
    expect(await job(id)).toMatchObject({ status: 'running', dispatch: 'queued' })
  })

  test('and refused or never heard of goes back to its place, and one of another runner does not', async () => {
    const id = await addJob({ dispatch: 'offered' })
    const back = (key: string) =>
      store.write('test', (queries) => takeBack(queries, key, { job_id: id, run_id: RUN }, NOW))
    await back('SHA256:another')
    expect((await job(id))?.dispatch).toBe('offered')
    await back(runner.fingerprint)
    expect((await job(id))?.dispatch).toBe('queued')
  })
})

describe('a job that waits for an admin', () => {
  test('because it is another runner’s here', async () => {
    const id = await addJob({ dispatch: 'claimed', runner_key: 'SHA256:another' })
    const [answer] = await answersTo([spooled(id, { output: 5, events: 6, ended: true })])
    expect(answer?.job.verdict).toBe('unknown')
    expect(await job(id)).toMatchObject({ status: 'running', dispatch: 'claimed', held_epoch: null })
    expect(await listOrphans(store.read)).toMatchObject([
      { reason: 'other_runner', jobNumber: id, ended: true, outputBytes: 5, eventsBytes: 6, service: null },
    ])
  })

  test('because it is of another control plane, counts as claimed where it is known, and is not offered', async () => {
    const id = await addJob({ dispatch: 'offered' })
    const [answer] = await answersTo([spooled(id, { service: 'SHA256:other' })])
    expect(answer?.job.verdict).toBe('unknown')
    expect((await job(id))?.dispatch).toBe('claimed')
    expect(await listOrphans(store.read)).toMatchObject([{ reason: 'other_service', ended: false }])
  })

  test('not while its agent has not described it', async () => {
    const answers = await answersTo([spooled(7)])
    expect(answers.map((answer) => answer.job.verdict)).toEqual(['unknown'])
    expect(await listOrphans(store.read)).toEqual([])
  })

  test('no longer waits when the runner does not list it any more', async () => {
    await store.write('test', async (queries) => {
      await noteOrphan(queries, orphan())
      await noteOrphan(queries, orphan({ run_id: OTHER_RUN }))
    })
    await answersTo([spooled(7)])
    expect((await listOrphans(store.read)).map(({ runId }) => runId)).toEqual([RUN])
  })

  test('is forgotten when an admin decided that, whoever described it', async () => {
    await store.write('test', async (queries) => {
      await noteOrphan(queries, orphan())
      await decideOrphan(queries, { runnerId: runner.id, runId: RUN }, 'forget', 'ann')
    })
    expect((await answersTo([spooled(7)]))[0]?.job).toMatchObject({ verdict: 'forget' })
    const described = {
      type: 'orphan',
      job_id: 7,
      run_id: RUN,
      service: null,
      ended: false,
      description: null,
    } as const
    const asking = { runnerId: runner.id, runnerName: 'edge', fingerprint: runner.fingerprint, epoch: 1 }
    const { job: answer } = await store.write('test', (queries) =>
      takeOrphan(queries, { ...asking, keys: [runner.fingerprint] }, described, NOW),
    )
    expect(answer).toMatchObject({ verdict: 'forget' })
  })
})

describe('describing an unknown job', () => {
  const DESCRIPTION = {
    form: 'deploy',
    playbook: 'x.yml',
    extravars: { a: 1 },
    launched: { user: 'ann', user_type: 'local', time: NOW - 5000, masked: {} },
    manifest_sha256: 'b'.repeat(64),
    claimed_at: NOW - 4000,
  }
  const described = {
    type: 'orphan',
    job_id: 7,
    run_id: RUN,
    service: null,
    ended: false,
    description: DESCRIPTION,
  } as const
  type Message = Parameters<typeof takeOrphan>[2]

  const adopted = async (message: Message) => {
    const asking = { runnerId: runner.id, runnerName: 'edge', fingerprint: runner.fingerprint, epoch: 1 }
    const { job: answer } = await store.write('test', (queries) =>
      takeOrphan(queries, { ...asking, keys: [runner.fingerprint] }, message, NOW),
    )
    return job(answer.number ?? answer.job_id)
  }

  test.each([
    ['that names a user', { user: 'Ada', user_type: 'ldap', time: NOW - 9, masked: {} }, 'Ada', 'ldap'],
    ['that names an unknown type of user', { user: 'Ada', user_type: 'x', time: 1, masked: {} }, 'unknown', 'local'],
  ])('%s', async (_, launched, name, type) => {
    const found = await adopted({ ...described, description: { ...DESCRIPTION, launched } })
    expect(found).toMatchObject({ user_id: null, user_name: name, user_type: type, form: 'deploy', status: 'running' })
  })

  test('it cannot have begun in the future, and its output says that it was adopted', async () => {
    const found = await adopted({
      ...described,
      description: { ...DESCRIPTION, launched: { ...DESCRIPTION.launched, time: NOW + 5000 } },
    })
    expect(found).toMatchObject({
      start_time: NOW,
      adopted_at: NOW,
      runner_name: 'edge',
      runner_key: runner.fingerprint,
    })
    const pieces: Buffer[] = []
    for await (const piece of readOutput(store.read, found?.id ?? 0, 0)) pieces.push(piece)
    expect(Buffer.concat(pieces).toString()).toContain('This job was adopted from its runner')
  })
})

describe('what admins decide', () => {
  function actions() {
    const told: (number | string)[] = []
    const live = createLiveEvents()
    live.subscribe((name) => told.push(name))
    const all = createOrphanActions({
      store,
      live,
      log: pino({ level: 'silent' }),
      decided: (id) => void told.push(id),
    })
    return { all, told }
  }
  const note = (columns: object = {}) => store.write('test', (queries) => noteOrphan(queries, orphan(columns)))

  test('is stored for the job of that runner, and the runner and the pages hear of it', async () => {
    await note()
    const { all, told } = actions()
    await all.decide(runner.id, RUN, 'end', 'ann')
    expect(await all.list()).toMatchObject([{ runnerName: 'edge', orphan: { runId: RUN, decision: 'end' } }])
    expect(told).toEqual([runner.id, 'runners'])
  })

  test('is refused for a job that does not wait, and for one of another runner', async () => {
    const { all, told } = actions()
    await note({ run_id: OTHER_RUN })
    for (const [id, run] of [
      [runner.id, RUN],
      [runner.id + 9, OTHER_RUN],
    ] as const) {
      await expect(all.decide(id, run, 'end', 'ann')).rejects.toMatchObject({ code: 'no_such_orphan' })
    }
    expect([told, await all.list()]).toMatchObject([[], [{ orphan: { decision: null } }]])
  })

  test('is refused when the job is to be adopted and is another runner’s', async () => {
    const { all } = actions()
    await note({ reason: 'other_runner' })
    await expect(all.decide(runner.id, RUN, 'adopt', 'ann')).rejects.toMatchObject({ code: 'orphan_of_another' })
    for (const decision of ['end', 'forget'] as const) {
      await all.decide(runner.id, RUN, decision, 'ann')
      expect((await listOrphans(store.read)).map((one) => one.decision)).toEqual([decision])
    }
    await note({ run_id: OTHER_RUN })
    await all.decide(runner.id, OTHER_RUN, 'adopt', 'ann')
    expect((await listOrphans(store.read)).map(({ decision }) => decision)).toEqual(['forget', 'adopt'])
  })

  test.each([
    ['end', 0, true, 'abort'],
    ['end', 1, true, null],
    ['forget', 0, false, 'forget'],
    ['forget', 1, true, 'forget'],
    ['adopt', 0, true, 'adopt'],
    ['adopt', 0, false, null],
  ] as const)('reaches the agent: %s, ended %d, listed %s', async (decision, ended, isListed, type) => {
    const sent: object[] = []
    const raised: string[] = []
    const live = createLiveEvents()
    live.subscribe((name) => raised.push(name))
    const connection = { runnerId: runner.id, runnerName: 'edge' } as unknown as RunnerConnection
    const orphans = new SessionOrphans(connection, {} as unknown as HeldJobs, {
      store,
      clock: { now: () => NOW },
      live,
      log: pino({ level: 'silent' }),
      send: (message) => void sent.push(message),
    })
    const answer = { job_id: 7, run_id: RUN, verdict: 'unknown', output: 0, events: 0, abort: false } as const
    orphans.listed(isListed ? [answer] : [{ ...answer, verdict: 'stored' }])
    expect(raised).toEqual(['runners'])
    await note({ ended })
    await note({ run_id: OTHER_RUN })
    await orphans.carryOut()
    expect(sent).toEqual([])
    await store.write('test', (queries) => decideOrphan(queries, { runnerId: runner.id, runId: RUN }, decision, 'ann'))
    for (const _look of [1, 2]) await orphans.carryOut()
    expect(sent).toEqual(type === null ? [] : [{ type, job_id: 7, run_id: RUN }])
    // The agent has removed everything of it.
    raised.length = 0
    for (const _time of [1, 2]) await orphans.gone(RUN)
    expect(raised).toEqual(isListed ? ['runners'] : [])
    expect((await listOrphans(store.read)).map(({ runId }) => runId)).toEqual(isListed ? [OTHER_RUN] : [RUN, OTHER_RUN])
  })

  test('a job is named by its number here, and by that of its runner where it is the same', () => {
    const answer = { job_id: 7, run_id: RUN, verdict: 'continue', output: 0, events: 0, abort: false } as const
    expect(refOf(answer)).toEqual({ job_id: 7, run_id: RUN })
    expect(refOf({ ...answer, number: 9 })).toEqual({ job_id: 9, run_id: RUN })
  })
})
