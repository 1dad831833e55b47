import pino from 'pino'
import { describe, expect, test } from 'vitest'
import { SOLE_NODE } from '../../../control-plane/src/nodes/nodes.js'
import { createDispatchSweep } from '../../../control-plane/src/runners/dispatch/dispatch-sweep.js'
import type { JobSession } from '../../../control-plane/src/runners/dispatch/job-session.js'
import { createLastSeen } from '../../../control-plane/src/runners/dispatch/last-seen.js'
import { abandonHeld } from '../../../control-plane/src/runners/dispatch/silence.js'
import { setWaitUntil } from '../../../control-plane/src/store/jobs/dispatch.js'
import { findJob } from '../../../control-plane/src/store/jobs/jobs.js'
import { readOutput } from '../../../control-plane/src/store/jobs/job-output.js'
import { decideOrphan, noteOrphan } from '../../../control-plane/src/store/jobs/orphans.js'
import { type NewJob, insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { type Runner, deleteRunner, insertRunner } from '../../../control-plane/src/store/runners/runners.js'
import { SERVICE_CLOCK_ORIGIN } from '../../../control-plane/src/store/migrations/001-initial/service.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { AMPLE } from '../../support/ample-limits.js'
import { memoryDatabase } from '../../support/memory-database.js'
import { RUNNER_ROW } from '../../support/runner-row.js'

/** A look counts at most so much. */
const LOOK_MS = 2000
const LOST_MS = 90_000
const QUEUE_MS = 600_000
/** A runner that has been away for this long may cost a waiting job its life. */
const AWAY_MS = 60_000
const OTHER_NODE = 'other'

interface Given {
  readonly isShared?: boolean
  readonly queueMs?: number
  /** Why the runners that are connected here take no job. */
  readonly whyNotTaken?: string | null
}

async function made({ isShared = false, queueMs = QUEUE_MS, whyNotTaken = null }: Given = {}) {
  const queries = await memoryDatabase()
  /** What another node does between what this one has read and what it writes. */
  const meanwhile: (() => Promise<unknown>)[] = []
  const store = {
    read: queries,
    async write(_: string, task: (queries: Queries) => unknown) {
      for (const act of meanwhile.splice(0)) await act()
      return task(queries)
    },
  }
  const told: string[] = []
  const sessions = new Map<number, JobSession>()
  const steady = { ms: 0, now: () => steady.ms }
  const lastSeen = createLastSeen(steady, LOST_MS)
  const time = { ms: SERVICE_CLOCK_ORIGIN, looks: 0, fails: false }
  let runs = 0
  const sweep = createDispatchSweep({
    store: store as unknown as Store,
    clock: { now: () => 1_000_000 },
    live: { changed: (name) => void told.push(`changed ${name}`), subscribe: () => () => undefined },
    ends: { jobEnded: () => void told.push('a job has ended') } as never,
    log: pino({ level: 'silent' }),
    steady,
    nodes: { ...SOLE_NODE, isShared, isAlive: (id) => id === OTHER_NODE },
    serviceClock: {
      look() {
        time.looks += 1
        return time.fails ? Promise.reject(new Error('no database')) : Promise.resolve(time.ms)
      },
    },
    lastSeen,
    sessions,
    lostMs: LOST_MS,
    queueMs,
    outputLimitBytes: 1000,
    limits: AMPLE,
    sealSecrets: () => Promise.resolve(null),
    uploads: { path: '/uploads', read: () => Promise.resolve(null) },
    files: { manifest: () => Promise.reject(new Error('not asked for')), open: () => Promise.resolve(null) },
  })
  const row = async (id: number) => {
    const job = await findJob(queries, id)
    if (!job) throw new Error(`there is no job ${id}`)
    return job
  }
  return {
    queries,
    store: store as unknown as Store,
    meanwhile,
    told,
    time,
    steady,
    lastSeen,
    sweep,
    addRunner: (changes: Partial<Parameters<typeof insertRunner>[1]> = {}): Promise<Runner> =>
      insertRunner(queries, { ...RUNNER_ROW, ...changes }),
    addJob: (runnerId: number, changes: Partial<NewJob> = {}): Promise<number> =>
      insertJob(queries, { ...queuedJob(runnerId, String((runs += 1)).padStart(32, '0')), ...changes }),
    /** The runner is connected to this node. */
    connect(runnerId: number) {
      const note = (text: string) => void told.push(`${runnerId}: ${text}`)
      sessions.set(runnerId, {
        checkOffers: () => note('check offers'),
        checkOffered: (ids: readonly number[]) => note(`offered ${ids.join(' ')}`),
        offer: () => note('offer'),
        orphansDecided: () => note('decided'),
        abort: (id: number) => note(`abort ${id}`),
        whyNotTaken,
      } as unknown as JobSession)
    },
    disconnect: (runnerId: number) => sessions.delete(runnerId),
    statusOf: async (id: number) => (await row(id)).status,
    reasonOf: async (id: number) => (await row(id)).status_reason,
    async outputOf(id: number) {
      let text = ''
      for await (const piece of readOutput(queries, id, 0)) text += piece.toString()
      return text
    },
    waitUntil: async (id: number) =>
      (await queries.selectFrom('job').select('wait_until').where('id', '=', id).executeTakeFirstOrThrow()).wait_until,
    /** One look after another, until so much time has passed. */
    async pass(ms: number) {
      for (let passed = 0; passed < ms; passed += LOOK_MS) {
        steady.ms += Math.min(LOOK_MS, ms - passed)
        await sweep.sweep()
      }
    },
  }
}

describe('a look at the sessions of this node', () => {
  test('checks the offers of each, with the jobs that the database has as offered to its runner', async () => {
    const { sweep, told, addRunner, addJob, connect } = await made()
    const one = await addRunner()
    const two = await addRunner({ name: 'two', fingerprint: 'g' })
    const ids = [await addJob(one.id, { dispatch: 'offered' }), await addJob(one.id, { dispatch: 'offered' })]
    connect(one.id)
    connect(two.id)
    await sweep.sweep()
    const expected = ['check offers', `offered ${ids.join(' ')}`].map((text) => `${one.id}: ${text}`)
    expect(told.toSorted()).toEqual([...expected, `${two.id}: check offers`, `${two.id}: offered `].toSorted())
  })

  test('passes on the aborts of other nodes to the runners that are here', async () => {
    const { sweep, told, addRunner, addJob, connect } = await made({ isShared: true })
    const one = await addRunner()
    const two = await addRunner({ name: 'two', fingerprint: 'g' })
    const asked = { dispatch: 'claimed', abort_requested: 1 } as const
    const id = await addJob(one.id, asked)
    await addJob(two.id, asked)
    await addJob(one.id, { ...asked, runner_id: null })
    connect(one.id)
    await sweep.sweep()
    expect(told.filter((text) => text.includes('abort'))).toEqual([`${one.id}: abort ${id}`])
  })

  test.each([
    ['hear what other nodes have stored of the decisions about unknown jobs', true],
    ['have nothing to hear of other nodes where there are none', false],
  ])('runners that are here %s', async (_, isShared) => {
    const { sweep, told, addRunner, connect, queries } = await made({ isShared })
    const one = await addRunner()
    const two = await addRunner({ name: 'two', fingerprint: 'g' })
    const unknown = { service: null, form: null, user_name: null, user_type: null, claimed_at: null, reported_at: 1 }
    const orphan = { ...unknown, run_id: 'b'.repeat(32), job_number: 5, reason: 'other_service', ended: 0 } as const
    for (const { id } of [one, two]) await noteOrphan(queries, { ...orphan, runner_id: id })
    await decideOrphan(queries, { runnerId: one.id, runId: orphan.run_id }, 'end', 'root')
    connect(one.id)
    connect(two.id)
    await sweep.sweep()
    expect(told.filter((text) => text.includes('decided'))).toEqual(isShared ? [`${one.id}: decided`] : [])
  })

  test('asks the database nothing about offers while no runner is connected here', async () => {
    const { sweep, queries, told } = await made({ isShared: true })
    await queries.schema.dropTable('orphan').execute()
    await sweep.sweep()
    expect(told).toEqual([])
  })
})

describe('the job that waits for a runner', () => {
  test('is offered by the session of a runner that is here, and nothing is written into its output', async () => {
    const { sweep, told, addRunner, addJob, connect, outputOf } = await made()
    const { id } = await addRunner()
    const job = await addJob(id)
    connect(id)
    await sweep.sweep()
    expect(told).toContain(`${id}: offer`)
    expect(await outputOf(job)).toBe('')
  })

  test('is left to the node with the runner', async () => {
    const { sweep, told, time, addRunner, addJob, outputOf, statusOf, pass } = await made({ isShared: true })
    const { id } = await addRunner({ connected_node: OTHER_NODE })
    const job = await addJob(id, { wait_until: SERVICE_CLOCK_ORIGIN })
    const silent = await addJob(id)
    time.ms += 1
    await pass(AWAY_MS)
    await sweep.reportOffline(id)
    expect(told).toEqual([])
    expect(await outputOf(silent)).toBe('')
    expect(await statusOf(job)).toBe('running')
  })

  test('says once that its runner is not connected, and its time begins', async () => {
    const { sweep, told, time, addRunner, addJob, outputOf, waitUntil } = await made()
    const { id } = await addRunner()
    const job = await addJob(id)
    await sweep.sweep()
    expect(await outputOf(job)).toContain('Waiting for runner one, which is not connected')
    expect(told).toEqual(['changed jobs'])
    const first = await outputOf(job)
    const until = await waitUntil(job)
    expect(until).toBe(SERVICE_CLOCK_ORIGIN + QUEUE_MS)
    time.ms += 5
    await sweep.sweep()
    expect(await outputOf(job)).toBe(first)
    expect(await waitUntil(job)).toBe(until)
    expect(told).toEqual(['changed jobs'])
  })

  test('gets one line when another node writes it at the same time, which also tells the pages', async () => {
    const { sweep, told, addRunner, addJob, outputOf, meanwhile, queries } = await made({ isShared: true })
    const { id } = await addRunner()
    const job = await addJob(id)
    meanwhile.push(() => setWaitUntil(queries, job, SERVICE_CLOCK_ORIGIN + 1))
    await sweep.sweep()
    expect(await outputOf(job)).toBe('')
    expect(told).toEqual([])
  })

  test('of a runner that was deleted, or is unknown, gets no line', async () => {
    const { sweep, told } = await made()
    await sweep.reportOffline(99)
    expect(told).toEqual([])
  })

  test.each<[string, object, string]>([
    ['turned off', { enabled: 0 }, "The runner 'one' is turned off"],
    ['not approved', { state: 'revoked' }, "The runner 'one' is not approved"],
  ])('fails at once when its runner is %s', async (_, changes, reason) => {
    const { sweep, told, addRunner, addJob, statusOf, reasonOf, connect } = await made()
    const { id } = await addRunner(changes)
    const job = await addJob(id)
    connect(id)
    await sweep.sweep()
    expect(await statusOf(job)).toBe('failed')
    expect(await reasonOf(job)).toBe(reason)
    expect(told).not.toContain(`${id}: offer`)
    expect(told.slice(-2)).toEqual(['changed jobs', 'a job has ended'])
  })

  test('fails at once when its runner was deleted', async () => {
    const { sweep, addJob, statusOf, reasonOf } = await made()
    const job = await addJob(99)
    await sweep.sweep()
    expect(await statusOf(job)).toBe('failed')
    expect(await reasonOf(job)).toBe('The runner of this job was deleted')
  })

  test('fails at the end of its wait for a runner that takes no jobs, and not a moment earlier', async () => {
    const { sweep, told, time, addRunner, addJob, connect, statusOf, reasonOf } = await made({
      whyNotTaken: 'has no free slot',
    })
    const { id } = await addRunner()
    const job = await addJob(id, { wait_until: SERVICE_CLOCK_ORIGIN + 10 })
    const later = await addJob(id, { wait_until: SERVICE_CLOCK_ORIGIN + 11 })
    connect(id)
    time.ms += 9
    await sweep.sweep()
    expect(await statusOf(job)).toBe('running')
    expect(told).not.toContain('a job has ended')
    time.ms += 1
    await sweep.sweep()
    expect([await statusOf(job), await statusOf(later)]).toEqual(['failed', 'running'])
    expect(await reasonOf(job)).toBe(
      "the job waited 10 minutes (RTE_QUEUE_MINUTES) for the runner 'one', which has no free slot",
    )
    expect(told.slice(-2)).toEqual(['changed jobs', 'a job has ended'])
  })

  test('goes on waiting for a runner here that has no known reason', async () => {
    const { time, addRunner, addJob, connect, statusOf, pass } = await made()
    const { id } = await addRunner()
    const job = await addJob(id, { wait_until: SERVICE_CLOCK_ORIGIN })
    connect(id)
    time.ms += 1
    await pass(AWAY_MS + LOOK_MS)
    expect(await statusOf(job)).toBe('running')
  })

  test.each([
    ['1 minute', 60_000],
    ['2 minutes', 120_000],
  ])('says that it has waited %s', async (words, queueMs) => {
    const { sweep, addRunner, addJob, connect, reasonOf } = await made({ queueMs, whyNotTaken: 'drains' })
    const { id } = await addRunner()
    const job = await addJob(id, { wait_until: SERVICE_CLOCK_ORIGIN })
    connect(id)
    await sweep.sweep()
    expect(await reasonOf(job)).toBe(`the job waited ${words} (RTE_QUEUE_MINUTES) for the runner 'one', which drains`)
  })

  test.each([
    ['a minute', QUEUE_MS, AWAY_MS],
    ['the whole wait, when that is shorter', 30_000, 30_000],
  ])('fails for a runner that is away after %s of absence', async (_, queueMs, enough) => {
    const { sweep, addRunner, addJob, statusOf, reasonOf, pass } = await made({ queueMs })
    const { id } = await addRunner()
    const job = await addJob(id, { wait_until: SERVICE_CLOCK_ORIGIN })
    await sweep.sweep()
    await pass(enough - 1)
    expect(await statusOf(job)).toBe('running')
    await pass(1)
    expect(await statusOf(job)).toBe('failed')
    expect(await reasonOf(job)).toContain("for the runner 'one', which is not connected")
  })
})

describe('the service clock', () => {
  test.each<[string, boolean, boolean, number]>([
    ['somebody waits for a runner', true, true, 1],
    ['a runner with jobs is away', false, false, 1],
    ['nobody waits, and all runners with jobs are here', false, true, 0],
  ])('when %s', async (_, waits, isHere, looks) => {
    const { sweep, time, addRunner, addJob, connect } = await made()
    const { id } = await addRunner()
    await addJob(id, { dispatch: waits ? 'queued' : 'claimed' })
    if (isHere) connect(id)
    await sweep.sweep()
    expect(time.looks).toBe(looks)
  })

  test('is not looked at while nobody has a job at all', async () => {
    const { sweep, time, addRunner } = await made()
    await addRunner()
    await sweep.sweep()
    expect(time.looks).toBe(0)
  })

  test('is not looked at for the jobs of a deleted runner', async () => {
    const { sweep, time, addJob } = await made()
    await addJob(99, { dispatch: 'claimed' })
    await sweep.sweep()
    expect(time.looks).toBe(0)
  })

  test('that cannot be moved lets nothing be decided', async () => {
    const { sweep, time, addRunner, addJob, statusOf } = await made()
    const { id } = await addRunner({ enabled: 0 })
    const job = await addJob(id)
    time.fails = true
    await expect(sweep.sweep()).rejects.toThrow('no database')
    expect(await statusOf(job)).toBe('running')
  })
})

describe('the job that a runner has', () => {
  test('is abandoned when its runner was silent for longer than the limit', async () => {
    const { sweep, told, addRunner, addJob, connect, disconnect, pass, statusOf, reasonOf } = await made()
    const { id } = await addRunner()
    const job = await addJob(id, { dispatch: 'claimed' })
    connect(id)
    await sweep.sweep()
    await pass(LOST_MS)
    expect(await statusOf(job)).toBe('running')
    disconnect(id)
    told.splice(0)
    await pass(LOST_MS)
    expect(await statusOf(job)).toBe('running')
    expect(told).toEqual([])
    await pass(1)
    expect(await statusOf(job)).toBe('abandoned')
    expect(await reasonOf(job)).toContain("the runner 'one' has been silent since 1970-01-01T00:15:09.999Z")
    expect(told).toEqual(['changed jobs', 'a job has ended'])
  })

  test('is left alone when its runner comes back before it is abandoned', async () => {
    const { sweep, addRunner, addJob, pass, steady, statusOf, meanwhile, queries } = await made({ isShared: true })
    const { id } = await addRunner()
    const job = await addJob(id, { dispatch: 'claimed' })
    await sweep.sweep()
    await pass(LOST_MS)
    steady.ms += 1
    meanwhile.push(() =>
      queries.updateTable('runner').set({ connected_node: OTHER_NODE }).where('id', '=', id).execute(),
    )
    await sweep.sweep()
    expect(await statusOf(job)).toBe('running')
  })

  test('is left alone while another node has the runner', async () => {
    const { addRunner, addJob, pass, statusOf, told } = await made({ isShared: true })
    const { id } = await addRunner({ connected_node: OTHER_NODE })
    const job = await addJob(id, { dispatch: 'claimed' })
    await pass(LOST_MS + LOOK_MS)
    expect(await statusOf(job)).toBe('running')
    expect(told).toEqual([])
  })

  test('is abandoned at once when its runner was deleted', async () => {
    const { sweep, addRunner, addJob, queries, statusOf, reasonOf } = await made()
    const { id } = await addRunner()
    const job = await addJob(id, { dispatch: 'claimed' })
    await deleteRunner(queries, id)
    await sweep.sweep()
    expect(await statusOf(job)).toBe('abandoned')
    expect(await reasonOf(job)).toBe('The runner of this job was deleted while it ran')
  })

  test('the silence of a runner counts anew when it has no job any more in between', async () => {
    const { sweep, addRunner, addJob, pass, queries, statusOf } = await made()
    const { id } = await addRunner()
    const first = await addJob(id, { dispatch: 'claimed' })
    await sweep.sweep()
    await pass(LOST_MS)
    await queries.updateTable('job').set({ dispatch: 'done', status: 'success' }).where('id', '=', first).execute()
    await pass(LOOK_MS)
    const second = await addJob(id, { dispatch: 'claimed' })
    await pass(LOST_MS)
    expect(await statusOf(second)).toBe('running')
  })

  test('is abandoned without a look at its runner when an admin revoked that', async () => {
    const { store, addRunner, addJob, statusOf, reasonOf, told } = await made()
    const { id } = await addRunner()
    const job = await addJob(id, { dispatch: 'claimed' })
    const live = { changed: (name: string) => void told.push(name), subscribe: () => () => undefined }
    await abandonHeld({ store, clock: { now: () => 5 }, live }, id, 'revoked')
    expect([await statusOf(job), await reasonOf(job)]).toEqual(['abandoned', expect.stringContaining('revoked')])
    expect(told).toEqual(['jobs'])
  })
})
