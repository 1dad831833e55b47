import { readFileSync } from 'node:fs'
import { setTimeout as pause } from 'node:timers/promises'
import { describe, expect, test } from 'vitest'
import { databasePathOf } from '../support/database-file.js'
import { request } from '../support/rest.js'
import { waitFor } from '../support/wait.js'
import { type ChaosProduct, startChaos } from './kit/chaos-product.js'
import { type StoredState, holdDatabase, stateInMainFile, storedState } from './kit/database-hold.js'
import { spoolFolderOf } from './kit/leftovers.js'
import { type FaultRule, PROGRAMS } from './kit/preload/faults.js'
import { expectExactly } from './kit/stored.js'

/**
 * While the database is locked, full or cannot be synced, nothing is acknowledged and
 * nothing dropped, the service says so, and goes on by itself when it can.
 */

/** Makes the database unable to commit; what it gives ends that. */
type Trouble = (chaos: ChaosProduct) => Promise<() => Promise<void>>

const locked =
  (how: 'begin immediate' | 'begin exclusive'): Trouble =>
  async ({ product }) => {
    const hold = await holdDatabase(product, how)
    return () => hold.release()
  }

const failing =
  (operation: FaultRule['operation'], path: string, action: FaultRule['action']): Trouble =>
  async ({ faults }) => {
    const fault = faults.arm({ operation, program: PROGRAMS.controlPlane, path, action, once: false })
    return async () => fault.disarm()
  }

/** In some of them it is also waited for that writes are refused, which they are after ten seconds. */
const TROUBLES: readonly [string, Trouble, { readonly untilRefused: boolean }][] = [
  ['locked by a writer', locked('begin immediate'), { untilRefused: true }],
  ['locked exclusively', locked('begin exclusive'), { untilRefused: false }],
  ['on a full disk', failing('write', '*holdfast.db-wal', 'ENOSPC'), { untilRefused: false }],
  ['on a disk that takes half of a write', failing('write', '*holdfast.db-wal', 'short'), { untilRefused: false }],
  ['on a disk that cannot be written', failing('write', '*holdfast.db-wal', 'EIO'), { untilRefused: false }],
  ['on a disk that cannot be synced', failing('sync', '*holdfast.db-wal', 'EIO'), { untilRefused: true }],
]

/**
 * A stop waits for the database, a second for each part, and computes next to nothing. This is ten times what that takes,
 * and less than what a queue of writes takes that each wait for ten seconds.
 */
const STOP_BOUND_MS = 60_000

/** Half of it before the gate, half after. */
const LOAD = { steps: 400, outputBytes: 2000, eventBytes: 200, gates: [200] } as const

async function withChaos(body: (chaos: ChaosProduct) => Promise<void>): Promise<void> {
  const chaos = await startChaos()
  try {
    await body(chaos)
  } finally {
    await chaos.close()
  }
}

const readiness = async ({ product }: ChaosProduct) => request(product.address, 'GET', '/ready', null)

const bytesOf = (state: StoredState | null): number => (state ? state.output + state.events : 0)

/** All there is before the gate is stored. */
const firstHalf = (chaos: ChaosProduct, jobId: number, written: () => number) =>
  waitFor(`the first half of job ${jobId} to be stored`, async () => {
    const state = await storedState(chaos.product, jobId)
    return state && bytesOf(state) === written() ? state : null
  })

async function expectRefusals({ product }: ChaosProduct, jobId: number): Promise<void> {
  const answers = await Promise.all([
    product.admin.request('POST', '/job', { formName: 'synthetic', rawFormData: {} }),
    product.admin.request('POST', `/job/${jobId}/abort`),
    request(product.address, 'POST', '/auth/login', null, { username: 'admin', password: 'wrong' }),
  ])
  for (const { status, body } of answers) {
    expect(status).toBe(503)
    expect(body).toMatchObject({ code: 'database_unavailable', error: expect.stringContaining('database') })
  }
}

describe.concurrent('jobs that stream while the database is', { timeout: 600_000 }, () => {
  test.each(TROUBLES)('%s are exact afterwards', async (_, trouble, { untilRefused }) => {
    await withChaos(async (chaos) => {
      const { product } = chaos
      const jobs = [await chaos.launchSynthetic(LOAD), await chaos.launchSynthetic({ ...LOAD, seed: 2, exitCode: 3 })]
      const before = []
      for (const { jobId, truth } of jobs) {
        await waitFor('the emitter to be at its gate', () => truth.waitsAt(200))
        before.push(await firstHalf(chaos, jobId, truth.written))
      }

      const mend = await trouble(chaos)
      for (const { truth } of jobs) truth.openGate(200)
      await waitFor('the playbooks to end all the same', () => jobs.every(({ truth }) => truth.finished()))
      const notReady = await waitFor('the service to say that it is not ready', async () => {
        const answer = await readiness(chaos)
        return answer.status === 503 ? answer : null
      })
      expect(notReady.body).toEqual({ status: 'not ready', reason: 'database not writable' })
      // Reading goes on; what must be written is refused, said in a sentence, and is no fault of the service's own.
      for (const { jobId } of jobs) {
        expect(await product.admin.get(`/job/${jobId}`)).toMatchObject({ status: 'running' })
      }
      if (untilRefused) await expectRefusals(chaos, jobs[0]?.jobId ?? 0)
      for (const [index, { jobId }] of jobs.entries()) {
        expect(await storedState(product, jobId)).toEqual(before[index])
        expect(spoolFolderOf(product, jobId)).not.toBeNull()
      }

      await mend()
      const ends = await Promise.all(jobs.map(({ jobId }) => product.waitForEnd(jobId)))
      expect(ends.map(({ status }) => status)).toEqual(['success', 'failed'])
      for (const { jobId, truth } of jobs) {
        await expectExactly(product, jobId, truth)
        expect(truth.starts()).toBe(1)
      }
      await waitFor('the service to be ready again', async () => (await readiness(chaos)).status === 200)
      expect(product.controlPlane.isRunning()).toBe(true)
      expect(product.controlPlane.said()).not.toMatch(/"status":500/)
      // Refused means refused: no job comes into being later.
      expect((await product.admin.get<{ count: number }>('/job')).count).toBe(jobs.length)
    })
  })

  test('unreadable are exact afterwards, and requests meanwhile are refused and may be tried again', async () => {
    await withChaos(async (chaos) => {
      const { product, faults } = chaos
      const { jobId, truth } = await chaos.launchSynthetic(LOAD)
      await waitFor('the emitter to be at its gate', () => truth.waitsAt(200))
      const read = { operation: 'read', program: PROGRAMS.controlPlane, path: '*/holdfast.db*' } as const
      const fault = faults.arm({ ...read, action: 'EIO', chance: { share: 0.5, seed: 1 } })
      truth.openGate(200)
      const seen: number[] = []
      const ask = async (method: string, path: string): Promise<void> => {
        seen.push((await product.admin.request(method, path)).status)
      }
      const change = ask('POST', `/job/${jobId}/relaunch`)
      // SQLite says of some failed reads that the file is damaged.
      await waitFor('reads to be refused', async () => {
        await Promise.all([ask('GET', `/job/${jobId}`), ask('GET', '/job')])
        return product.controlPlane.said().includes('SQLITE_CORRUPT') && seen.some((status) => status >= 500)
      })
      fault.disarm()
      await change
      expect(seen.filter((status) => ![200, 409, 503].includes(status))).toEqual([])
      expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
      await expectExactly(product, jobId, truth)
      expect(truth.starts()).toBe(1)
      await waitFor('the service to be ready again', async () => (await readiness(chaos)).status === 200)
    })
  })

  test.each<[string, Trouble]>([
    ['by another program', locked('begin immediate')],
    ['by a lock that the system does not take back', failing('lock', '*holdfast.db-shm', 'ENOLCK')],
  ])('locked %s let the control plane stop, and are exact afterwards', async (_, trouble) => {
    await withChaos(async (chaos) => {
      const { product } = chaos
      const { jobId, truth } = await chaos.launchSynthetic(LOAD)
      await waitFor('the emitter to be at its gate', () => truth.waitsAt(200))
      const before = await firstHalf(chaos, jobId, truth.written)
      const mend = await trouble(chaos)
      truth.openGate(200)
      await waitFor('the playbook to end all the same', () => truth.finished())
      // Each round takes as long as a write waits, and meanwhile sweeps of the service fall due.
      for (let round = 0; round < 3; round += 1) await expectRefusals(chaos, jobId)

      const stopping = product.controlPlane.stop('SIGTERM')
      const stopped = await Promise.race([stopping.then(() => true), pause(STOP_BOUND_MS, false, { ref: false })])
      expect(stopped).toBe(true)
      expect(await product.controlPlane.exited).toEqual({ code: 0, signal: null })
      expect(await storedState(product, jobId)).toEqual(before)

      await mend()
      await product.startControlPlane()
      expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
      await expectExactly(product, jobId, truth)
      expect(truth.starts()).toBe(1)
    })
  })

  test('killed before a commit was synced: the commit is made durable before a runner learns of it', async () => {
    await withChaos(async (chaos) => {
      const { product, faults } = chaos
      const { jobId, truth } = await chaos.launchSynthetic(LOAD)
      await waitFor('the emitter to be at its gate', () => truth.waitsAt(200))
      const before = await firstHalf(chaos, jobId, truth.written)
      const sync = { operation: 'sync', program: PROGRAMS.controlPlane, path: '*holdfast.db-wal' } as const
      const failingSync = faults.arm({ ...sync, action: 'EIO', once: false })
      truth.openGate(200)
      await waitFor('a commit of the second half to fail', () =>
        /(step |"order": )[23]\d\d\D/.test(readFileSync(`${databasePathOf(product)}-wal`).toString('latin1')),
      )
      faults.arm({ ...sync, action: 'kill-before', once: true })
      failingSync.disarm()
      expect((await product.controlPlane.exited).signal).toBe('SIGKILL')
      await product.agent.stop('SIGKILL')

      // The log holds the commit whole, though nobody has synced it. The first try to make it durable fails.
      const unsettled = faults.arm({
        operation: 'sync',
        program: PROGRAMS.controlPlane,
        path: '*holdfast.db',
        action: 'EIO',
        once: true,
      })
      await product.startControlPlane()
      expect(unsettled.wasMet()).toBe(true)
      const found = await storedState(product, jobId)
      expect(bytesOf(found)).toBeGreaterThan(bytesOf(before))
      expect(await stateInMainFile(product, jobId)).toEqual(found)
      product.startAgent()
      expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'success' })
      await expectExactly(product, jobId, truth)
      expect(truth.starts()).toBe(1)
    })
  })
})
