import { constants } from 'node:os'
import { setTimeout as pause } from 'node:timers/promises'
import { waitFor } from '../../support/wait.js'
import type { ChaosProduct } from '../kit/chaos-product.js'
import { type Load, SMALL_LOAD, type SyntheticTruth, extravarsOf, truthOf } from '../kit/load.js'
import type { ArmedFault, FaultCode } from '../kit/preload/faults.js'
import { compareStored } from '../kit/stored.js'
import { join } from 'node:path'
import { patiently } from '../soak/patient.js'
import type { Keepers } from './keepers.js'
import { type FaultPoint, LOOKS, type Scene } from './points.js'

/** After the fault is over: until the job must have its end. Far above every pause between two tries. */
const BOUND_MS = 90_000
const LOOK_MS = 30
const FINALS = ['success', 'failed', 'aborted']
/** What a playbook that was not ended still needs to come to its end. */
const FINISH_MS = 3000

/** How one job ended, next to how it should have. All empty and false: it ended truly. */
export interface Outcome {
  /** Sentences about a status that is not what happened. */
  readonly falseEnds: readonly string[]
  /** The playbook was started and did not come to its end. */
  readonly killed: boolean
  readonly neverEnded: boolean
  readonly startedTwice: boolean
  /** How stored output or events differ from what was written, where nothing says so. */
  readonly differences: readonly string[]
  /** It was truthfully refused before its start. */
  readonly notStarted: boolean
}

/** A job that goes through a scene; every second one fails by its own account, so that both ends are told apart. */
export async function playScene(
  chaos: ChaosProduct,
  keepers: Keepers,
  scene: Scene,
  number: number,
  fault: { readonly arm: () => ArmedFault; readonly lastsMs: number; readonly point: FaultPoint | null },
): Promise<{ readonly outcome: Outcome; readonly armed: ArmedFault }> {
  const load: Load = {
    ...SMALL_LOAD,
    steps: 60,
    seed: number,
    exitCode: number % 2 === 0 ? 0 : 2,
    gates: scene === 'plain' ? [] : [30],
  }
  let armed: ArmedFault | null = null
  const arm = (): ArmedFault => (armed = fault.arm())
  const early = scene === 'plain' ? arm() : null
  const launching = launch(chaos, load, number)
  if (early !== null) await endDuringLaunch(launching, early, fault.lastsMs)
  const { jobId, truth } = await launching
  if (scene !== 'plain') {
    await waitFor(`job ${jobId} to come to its gate`, () => truth.waitsAt(30))
    const victim = scene === 'agent restarted' ? 'agent' : 'control plane'
    await keepers.kill(victim)
    arm()
    await keepers.restart(victim)
    // The fault shall meet the playbook while it runs, when it meets it at all.
    await Promise.race([keepers.bothUp(), pause(fault.lastsMs + 3000)])
    truth.openGate(30)
  }
  const met = armed ?? arm()
  await waitOut(chaos, jobId, met, fault.lastsMs)
  const job = await waitForFinal(chaos, jobId)
  // What is compared below is read by way of the control plane: the fault was for the job.
  met.disarm()
  const outcome = await judge(chaos, jobId, job, truth, load, fault.point)
  return { outcome, armed: met }
}

/** A launch that is answered by 503 has launched nothing and is asked for again. */
async function launch(
  chaos: ChaosProduct,
  load: Load,
  number: number,
): Promise<{ readonly jobId: number; readonly truth: SyntheticTruth }> {
  const [folder, name] = [join(chaos.product.folder, 'truth'), `one-${number}`]
  const body = { formName: 'synthetic', rawFormData: extravarsOf(load, folder, name) }
  const answer = await patiently(chaos.product, 'POST', '/job', body, Date.now() + BOUND_MS)
  if (answer.status !== 200) throw new Error(`a launch was answered ${answer.status}: ${JSON.stringify(answer.body)}`)
  return { jobId: (answer.body as { id: number }).id, truth: truthOf(folder, name) }
}

/** Until the launch is answered. A fault that it meets is taken back after its time: else a launch would wait for ever. */
async function endDuringLaunch(launching: Promise<unknown>, armed: ArmedFault, lastsMs: number): Promise<void> {
  if (lastsMs === 0) return
  let answered = false
  const answer = launching.finally(() => (answered = true)).catch(() => undefined)
  while (!answered && !armed.wasMet()) await pause(20)
  await Promise.race([answer, pause(lastsMs)])
  if (!answered) armed.disarm()
}

/**
 * Until the fault is over: one that lasts is taken back after its time. It is taken back as well when the job has ended
 * without it: else the first question after the end would meet it, and nobody would take it back.
 */
async function waitOut(chaos: ChaosProduct, jobId: number, armed: ArmedFault, lastsMs: number): Promise<void> {
  if (lastsMs === 0) return
  for (let waited = 0; !armed.wasMet(); waited += 1) {
    if (waited % 10 === 9 && (await statusOf(chaos, jobId)) !== null) return armed.disarm()
    await pause(20)
  }
  await pause(lastsMs)
  armed.disarm()
}

/** Null: it is not final, or nobody can say. */
async function statusOf({ product }: ChaosProduct, jobId: number): Promise<JobShown | null> {
  try {
    const job = await product.admin.get<JobShown>(`/job/${jobId}?output=false`)
    return FINALS.includes(job.status) ? job : null
  } catch {
    return null
  }
}

interface JobShown {
  readonly status: string
  readonly status_reason: string | null
  readonly detail: string | null
}

/** Null: it has no end within the bound. */
async function waitForFinal(chaos: ChaosProduct, jobId: number): Promise<JobShown | null> {
  for (const deadline = Date.now() + BOUND_MS; Date.now() < deadline;) {
    const job = await statusOf(chaos, jobId)
    if (job !== null) return job
    await pause(LOOK_MS)
  }
  return null
}

/** The words by which Node.js and Python tell of an error. */
function wordsOf(code: FaultCode): string[] {
  const number = constants.errno[code as keyof typeof constants.errno]
  return [code, `Unknown system error -${number}`, ...(PYTHON_WORDS[code] ?? [])]
}

const OF_THE_DISK: ReadonlySet<FaultCode> = new Set(['ENOSPC', 'EDQUOT', 'EROFS'])

const PYTHON_WORDS: Readonly<Partial<Record<FaultCode, readonly string[]>>> = {
  ENOSPC: ['No space left on device'],
  EDQUOT: ['Disk quota exceeded'],
  EROFS: ['Read-only file system'],
}

async function judge(
  chaos: ChaosProduct,
  jobId: number,
  job: JobShown | null,
  truth: SyntheticTruth,
  load: Load,
  point: FaultPoint | null,
): Promise<Outcome> {
  const fine: Outcome = {
    falseEnds: [],
    killed: false,
    neverEnded: false,
    startedTwice: truth.starts() > 1,
    differences: [],
    notStarted: false,
  }
  if (job === null) return { ...fine, neverEnded: true }
  const said = `${job.status} (${job.status_reason ?? 'no reason'})`
  if (truth.starts() === 0) {
    // A disk that does not take what is written before the start may be an end of its own, when the reason is just that.
    // Every other error passes, and is waited out.
    const isOfTheDisk = point !== null && OF_THE_DISK.has(point.code) && !LOOKS.has(point.operation)
    const isSaid = point !== null && wordsOf(point.code).some((words) => job.status_reason?.includes(words))
    const mayRefuse = job.status === 'failed' && isOfTheDisk && isSaid
    return mayRefuse ? { ...fine, notStarted: true } : { ...fine, falseEnds: [`${said}, never started`] }
  }
  if (!truth.finished()) await pause(FINISH_MS)
  if (!truth.finished()) return { ...fine, killed: true, falseEnds: [said] }
  const isTrue =
    load.exitCode === 0
      ? job.status === 'success'
      : job.status === 'failed' && (job.status_reason ?? '').startsWith(`ansible-playbook ended with ${load.exitCode}`)
  if (!isTrue) return { ...fine, falseEnds: [said] }
  // What a disk did not take is gone, and the job says so.
  if (job.detail !== null) return fine
  return { ...fine, differences: (await compareStored(chaos.product, jobId, truth)).problems }
}
