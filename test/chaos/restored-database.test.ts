import { copyFileSync, readFileSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { closeDatabase, databasePathOf, openDatabase, query } from '../support/database-file.js'
import { afterEach, describe, expect, test } from 'vitest'
import { processesOfFolder } from '../support/processes-of-folder.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
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

async function restore(): Promise<void> {
  const { product } = chaos
  const database = databasePathOf(product)
  await product.controlPlane.stop('SIGTERM')
  for (const suffix of ['', '-wal', '-shm']) rmSync(database + suffix, { force: true })
  copyFileSync(join(product.folder, 'backup.db'), database)
  await product.startControlPlane()
}

const spool = () => readdirSync(join(chaos.product.folder, 'rte-state/spool/jobs')).map((name) => name.split('-')[0])

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

  test('a job that waited when it was backed up and ran since is not run again', async () => {
    chaos = await startChaos({ agent: { RTE_MAX_JOBS: '1' } })
    const { admin } = chaos.product
    const first = await chaos.launchSynthetic({ gates: [100] })
    const waiting = await chaos.launchSynthetic()
    await waitFor('output of the first', async () => (await storedOutput(first.jobId)) > 0)
    await waitFor('the second to say that it waits', async () => (await storedOutput(waiting.jobId)) > 0)
    await backUp()
    first.truth.openGate(100)
    for (const { jobId } of [first, waiting]) {
      expect(await chaos.product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
    }
    await restore()
    expect(await chaos.product.waitForEnd(waiting.jobId)).toMatchObject({
      status: 'failed',
      status_reason:
        'this run was over before and is not started again: the database that asks for it is older than its end',
    })
    expect(waiting.truth.starts()).toBe(1)
    expect(await admin.get(`/job/${first.jobId}`)).toMatchObject({
      status: 'failed',
      status_reason: expect.stringContaining('this database was restored from a backup') as string,
    })
    expect(first.truth.starts()).toBe(1)
  })

  test('a job that it does not know is ended and removed on the runner, which says so', async () => {
    chaos = await startChaos()
    await backUp()
    const running = await chaos.launchSynthetic(LOAD)
    const ended = await chaos.launchSynthetic(LOAD)
    for (const { jobId } of [running, ended]) await storedUpTo(jobId, 200)
    chaos.proxy.hold(true)
    chaos.proxy.cut()
    for (const gate of LOAD.gates) ended.truth.openGate(gate)
    await waitFor('the end of one of them', () => ended.truth.finished())
    await restore()
    chaos.proxy.hold(false)
    await waitFor('the spool to be empty', () => spool().length === 0)
    expect(running.truth.finished()).toBe(false)
    const log = readFileSync(join(chaos.product.folder, 'agent.log'), 'utf8')
    for (const { jobId } of [running, ended]) {
      expect(log).toMatch(new RegExp(`"job":${jobId},.*the app does not know this job; it is removed`))
    }
    await waitFor('nothing of the jobs to be left', () => {
      const { agent, controlPlane } = chaos.product
      return processesOfFolder(chaos.product.folder).every((pid) => pid === agent.pid || pid === controlPlane.pid)
    })
    // Its number is free again, and its run's name is not: the next job of that number is another job.
    const next = await chaos.launchSynthetic()
    expect(next.jobId).toBe(running.jobId)
    expect(await chaos.product.waitForEnd(next.jobId)).toMatchObject({ status: 'success' })
    await expectExactly(chaos.product, next.jobId, next.truth)
  })
})
