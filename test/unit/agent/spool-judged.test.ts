import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { ABORT_TIMEOUTS } from '../../../runner-agent/src/jobs/decide.js'
import { createHostJobs } from '../../../runner-agent/src/jobs/host-jobs.js'
import { createLog } from '../../../runner-agent/src/log.js'
import { openSpool } from '../../../runner-agent/src/spool/spool.js'
import { waitUntil } from '../../agent/waiting.js'

const NOT_USED = null as never

/** An agent that has found one job in its spool, whose supervisor is gone, and reaches no control plane. */
async function findJob() {
  const statePath = mkdtempSync(join(tmpdir(), 'holdfast-judged-'))
  const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
  const spool = openSpool(statePath, log)
  await spool.prepare()
  const folder = join(statePath, 'spool', 'jobs', `1-${'a'.repeat(32)}`)
  mkdirSync(folder)
  writeFileSync(join(folder, 'started.json'), JSON.stringify({ pid: 1, start_ticks: 1, boot_id: 'this boot' }))
  const spooledAtChanges: number[] = []
  const waits: { ms: number; pass: () => void; isOver: boolean }[] = []
  const jobs = createHostJobs({
    log,
    spool,
    now: () => new Date(),
    bootId: 'this boot',
    abortTimeouts: ABORT_TIMEOUTS,
    spoolMaxBytes: 1e9,
    cache: NOT_USED,
    uploadStore: NOT_USED,
    playbook: { localFolder: null } as never,
    supervisor: NOT_USED,
    openSecrets: () => null,
    releaseUser: () => Promise.resolve([]),
    supervisors: { look: () => 'gone' as const, lookAtTorn: () => 'gone' as const },
    ownership: { atHand: null, foreignService: () => null, forget: () => undefined } as never,
    ownMaxJobs: 0,
    mostJobs: () => 0,
    problem: () => null,
    hostProblem: () => null,
    changed: () => void spooledAtChanges.push(jobs.figures().spooledJobs),
    after(ms, pass) {
      const wait = { ms, pass, isOver: false }
      waits.push(wait)
      return () => {
        wait.isOver = true
      }
    },
  })
  onTestFinished(async () => {
    await jobs.dispose()
    await spool.close()
    rmSync(statePath, { recursive: true })
  })
  await jobs.load()
  const [wait] = waits
  if (!wait) throw new Error('nothing is waited for')
  return { jobs, wait, folder, spooledAtChanges, hasEnd: () => existsSync(join(folder, 'end.json')) }
}

test('the agent decides about a job of the spool after a minute without a control plane, and not before', async () => {
  const { jobs, wait, hasEnd } = await findJob()
  expect(wait).toMatchObject({ ms: 60_000, isOver: false })
  expect(jobs.figures()).toMatchObject({ spooledJobs: 1, runningJobs: 0 })
  expect(hasEnd()).toBe(false)
  wait.pass()
  await waitUntil('the job to be judged', hasEnd)
})

test('the agent waits for a control plane that answers and has not accepted the runner, however long', async () => {
  const { jobs, wait, hasEnd } = await findJob()
  jobs.wait()
  expect(wait.isOver).toBe(true)
  expect(hasEnd()).toBe(false)
})

test('a job whose folder was removed by hand does not count any more once that is certain', async () => {
  const { wait, folder, spooledAtChanges } = await findJob()
  rmSync(folder, { recursive: true })
  spooledAtChanges.length = 0
  wait.pass()
  await waitUntil('the job to be judged and removed', () => spooledAtChanges.length >= 2)
  expect(spooledAtChanges).toEqual([1, 0])
})
