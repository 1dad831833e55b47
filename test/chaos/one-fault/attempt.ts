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

/** A fault as it is planned. */
interface PlannedFault {
  readonly arm: () => ArmedFault
  /** 0: one call only. Else how long every call fails, in milliseconds, from the first one on. */
  readonly lastsMs: number
  /** Null: nothing fails. */
  readonly point: FaultPoint | null
}

/** A job that goes through a scene; every second one fails by its own account, so that both ends are told apart. */
export async function playScene(
  chaos: ChaosProduct,
  keepers: Keepers,
  scene: Scene,
  number: number,
  fault: PlannedFault,
): Promise<{ readonly outcome: Outcome; readonly armed: ArmedFault }> {
  const load: Load = {
    ...SMALL_LOAD,
    steps: 60,
    seed: number,
    exitCode: number % 2 === 0 ? 0 : 2,
    gates: scene === 'plain' ? [] : [30],
  }
  const early = scene === 'plain' ? beginFault(fault) : null
  const { jobId, truth } = await launch(chaos, load, number)
  const begun = early ?? (await restartAtGate(chaos, keepers, scene, { jobId, truth, fault }))
  await waitOut(chaos, jobId, begun)
  const job = await waitForFinal(chaos, jobId)
  // What is compared below is read by way of the control plane: the fault was for the job.
  begun.end()
  const outcome = await judge(chaos, jobId, job, truth, load, fault.point)
  return { outcome, armed: begun.armed }
}

/** Kills the program of the scene while the playbook waits at its gate, and starts it again with the fault. */
async function restartAtGate(
  chaos: ChaosProduct,
  keepers: Keepers,
  scene: Scene,
  { jobId, truth, fault }: { readonly jobId: number; readonly truth: SyntheticTruth; readonly fault: PlannedFault },
): Promise<BegunFault> {
  await waitFor(`job ${jobId} to come to its gate`, () => truth.waitsAt(30))
  const victim = scene === 'agent restarted' ? 'agent' : 'control plane'
  await keepers.kill(victim)
  const begun = beginFault(fault)
  await keepers.restart(victim)
  // The fault shall meet the playbook while it runs, when it meets it at all.
  await Promise.race([keepers.bothUp(), pause(fault.lastsMs + 3000)])
  truth.openGate(30)
  return begun
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

/** A fault that is armed, and whose time runs from the first call that meets it. */
interface BegunFault {
  readonly armed: ArmedFault
  /** False: it is over, or it was for one call only. */
  isOn(): boolean
  /** Takes it back now. */
  end(): void
}

/**
 * Arms a fault. One that lasts is taken back when its time is over, whatever else waits in that moment: the program that
 * meets it may well be one that does not start before.
 */
function beginFault({ arm, lastsMs }: PlannedFault): BegunFault {
  const armed = arm()
  const taken = new AbortController()
  const end = (): void => {
    if (taken.signal.aborted) return
    taken.abort()
    armed.disarm()
  }
  const takeBack = async (): Promise<void> => {
    while (!armed.wasMet() && !taken.signal.aborted) await pause(20)
    await pause(lastsMs, undefined, { signal: taken.signal })
    end()
  }
  if (lastsMs > 0) takeBack().catch(() => undefined)
  return { armed, isOn: () => lastsMs > 0 && !taken.signal.aborted, end }
}

/**
 * Until the fault is over. It is taken back as well when the job has ended without it: else the first question after the
 * end would meet it.
 */
async function waitOut(chaos: ChaosProduct, jobId: number, begun: BegunFault): Promise<void> {
  for (let waited = 1; begun.isOn(); waited += 1) {
    if (waited % 10 === 0 && !begun.armed.wasMet() && (await statusOf(chaos, jobId)) !== null) return begun.end()
    await pause(20)
  }
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
