import { copyFileSync, existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { closeDatabase, databasePathOf, openDatabase, query } from '../support/database-file.js'
import { afterEach, describe, expect, test } from 'vitest'
import { startProgram } from '../support/process.js'
import { ADMIN_PASSWORD, type Product, ROOT } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { approveRunner } from './kit/other-agent.js'
import { SMALL_LOAD, extravarsOf, truthOf } from './kit/load.js'
import { REAL_JOBS, launchReal } from './kit/real-job.js'
import { expectExactly } from './kit/stored.js'

/** A control plane whose database was put back to an earlier state while its runner went on. */
let chaos: ChaosProduct

afterEach(() => chaos.close())

const LOAD = { steps: 600, outputBytes: 500, gates: [200, 400] }

async function storedOutput(jobId: number): Promise<number> {
  return (await chaos.product.admin.raw(`/job/${jobId}/output?offset=0`)).bytes.length
}

const storedUpTo = (jobId: number, step: number) =>
  waitFor(`step ${step} of job ${jobId}`, async () => (await storedOutput(jobId)) > (step - 1) * LOAD.outputBytes)

/** As `sqlite3 holdfast.db ".backup …"` does: a whole copy of a database in use. */
async function backUp(): Promise<void> {
  const database = await openDatabase(databasePathOf(chaos.product), 'write')
  await query(database, `vacuum into '${join(chaos.product.folder, 'backup.db')}'`)
  await closeDatabase(database)
}

/** Two jobs at a runner with one slot: the first one runs during the backup. Both have ended when this resolves. */
async function backUpBetween() {
  const first = await chaos.launchSynthetic({ gates: [100] })
  const waiting = await chaos.launchSynthetic()
  await waitFor('output of the first', async () => (await storedOutput(first.jobId)) > 0)
  await waitFor('the second to say that it waits', async () => (await storedOutput(waiting.jobId)) > 0)
  await backUp()
  first.truth.openGate(100)
  for (const { jobId } of [first, waiting]) {
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
  }
  return { first, waiting }
}

async function restore(): Promise<void> {
  const { product } = chaos
  const database = databasePathOf(product)
  await product.controlPlane.stop('SIGTERM')
  for (const suffix of ['', '-wal', '-shm']) rmSync(database + suffix, { force: true })
  copyFileSync(join(product.folder, 'backup.db'), database)
  await product.startControlPlane()
}

/** The runs in the spool, by the numbers that they were launched with. */
function spooledRuns(): Map<number, string> {
  const names = readdirSync(join(chaos.product.folder, 'rte-state/spool/jobs'))
  return new Map(names.map((name) => [Number(name.split('-')[0]), name.split('-')[1] ?? '']))
}

interface JobRecord {
  readonly id: number
  readonly run_id: string
  readonly adopted_at: string | null
  readonly status: string
  readonly target: string
  readonly parent_id: number | null
  readonly schedule: { readonly name: string } | null
}

async function jobsOf(product: Product): Promise<JobRecord[]> {
  return (await product.admin.get<{ records: JobRecord[] }>('/job')).records
}

interface Orphan {
  readonly runner_id: number
  readonly run_id: string
  readonly form: string | null
}

async function serviceFingerprint(): Promise<string> {
  return (await chaos.product.admin.get<{ fingerprint: string }>('/service/key')).fingerprint
}

/** An admin of the runner's host names the control plane to obey. */
async function trust(fingerprint: string): Promise<void> {
  const state = { RTE_STATE_PATH: join(chaos.product.folder, 'rte-state') }
  const told = startProgram(
    join(ROOT, 'runner-agent/bin/holdfast-runner.js'),
    ['trust', '--fingerprint', fingerprint],
    state,
  )
  expect((await told.exited).code).toBe(0)
}

/** Moves the database of a control plane that is stopped. */
function renameDatabase(from: string, to: string): void {
  const database = databasePathOf(chaos.product)
  for (const suffix of ['', '-wal', '-shm']) {
    if (existsSync(database + from + suffix)) renameSync(database + from + suffix, database + to + suffix)
  }
}

describe('a restored database', () => {
  test('a job that it knows goes on from the older length and is exact', async () => {
    chaos = await startChaos()
    const { jobId, truth } = await chaos.launchSynthetic(LOAD)
    await storedUpTo(jobId, 200)
    await backUp()
    const backedUp = await storedOutput(jobId)
    truth.openGate(200)
    await storedUpTo(jobId, 400)
    await restore()
    truth.openGate(400)
    expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    const { outputBytes } = await expectExactly(chaos.product, jobId, truth)
    expect(outputBytes).toBeGreaterThan(backedUp)
    expect(truth.starts()).toBe(1)
  })

  test('jobs that ended after the backup have their real end again, and none runs twice', async () => {
    chaos = await startChaos({ agent: { RTE_MAX_JOBS: '1' } })
    const { product } = chaos
    const { first, waiting } = await backUpBetween()
    // Its launch is in no backup.
    const later = await chaos.launchSynthetic({ exitCode: 2 })
    expect(await product.waitForEnd(later.jobId)).toMatchObject({ status: 'failed' })
    await restore()
    for (const { jobId, truth } of [first, waiting]) {
      expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success', detail: null })
      await expectExactly(product, jobId, truth)
      expect(truth.starts()).toBe(1)
    }
    const adopted = await waitFor('the later job to be adopted', async () =>
      (await jobsOf(product)).find((job) => job.adopted_at !== null),
    )
    expect(await product.waitForEnd(adopted.id)).toMatchObject({ status: 'failed' })
    await expectExactly(product, adopted.id, later.truth)
    expect(later.truth.starts()).toBe(1)
    // What the control plane has is not sent a second time.
    expect((await jobsOf(product)).length).toBe(3)
  })

  test('the steps of a parent job and the start of a schedule that came after the backup do not run a second time', async () => {
    const steps = ['one', 'two', 'three']
    const form = {
      name: 'steps',
      type: 'multistep',
      roles: ['default'],
      fields: steps.map((name) => ({ name, type: 'yaml' })),
      steps: steps.map((name) => ({ name, key: name, playbook: `synthetic-${name}.yml`, inventory: 'localhost,' })),
    }
    chaos = await startChaos({
      forms: { 'steps.yml': JSON.stringify(form) },
      playbooks: Object.fromEntries(steps.map((name) => [`synthetic-${name}.yml`, '[]\n'])),
    })
    const { product } = chaos
    const folder = join(product.folder, 'truth')
    const values = Object.fromEntries(
      steps.map((name) => [name, extravarsOf({ ...SMALL_LOAD, gates: [100] }, folder, `step-${name}`)]),
    )
    const truthOfStep = (name: string) => truthOf(folder, `step-${name}`)
    const parent = await product.launch('steps', values)
    const scheduled = extravarsOf(SMALL_LOAD, folder, 'scheduled')
    await waitFor('the first step to be at its gate', () => truthOfStep('one').waitsAt(100))
    const at = new Date(Date.now() + 3000).toISOString()
    await product.admin.post('/schedule', { name: 'once', form: 'synthetic', at, missed: 'run', values: scheduled })
    await backUp()
    for (const name of ['one', 'two']) {
      await waitFor(`step ${name} to be at its gate`, () => truthOfStep(name).waitsAt(100))
      truthOfStep(name).openGate(100)
    }
    await waitFor('the third step to be at its gate', () => truthOfStep('three').waitsAt(100))
    const oneScheduled = async () => {
      const jobs = (await jobsOf(product)).filter((job) => job.schedule?.name === 'once')
      return jobs.length === 1 && jobs[0]?.status === 'success' ? jobs[0] : null
    }
    await waitFor('the job of the schedule to end', oneScheduled)
    await restore()
    await waitFor('the third step to be known again', async () =>
      (await jobsOf(product)).some((job) => job.parent_id === parent && job.target === 'three'),
    )
    truthOfStep('three').openGate(100)
    expect(await product.waitForEnd(parent)).toMatchObject({ status: 'success' })
    const again = await waitFor('the job of the schedule to be known again', oneScheduled)
    await expectExactly(product, again.id, truthOf(folder, 'scheduled'))
    const jobs = await jobsOf(product)
    expect(jobs.map(({ target }) => target).sort()).toEqual(['one', 'steps', 'synthetic', 'three', 'two'])
    for (const name of steps) {
      const child = jobs.find(({ target }) => target === name)
      expect(child).toMatchObject({ status: 'success', parent_id: parent })
      await expectExactly(product, child?.id ?? 0, truthOfStep(name))
    }
    const starts = [...steps.map((name) => truthOfStep(name)), truthOf(folder, 'scheduled')].map((one) => one.starts())
    expect(starts).toEqual([1, 1, 1, 1])
  })

  test('a runner that keeps no output still says how its jobs ended, and what is lost is said', async () => {
    chaos = await startChaos({ agent: { RTE_MAX_JOBS: '1', RTE_KEEP_ENDED_MINUTES: '0' } })
    const { product } = chaos
    const { first, waiting } = await backUpBetween()
    await restore()
    for (const { jobId, truth } of [first, waiting]) {
      expect(await product.waitForEnd(jobId)).toMatchObject({
        status: 'success',
        detail: expect.stringMatching(
          /this database has lost \d+ bytes of output, which the runner does not keep any more/,
        ) as string,
      })
      expect(truth.starts()).toBe(1)
    }
  })

  test('a job of which its runner has never heard is failed, and says so', async () => {
    chaos = await startChaos({ agent: { RTE_MAX_JOBS: '1' } })
    const { product } = chaos
    const { first } = await backUpBetween()
    await product.agent.stop('SIGKILL')
    for (const part of ['past', 'kept']) {
      rmSync(join(product.folder, 'rte-state/spool', part), { recursive: true, force: true })
    }
    await restore()
    product.startAgent()
    expect(await product.waitForEnd(first.jobId)).toMatchObject({
      status: 'failed',
      status_reason:
        "the runner 'test-runner' claimed the job and says that it has never heard of it: its spool was lost",
    })
  })

  test('jobs that it does not know are adopted: none is ended, and each is exact and has its real end', async () => {
    chaos = await startChaos(REAL_JOBS)
    const { product } = chaos
    const before = await chaos.launchSynthetic()
    await product.waitForEnd(before.jobId)
    await backUp()
    const running = await chaos.launchSynthetic({ ...LOAD, exitCode: 2 })
    const ended = await chaos.launchSynthetic(LOAD)
    const real = await launchReal(product)
    for (const { jobId } of [running, ended]) await storedUpTo(jobId, 200)
    await waitFor('ansible to be at its gate', () => real.truth.isAtGate(1))
    const names = spooledRuns()
    chaos.proxy.hold(true)
    chaos.proxy.cut()
    for (const gate of LOAD.gates) ended.truth.openGate(gate)
    await waitFor('the end of one of them', () => ended.truth.finished())
    await restore()
    // Its number is given again, while the run that had it is on the runner.
    const taken = await chaos.launchSynthetic({ gates: [100] })
    expect(taken.jobId).toBe(running.jobId)
    chaos.proxy.hold(false)
    const adopted = await waitFor('the unknown jobs to be adopted', async () => {
      const list = (await jobsOf(product)).filter((job) => job.adopted_at)
      return list.length === names.size ? list : null
    })
    const numberOf = (jobId: number) => {
      const job = adopted.find(({ run_id }) => run_id === names.get(jobId))
      if (!job) throw new Error(`the run of job ${jobId} was not adopted`)
      return job.id
    }
    expect(await product.admin.get(`/job/${numberOf(running.jobId)}`)).toMatchObject({
      status: 'running',
      form: 'synthetic',
      user: 'admin',
      user_type: 'local',
      extravars: { ansibleforms_user: { username: 'admin' } },
    })
    // On each connection they are known by their runs.
    chaos.proxy.cut()
    for (const gate of LOAD.gates) running.truth.openGate(gate)
    await real.truth.keep()
    real.truth.openGate(1)
    taken.truth.openGate(100)
    const outcomes = [
      { ...running, jobId: numberOf(running.jobId), status: 'failed' },
      { ...ended, jobId: numberOf(ended.jobId), status: 'success' },
      { ...real, jobId: numberOf(real.jobId), status: 'success' },
      { ...taken, status: 'success' },
    ]
    for (const { jobId, truth, status } of outcomes) {
      expect(await product.waitForEnd(jobId)).toMatchObject({ status })
      await expectExactly(product, jobId, truth)
      expect(truth.starts()).toBe(1)
    }
    await waitFor('the spool to be empty', () => spooledRuns().size === 0)
    expect(await product.admin.get('/runner/orphans')).toEqual({ count: 0, records: [] })
  })

  test('an abandoned job that a person deleted is ended; one that was deleted only for its age is adopted', async () => {
    chaos = await startChaos({ controlPlane: { RTE_LOST_SECONDS: '1' } })
    const { product } = chaos
    const deleted = await chaos.launchSynthetic(LOAD)
    const old = await chaos.launchSynthetic(LOAD)
    for (const { jobId } of [deleted, old]) await storedUpTo(jobId, 200)
    const names = spooledRuns()
    chaos.proxy.hold(true)
    chaos.proxy.cut()
    for (const { jobId } of [deleted, old]) {
      expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'abandoned' })
    }
    await product.admin.request('DELETE', `/job/${deleted.jobId}`)
    // As JOB_RETENTION_DAYS does.
    const database = await openDatabase(databasePathOf(product), 'write')
    await query(database, 'pragma foreign_keys = on')
    await query(database, 'delete from job where id = ?', [old.jobId])
    await closeDatabase(database)
    chaos.proxy.hold(false)
    const adopted = await waitFor('the job to be adopted', async () =>
      (await jobsOf(product)).find(({ run_id }) => run_id === names.get(old.jobId)),
    )
    await waitFor('the deleted one to have left the spool', () => spooledRuns().size === 1)
    expect(deleted.truth.finished()).toBe(false)
    for (const gate of LOAD.gates) old.truth.openGate(gate)
    await waitFor('its real end', async () => (await product.admin.get(`/job/${adopted.id}`)).status === 'success')
    await expectExactly(product, adopted.id, old.truth)
    // A job that was adopted while it ran ends like every other one: its connection goes on.
    expect(product.agent.said()).not.toContain('is not one to be described')
  })

  test('lost whole: another control plane leaves the jobs alone until an admin decides, and the right one goes on', async () => {
    chaos = await startChaos()
    const { product } = chaos
    const adopted = await chaos.launchSynthetic(LOAD)
    const left = await chaos.launchSynthetic(LOAD)
    for (const { jobId } of [adopted, left]) await storedUpTo(jobId, 200)
    const names = spooledRuns()
    const fingerprintBefore = await serviceFingerprint()
    await product.controlPlane.stop('SIGTERM')
    renameDatabase('', '-kept')
    await product.startControlPlane()
    // An empty database has made a key of its own.
    Object.assign(product, { admin: await signIn(product.address, 'admin', ADMIN_PASSWORD) })
    expect(await serviceFingerprint()).not.toBe(fingerprintBefore)
    await trust(await serviceFingerprint())
    await approveRunner(chaos, 'test-runner')
    const orphans = await waitFor('the jobs to be shown to admins', async () => {
      const { records } = await product.admin.get<{ records: Orphan[] }>('/runner/orphans')
      return records.length === 2 && records.every(({ form }) => form !== null) ? records : null
    })
    for (const orphan of orphans) {
      const facts = {
        reason: 'other_service',
        service: fingerprintBefore,
        ended: false,
        form: 'synthetic',
        user: 'admin',
      }
      expect(orphan).toMatchObject(facts)
    }
    expect(await jobsOf(product)).toEqual([])
    const [one] = orphans.filter(({ run_id }) => run_id === names.get(adopted.jobId))
    await product.admin.post(`/runner/${one?.runner_id}/orphans/adopt`, { run_id: one?.run_id })
    expect(await product.admin.get('/audit?action=runner.orphans.adopt')).toMatchObject({
      records: [{ object: { kind: 'runner', id: String(one?.runner_id), name: 'test-runner' }, status: 200 }],
    })
    const [job] = await waitFor('the job to be adopted', async () => {
      const jobs = await jobsOf(product)
      return jobs.length > 0 ? jobs : null
    })
    // The next process of the agent knows, too, whose it is now.
    await product.agent.stop('SIGKILL')
    product.startAgent()
    for (const gate of LOAD.gates) adopted.truth.openGate(gate)
    expect(await product.waitForEnd(job?.id ?? 0)).toMatchObject({ status: 'success', user: 'admin' })
    await expectExactly(product, job?.id ?? 0, adopted.truth)
    // The right one comes back: what nobody took over is its, as it was.
    await product.controlPlane.stop('SIGTERM')
    renameDatabase('', '-other')
    renameDatabase('-kept', '')
    await trust(fingerprintBefore)
    await product.startControlPlane()
    Object.assign(product, { admin: await signIn(product.address, 'admin', ADMIN_PASSWORD) })
    for (const gate of LOAD.gates) left.truth.openGate(gate)
    expect(await product.waitForEnd(left.jobId)).toMatchObject({ status: 'success', adopted_at: null })
    await expectExactly(product, left.jobId, left.truth)
    for (const { truth } of [adopted, left]) expect(truth.starts()).toBe(1)
  })
})
