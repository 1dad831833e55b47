import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import { ABORT_TIMEOUTS } from '../../../runner-agent/src/jobs/decide.js'
import { createHostJobs, type HostJobsDependencies } from '../../../runner-agent/src/jobs/host-jobs.js'
import { createLog } from '../../../runner-agent/src/log.js'
import { openSpool } from '../../../runner-agent/src/spool/spool.js'

const NOT_USED = null as never

export const FOUND_JOB = { job_id: 1, run_id: 'a'.repeat(32) } as const

/**
 * An agent that has found one job in its spool, whose supervisor is gone, and reaches no control plane.
 * @param output what the job has printed
 * @param change what else than usual the jobs of this host have
 */
export async function findJob(output = '', change: Partial<HostJobsDependencies> = {}) {
  const statePath = mkdtempSync(join(tmpdir(), 'holdfast-judged-'))
  const log = createLog({ level: 'silent', format: 'json', output: process.stdout })
  const spool = openSpool(statePath, log)
  await spool.prepare()
  const folder = join(statePath, 'spool', 'jobs', `${FOUND_JOB.job_id}-${FOUND_JOB.run_id}`)
  mkdirSync(folder)
  writeFileSync(join(folder, 'started.json'), JSON.stringify({ pid: 1, start_ticks: 1, boot_id: 'this boot' }))
  if (output !== '') writeFileSync(join(folder, 'output.log'), output)
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
    ownership: {
      atHand: () => `SHA256:${'a'.repeat(43)}`,
      foreignService: () => null,
      forget: () => undefined,
    } as never,
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
    ...change,
  })
  onTestFinished(async () => {
    await jobs.dispose()
    await spool.close()
    rmSync(statePath, { recursive: true })
  })
  await jobs.load()
  const [wait] = waits
  if (!wait) throw new Error('nothing is waited for')
  return { jobs, wait, waits, folder, spooledAtChanges, hasEnd: () => existsSync(join(folder, 'end.json')) }
}
