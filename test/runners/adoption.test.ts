import type { AgeLimit } from '@holdfast/host/age-limit'
import type { ResumedJob } from '@holdfast/protocol'
import { pino } from 'pino'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type OrphanMessage, takeOrphan } from '../../control-plane/src/runners/held/adoption.js'
import type { LiveEvents } from '../../control-plane/src/live/live-events.js'
import type { HeldJobs } from '../../control-plane/src/runners/held/held-jobs.js'
import { SessionOrphans } from '../../control-plane/src/runners/held/session-orphans.js'
import { answerInventory } from '../../control-plane/src/runners/held/spooled-jobs.js'
import type { RunnerConnection } from '../../control-plane/src/runners/socket/connection.js'
import { deleteJob, findJob, moveJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import { decideOrphan, listOrphans } from '../../control-plane/src/store/jobs/orphans.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { deleteUser, insertUser } from '../../control-plane/src/store/accounts/users.js'
import { before, removeOldEntries } from '../support/ages.js'
import { type HubFixture, startHub } from './hub-fixture.js'
import { queuedJob } from './queued-job.js'

/** What becomes of jobs that a runner has and the database does not know, as far as the database decides it. */
const RUN = 'a'.repeat(32)
const OTHER_SERVICE = `SHA256:${'x'.repeat(43)}`
const NOW = 1_900_000_000_000

let fixture: HubFixture
let store: Store
let runner: {
  readonly runnerId: number
  readonly runnerName: string
  readonly fingerprint: string
  keys: [string]
  readonly epoch: number
}

beforeEach(async () => {
  fixture = await startHub()
  store = fixture.store
  await (await fixture.approved('edge')).leave()
  const { id, fingerprint } = (await fixture.byName('edge')).runner
  runner = { runnerId: id, runnerName: 'edge', fingerprint, keys: [fingerprint], epoch: 1 }
})

afterEach(() => fixture.close())

const LISTED = { job_id: 7, run_id: RUN, output: 10, events: 20, ended: false }

async function verdict(listed: object = {}): Promise<ResumedJob | undefined> {
  const { answers } = await answerInventory({ store, clock: { now: () => NOW } }, runner, [{ ...LISTED, ...listed }])
  return answers[0]?.job
}

function described(changes: Partial<OrphanMessage> = {}): OrphanMessage {
  const launched = { user: 'Ada', user_type: 'local', time: NOW - 5000, masked: { secret: '********' } }
  return {
    type: 'orphan',
    job_id: 7,
    run_id: RUN,
    service: null,
    ended: false,
    description: {
      form: 'deploy',
      playbook: 'x.yml',
      extravars: { a: 1 },
      launched,
      manifest_sha256: 'b'.repeat(64),
      claimed_at: NOW - 4000,
    },
    ...changes,
  }
}

const take = (message: OrphanMessage) => store.write('test', (queries) => takeOrphan(queries, runner, message, NOW))

const remove = (id: number, endedBefore?: AgeLimit) =>
  store.write('test', (queries) =>
    deleteJob(queries, id, { time: NOW, ...(endedBefore === undefined ? {} : { endedBefore }) }),
  )

/** A job of the runner that people saw end, as `done` or only as given up. */
async function endedJob(dispatch: 'done' | 'claimed'): Promise<number> {
  return store.write('test', async (queries) => {
    const row = { ...queuedJob(runner.runnerId, RUN), dispatch, runner_key: runner.fingerprint }
    const id = await insertJob(queries, row)
    const to = dispatch === 'done' ? 'success' : 'abandoned'
    await moveJob(queries, id, { from: ['running'], to, time: 1, reason: null, changes: { end_time: 1 } })
    return id
  })
}

describe('a job that the database does not know', () => {
  test('is described, and gets a new row with a new number for the user that it names', async () => {
    const ada = await store.write('test', (queries) =>
      insertUser(queries, {
        username: 'ada',
        type: 'local',
        passwordHash: null,
        email: null,
        groups: [],
        enabled: true,
        createdAt: 1,
      }),
    )
    const taken = await store.write('test', (queries) => insertJob(queries, queuedJob(runner.runnerId, 'c'.repeat(32))))
    expect(await verdict({ job_id: taken })).toMatchObject({ verdict: 'unknown' })
    const { job } = await take(described({ job_id: taken }))
    expect(job).toMatchObject({ job_id: taken, run_id: RUN, verdict: 'continue', output: 0, events: 0, abort: false })
    expect(job.number).not.toBe(taken)
    expect(await findJob(store.read, job.number ?? 0)).toMatchObject({
      run_id: RUN,
      form: 'deploy',
      user_id: ada?.id,
      user_name: 'Ada',
      status: 'running',
      dispatch: 'claimed',
      start_time: NOW - 5000,
      adopted_at: NOW,
      runner_key: runner.fingerprint,
      extravars: JSON.stringify({ a: 1, secret: '********' }),
    })
    // Said twice, over another connection: the run is known now.
    expect((await take(described({ job_id: taken }))).job).toEqual(job)
    expect(await verdict({ job_id: taken })).toEqual(job)
  })

  test('belongs to nobody if a deleted account had the name before', async () => {
    const account = {
      username: 'ada',
      type: 'local' as const,
      passwordHash: null,
      email: null,
      groups: [],
      enabled: true,
      createdAt: 1,
    }
    const first = await store.write('test', (queries) => insertUser(queries, account))
    await store.write('test', (queries) => deleteUser(queries, first?.id ?? 0))
    await store.write('test', (queries) => insertUser(queries, account))
    const { job } = await take(described())
    expect(await findJob(store.read, job.number ?? 0)).toMatchObject({ user_id: null, user_name: 'Ada' })
  })

  test('belongs to nobody if there is no such user', async () => {
    const said = described()
    // The clock of its runner is ahead.
    const launched = { user: 'bob', user_type: 'ldap', time: NOW + 4000, masked: {} }
    const { job } = await take({ ...said, description: said.description && { ...said.description, launched } })
    expect(await findJob(store.read, job.number ?? job.job_id)).toMatchObject({
      user_id: null,
      user_name: 'bob',
      user_type: 'ldap',
      start_time: NOW,
    })
  })

  test('waits for an admin when its claim cannot be read', async () => {
    expect((await take(described({ description: null }))).job.verdict).toBe('unknown')
    await store.write('test', (queries) =>
      decideOrphan(queries, { runnerId: runner.runnerId, runId: RUN }, 'adopt', 'ann'),
    )
    const { job } = await take(described({ description: null }))
    expect(await findJob(store.read, job.number ?? job.job_id)).toMatchObject({ form: 'unknown', user_id: null })
    expect(await listOrphans(store.read)).toEqual([])
  })
})

test('a job may be described only on a connection that has listed it, and only until it is known', async () => {
  const sent: { type: string }[] = []
  const resumed: unknown[] = []
  const changed: string[] = []
  // What is used of these two parts.
  const connection = { ...runner } as unknown as RunnerConnection
  const held = { hasRun: () => false, resume: (ref: unknown) => resumed.push(ref), sayFull: () => undefined }
  const orphans = new SessionOrphans(connection, held as unknown as HeldJobs, {
    store,
    clock: { now: () => NOW },
    log: pino({ enabled: false }),
    live: { changed: (topic: string) => void changed.push(topic) } as unknown as LiveEvents,
    send: (message) => void sent.push(message),
  })
  const notYours = { reason: 'not_yours' }
  await expect(orphans.take(described())).rejects.toMatchObject(notYours)
  orphans.listed([
    { job_id: 7, run_id: RUN, verdict: 'unknown', output: 0, events: 0, abort: false },
    { job_id: 8, run_id: 'd'.repeat(32), verdict: 'continue', output: 0, events: 0, abort: false },
  ])
  await expect(orphans.take(described({ job_id: 8, run_id: 'd'.repeat(32) }))).rejects.toMatchObject(notYours)

  // It waits for an admin, who ends it, but then has it adopted: then the agent describes it once more.
  await orphans.take(described({ description: null }))
  expect([sent.map(({ type }) => type), resumed]).toEqual([['resume'], []])
  for (const decision of ['end', 'adopt'] as const) {
    await store.write('test', (queries) =>
      decideOrphan(queries, { runnerId: runner.runnerId, runId: RUN }, decision, 'ann'),
    )
    await orphans.carryOut()
    await orphans.carryOut()
  }
  expect(sent.slice(1)).toEqual([
    { type: 'abort', job_id: 7, run_id: RUN },
    { type: 'adopt', job_id: 7, run_id: RUN },
  ])
  await orphans.take(described())
  expect([resumed.length, sent.length]).toEqual([1, 4])
  await expect(orphans.take(described())).rejects.toMatchObject(notYours)
  expect(new Set(changed)).toEqual(new Set(['runners', 'jobs']))
})

test('a job of another control plane waits, also if the database knows it, and is not ended as missing', async () => {
  const id = await store.write('test', (queries) =>
    insertJob(queries, { ...queuedJob(runner.runnerId, RUN), dispatch: 'claimed', runner_key: runner.fingerprint }),
  )
  expect(await verdict({ job_id: id, service: OTHER_SERVICE })).toMatchObject({ verdict: 'unknown' })
  expect((await take(described({ job_id: id, service: OTHER_SERVICE }))).job.verdict).toBe('unknown')
  expect(await findJob(store.read, id)).toMatchObject({ status: 'running', dispatch: 'claimed' })
  expect(await listOrphans(store.read)).toMatchObject([
    { reason: 'other_service', service: OTHER_SERVICE, form: 'deploy' },
  ])
  // It was taken over: it goes on in the row that it has.
  expect((await take(described({ job_id: id }))).job).toMatchObject({ job_id: id, verdict: 'continue' })
  expect(await listOrphans(store.read)).toEqual([])
})

describe('a deleted job', () => {
  test('whose end was stored gets no new row', async () => {
    await remove(await endedJob('done'))
    expect(await verdict()).toMatchObject({ verdict: 'stored' })
    expect((await take(described())).job.verdict).toBe('stored')
  })

  test('that a person deleted before its runner was back has to be forgotten', async () => {
    await remove(await endedJob('claimed'))
    expect(await verdict()).toMatchObject({ verdict: 'forget' })
    for (const [days, known] of [[60, 'forget'] as const, [1000, 'unknown'] as const]) {
      await removeOldEntries(store, { now: () => NOW + days * 86_400_000 })
      expect(await verdict()).toMatchObject({ verdict: known })
    }
  })

  test('that was deleted only for its age is adopted when its runner is back', async () => {
    await remove(await endedJob('claimed'), before(NOW))
    expect(await verdict()).toMatchObject({ verdict: 'unknown' })
  })
})
