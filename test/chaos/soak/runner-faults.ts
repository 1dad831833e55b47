import { existsSync, readFileSync, readdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { truthOf } from '../kit/load.js'
import { PROGRAMS } from '../kit/preload/faults.js'
import type { FaultContext, FaultKind } from './fault-kind.js'
import { patiently } from './patient.js'

/** What befalls the runner's spool beside full disks, and what admins do with the runner. */
export function runnerFaults(): FaultKind[] {
  return [
    unreadable('spool unreadable for the agent', 3, PROGRAMS.agent),
    unreadable('spool unreadable for supervisors', 2, PROGRAMS.supervisor),
    { name: 'spool away', weight: 2, inject: takeSpoolAway },
    { name: 'revoked and let in', weight: 1, inject: revokeAndReinstate },
    { name: 'removed and approved', weight: 1, inject: removeAndApprove },
  ]
}

const READS = ['open', 'read', 'stat', 'readdir'] as const
const CODES = ['EMFILE', 'ENFILE', 'ENOMEM', 'EIO', 'EACCES', 'ESTALE', 'ETIMEDOUT'] as const

/** A drawn share of the looks at the spool fails for a while; the share may be all of them. */
function unreadable(name: string, weight: number, program: string): FaultKind {
  return {
    name,
    weight,
    async inject({ chaos, chance }) {
      const rules = READS.filter(() => chance.next() < 0.7).map((operation) =>
        chaos.faults.arm({
          operation,
          program,
          path: '*/rte-state/spool/*',
          action: chance.pick(CODES.filter((code) => operation === 'open' || !code.endsWith('FILE'))),
          chance: { share: chance.pick([0.05, 0.3, 1]), seed: chance.between(1, 1_000_000) },
        }),
      )
      await pause(chance.between(200, 8000))
      for (const rule of rules) rule.disarm()
    },
  }
}

/** As when its disk is not mounted for a moment. What a program has made in its place meanwhile is put aside. */
async function takeSpoolAway({ chaos, chance, harmed }: FaultContext): Promise<void> {
  const spool = join(chaos.product.folder, 'rte-state/spool')
  const away = `${spool}.away`
  if (existsSync(away)) return
  renameSync(spool, away)
  const truthFolder = join(chaos.product.folder, 'truth')
  for (const name of readdirSync(join(away, 'jobs')))
    if (needsFiles(join(away, 'jobs', name), truthFolder)) harmed(Number.parseInt(name), 'files away')
  await pause(chance.between(50, 4000))
  if (existsSync(spool)) renameSync(spool, `${spool}.instead-${chance.between(1, 1_000_000)}`)
  renameSync(away, spool)
}

/**
 * Whether the program of a job may still read from the job's folder, so that it fails for real without it. Ansible reads
 * its playbook there until its end. The emitter reads only its values, before it notes its start.
 */
function needsFiles(folder: string, truthFolder: string): boolean {
  let claim: string
  try {
    claim = readFileSync(join(folder, 'claim.json'), 'utf8')
  } catch {
    // Not the folder of a job.
    return false
  }
  if (!claim.includes('synthetic.yml')) return true
  const [, name] = /"load":\{[^}]*"name":"([^"]+)"/.exec(claim) ?? []
  return name === undefined || truthOf(truthFolder, name).starts() === 0
}

const PATIENCE_MS = 120_000
const LOOK_MS = 200

interface RunnerRecord {
  readonly id: number
  readonly state: string
}

async function runners({ chaos: { product } }: FaultContext): Promise<readonly RunnerRecord[]> {
  const { status, body } = await patiently(product, 'GET', '/runner', undefined, Date.now() + PATIENCE_MS)
  if (status !== 200) throw new Error(`the list of runners: ${status} ${JSON.stringify(body)}`)
  return (body as { records: RunnerRecord[] }).records
}

async function act({ chaos: { product } }: FaultContext, method: string, path: string): Promise<number> {
  return (await patiently(product, method, path, undefined, Date.now() + PATIENCE_MS)).status
}

async function revoke(context: FaultContext): Promise<RunnerRecord | null> {
  const approved = (await runners(context)).find(({ state }) => state === 'approved')
  if (!approved) return null
  await act(context, 'POST', `/runner/${approved.id}/revoke`)
  await pause(context.chance.between(100, 4000))
  return approved
}

async function revokeAndReinstate(context: FaultContext): Promise<void> {
  const runner = await revoke(context)
  if (runner) await letIn(context)
}

async function removeAndApprove(context: FaultContext): Promise<void> {
  const runner = await revoke(context)
  if (!runner) return
  await act(context, 'DELETE', `/runner/${runner.id}`)
  await letIn(context)
}

/** Until a runner is approved again, whoever else works on that. One that was refused is told to ask at once. */
export async function letIn(context: FaultContext): Promise<void> {
  for (const deadline = Date.now() + PATIENCE_MS; Date.now() < deadline; await pause(LOOK_MS)) {
    const found = await runners(context).catch(() => [])
    if (found.some(({ state }) => state === 'approved')) return
    const revoked = found.find(({ state }) => state === 'revoked')
    const waiting = found.find(({ state }) => state === 'waiting')
    if (revoked) await act(context, 'POST', `/runner/${revoked.id}/reinstate`)
    else if (waiting) await act(context, 'POST', `/runner/${waiting.id}/approve`)
  }
  throw new Error('the runner was not let in again')
}
