import type { EndRecord } from '@holdfast/protocol'
import { setTimeout as delay } from 'node:timers/promises'
import { createSerialQueue } from '@holdfast/host/queues'
import { describeError, type Logger } from '../log.js'
import { lastWordOf, type SupervisorEnd, type SupervisorProcess } from '../playbook/supervisor.js'
import { amendEnd, keepEnd, type KnownEnd } from '../spool/agent-end.js'
import type { Claim, JobFolder, Started } from '../spool/job-folder.js'
import { Replica } from '../spool/replica.js'
import { withMove } from '../spool/state-of-start.js'
import { createStreamFile } from '../spool/stream-file.js'
import type { SupervisorWatch } from '../spool/supervisor-watch.js'
import { type AbortMemory, type AbortTimeouts, decide, type JobMemory, type Step } from './decide.js'
import { countFailedWrites } from './failed-writes.js'
import { type JobFacts, readFacts, type SupervisorChild } from './facts.js'
import { askAbort, endLost, endUnstarted, forceAbort, giveUp, startJob, type StepServices } from './steps.js'

/**
 * The life of one job on this host, from its claim to its end. The agent knows the job only from its folder
 * (docs/job-folder.md). Each look reads the facts of the folder (facts.ts). `decide` chooses the next step (decide.ts).
 * This module carries out that step, one at a time. The states only say how far the job was seen to be:
 *
 *   claimed    nothing was started yet            → starting, running (an earlier agent had started it), ended
 *   starting   a supervisor was started           → running when started.json is there; ended
 *   running    started.json names the supervisor  → ended when end.json is there; lost when the supervisor is gone
 *   lost       what is left of it is being ended  → ended
 *   ended      end.json is there; its streams go to the control plane until the control plane has stored them
 *   removed    somebody has removed its folder and nothing of it runs: nothing more can be said about it
 */
export type JobState = 'claimed' | 'starting' | 'running' | 'lost' | 'ended' | 'removed'

/**
 * Pause between two looks at a job's files. It is short at first, when somebody may wait for the first line, and then
 * longer. The bytes of a longer pause go out as one piece, and each piece costs the control plane a synced write. Readers
 * get news once a second anyway.
 */
const QUICK_LOOK_MS = 25
const SLOW_LOOK_MS = 200
const SLOWING = 1.5

/** Pause before a step that failed (a full disk), or a look that gave no answer, is tried again, in milliseconds. */
const RETRY_MS = 1_000

/** What a job needs of the agent. */
export interface JobRunServices extends StepServices {
  readonly log: Logger
  readonly supervisors: Pick<SupervisorWatch, 'look' | 'lookAtTorn'>
  readonly abortTimeouts: AbortTimeouts
}

/** What a job tells its owner. */
export interface JobRunEvents {
  /** More of it can be sent now. */
  ready(run: JobRun): void
  /** Its end is known. */
  ended(run: JobRun): void
  /** It has ended, and not all of its output and events were kept. */
  incomplete(run: JobRun): void
  /** Its folder was removed, and nothing of it runs any more. */
  removed(run: JobRun): void
}

/** An abort as this process remembers it. Times are milliseconds of the monotonic clock. */
interface AskedAbort {
  readonly since: number
  told: number | null
  forced: { readonly supervisor: boolean; readonly at: number } | null
}

/** One job of the spool. It does nothing before `begin`. */
export class JobRun {
  readonly replica: Replica
  readonly #folder: JobFolder
  readonly #services: JobRunServices
  readonly #events: JobRunEvents
  readonly #log: Logger
  readonly #steps = createSerialQueue()
  #state: JobState = 'claimed'
  #end: EndRecord | null = null
  #started: Started | null = null
  #before: JobFacts | null = null
  #supervisor: SupervisorProcess | null = null
  #child: SupervisorChild = 'none'
  #abort: AskedAbort | null = null
  #unstarted: KnownEnd | null = null
  #forgotten = false
  #isBusy = false
  readonly #failedWrites = countFailedWrites()
  #trouble: string | null = null
  /** Why the last supervisor started nothing; null: there was none, or one has started the job since. */
  #startProblem: string | null = null
  #timer: NodeJS.Timeout | null = null
  #lookMs = QUICK_LOOK_MS
  #disposed = false

  constructor(folder: JobFolder, services: JobRunServices, events: JobRunEvents) {
    this.#folder = folder
    this.#services = services
    this.#events = events
    this.#log = services.log.child({ job: folder.key.jobId })
    const files = {
      output: createStreamFile(folder.file('output.log')),
      events: createStreamFile(folder.file('events.jsonl')),
    }
    this.replica = new Replica(folder.key, files, {
      doubt: () => {
        this.#checkEnd()
      },
      ready: () => {
        events.ready(this)
      },
    })
  }

  get folder(): JobFolder {
    return this.#folder
  }

  get state(): JobState {
    return this.#state
  }

  /** How it ended; null: it has not, as far as this process has seen. */
  get end(): EndRecord | null {
    return this.#end
  }

  /** What keeps the job from going on, or from being seen; null: nothing does. */
  get trouble(): string | null {
    return this.#trouble ?? this.#startProblem
  }

  /** True when the control plane does not know this job: it is removed as soon as nothing of it runs. */
  get forgotten(): boolean {
    return this.#forgotten
  }

  /** Starts the job, or finds out how far an earlier agent came with it. */
  begin(): void {
    this.#look()
  }

  /** Ends the job and all of its processes; the end record tells when that is done. May be called again. */
  abort(): void {
    if (this.#isOver) return
    this.#abort ??= { since: performance.now(), told: null, forced: null }
    this.#abort.told = null
    this.#look()
  }

  /** Ends the job like `abort`; `ended` is called when it is over, at once when it is already. */
  forget(): void {
    this.#forgotten = true
    if (this.#state === 'ended') this.#events.ended(this)
    else this.abort()
  }

  /** Lets go of the job: it runs on, and its folder stays as it is. */
  async dispose(): Promise<void> {
    this.#disposed = true
    if (this.#timer) clearTimeout(this.#timer)
    await this.#steps.idle()
    await this.replica.close()
  }

  // ---- looking ----

  get #isOver(): boolean {
    return this.#disposed || this.#state === 'ended' || this.#state === 'removed'
  }

  #look(): void {
    if (this.#isOver) return
    const grew = this.replica.look()
    this.#lookMs = grew ? SLOW_LOOK_MS : Math.min(SLOW_LOOK_MS, this.#lookMs * SLOWING)
    if (grew) this.#events.ready(this)
    if (!this.#isBusy) this.#decide()
    this.#lookLater()
  }

  #lookLater(): void {
    if (this.#isOver) return
    if (this.#timer) clearTimeout(this.#timer)
    const pace = this.trouble === null ? this.#lookMs : RETRY_MS
    this.#timer = setTimeout(() => {
      this.#look()
    }, pace)
  }

  #decide(): void {
    const facts = readFacts(this.#folder, this.#started, this.#child, this.#services.supervisors)
    if (facts.started.kind === 'present') {
      if (this.#started === null && this.#state === 'claimed') this.#log.info('job found again')
      this.#started = facts.started.content
      this.#startProblem = null
      if (this.#started.by !== 'agent' && facts.supervisor === 'alive') this.#state = 'running'
    }
    // An earlier agent noted this abort in the folder.
    if (facts.abort.kind === 'present') this.#abort ??= { since: performance.now(), told: null, forced: null }
    const step = decide(facts, this.#memory())
    this.#before = facts
    this.#tellTrouble(step.do === 'wait' ? step.because : null)
    this.#take(step)
  }

  #memory(): JobMemory {
    const { bootId, abortTimeouts } = this.#services
    const memory = { bootId, abortTimeouts, before: this.#before, child: this.#child, abort: this.#abortNow() }
    return { ...memory, unstarted: this.#unstarted, unwritable: this.#failedWrites.unwritable }
  }

  #abortNow(): AbortMemory | null {
    if (this.#abort === null) return null
    const { since, told, forced } = this.#abort
    const now = performance.now()
    return {
      askedMs: now - since,
      toldMs: told === null ? null : now - told,
      forced: forced === null ? null : { supervisor: forced.supervisor, ms: now - forced.at },
    }
  }

  /** Logs a trouble once, and again when it changes or is over. */
  #tellTrouble(trouble: string | null): void {
    if (trouble === this.#trouble) return
    if (trouble !== null)
      this.#log.warn({ problem: trouble }, 'cannot look at a job as it must be; waiting until it can be')
    else this.#log.info('the job can be looked at again')
    this.#trouble = trouble
  }

  // ---- steps ----

  #take(step: Step): void {
    switch (step.do) {
      case 'wait':
        return
      case 'follow':
        this.#ended(step.end)
        if (this.#folder.end().kind === 'absent') this.#keepEnd(step.end)
        return
      case 'report removed':
        this.#log.error('the folder of a running job was removed; the job is lost')
        this.#state = 'removed'
        this.#events.removed(this)
        return
      case 'start':
        this.#carryOut(step.do, () => this.#start(step.claim))
        return
      case 'end unstarted':
        this.#carryOut(step.do, () => this.#endUnstarted(step.end))
        return
      case 'end lost':
        if (step.wasStarted) this.#state = 'lost'
        this.#carryOut(step.do, async () => {
          this.#ended(await endLost(this.#folder, this.#services, step.end, step.wasStarted))
        })
        return
      case 'give up':
        this.#carryOut(step.do, async () => {
          this.#ended(await giveUp(this.#folder, this.#services, this.#abort !== null, step.problem))
        })
        return
      case 'ask abort':
        this.#carryOut(step.do, () => this.#askAbort())
        return
      case 'force abort':
        this.#carryOut(step.do, () => this.#forceAbort(step.supervisor))
    }
  }

  /** Carries out one step. Nothing is decided meanwhile. When the step fails, the job is decided about anew after a pause. */
  #carryOut(name: string, task: () => Promise<void>): void {
    this.#isBusy = true
    void this.#steps
      .add(async () => {
        if (!this.#isOver) await task()
        this.#failedWrites.succeeded()
      })
      .catch(async (error: unknown) => {
        this.#log.error({ step: name, error }, 'a step of a job failed; it is tried again')
        this.#trouble = `${name}: ${describeError(error)}`
        this.#failedWrites.failed(error, this.#abort !== null)
        await delay(RETRY_MS, undefined, { ref: false })
      })
      .finally(() => {
        this.#isBusy = false
      })
  }

  async #start(claim: Claim): Promise<void> {
    const outcome = await startJob(this.#folder, this.#services, claim)
    if (outcome.kind === 'refused') {
      await this.#endUnstarted(outcome.end)
      return
    }
    this.#state = 'starting'
    this.#child = 'running'
    this.#supervisor = outcome.supervisor
    void outcome.supervisor.ended.then((end) => {
      this.#supervisorEnded(end)
    })
  }

  #supervisorEnded({ how, isToTryAgain }: SupervisorEnd): void {
    this.#supervisor = null
    this.#child = isToTryAgain ? 'none' : { how: [how, lastWordOf(this.#folder)].filter(Boolean).join(': ') }
    // A job that could not be started yet waits for its next look. By then the host may have what it lacked.
    if (isToTryAgain) this.#waitToStart([how, lastWordOf(this.#folder)].filter(Boolean).join(': '))
    else this.#look()
  }

  #waitToStart(problem: string): void {
    if (problem !== this.#startProblem) this.#log.warn({ problem }, 'a job cannot be started yet; it is tried again')
    this.#startProblem = problem
    this.#lookLater()
  }

  async #endUnstarted(end: KnownEnd): Promise<void> {
    this.#unstarted = end
    const record = await endUnstarted(this.#folder, this.#services, end)
    // Otherwise somebody else has taken the start. The next look tells who.
    if (record !== null) this.#ended(record)
  }

  async #askAbort(): Promise<void> {
    // Without started.json the supervisor is still starting. A later look tells it again.
    const isTold = await askAbort(this.#folder, this.#services.now())
    if (this.#abort !== null && isTold) this.#abort.told = performance.now()
  }

  async #forceAbort(supervisor: boolean): Promise<void> {
    this.#log.warn({ supervisor }, 'the supervisor does not end the job, so the agent ends its processes')
    const kill = this.#supervisor?.kill ?? null
    const left = await forceAbort(this.#folder, this.#services.now(), supervisor, kill)
    if (left.length > 0) this.#log.error({ left }, 'processes of a job cannot be ended')
    if (this.#abort !== null) this.#abort.forced = { supervisor, at: performance.now() }
  }

  // ---- the end ----

  #ended(end: EndRecord): void {
    if (this.#state !== 'claimed')
      this.#log.info({ cause: end.cause, exit_code: end.exit_code ?? undefined }, 'job ended')
    this.#state = 'ended'
    this.#end = withMove(end, this.#folder)
    this.#sayLoss(end)
    this.#trouble = null
    this.#startProblem = null
    if (this.#timer) clearTimeout(this.#timer)
    this.replica.setEnd(this.#end)
    this.#events.ended(this)
  }

  #sayLoss({ output: { dropped_bytes: bytes }, events: { dropped: events } }: EndRecord): void {
    if (bytes === 0 && events === 0) return
    const what = { output_bytes_lost: bytes, events_lost: events }
    this.#log.warn(what, 'not all that the job printed was kept: was the disk of the state folder full?')
    this.#events.incomplete(this)
  }

  /** The end is only in the second place, which is memory. The folder gets it as soon as the disk takes it. */
  #keepEnd(end: EndRecord): void {
    void this.#steps
      .add(async () => {
        if (!this.#disposed) await keepEnd(this.#folder, end)
      })
      .catch(() => {
        if (this.#disposed) return
        this.#timer = setTimeout(() => {
          this.#keepEnd(end)
        }, RETRY_MS)
      })
  }

  /** The control plane and the end record disagree, or a file is shorter than the end record says. The files decide. */
  #checkEnd(): void {
    void this.#steps
      .add(async () => {
        if (this.#disposed || !this.#end) return
        const end = await amendEnd(this.#folder, this.#end)
        if (end !== this.#end) this.#log.error({ message: end.message }, 'the spool of a job was damaged after its end')
        this.#end = end
        this.#trouble = null
        this.replica.setEnd(end)
        this.#events.ready(this)
      })
      .catch((error: unknown) => {
        this.#log.error({ error }, 'cannot check the end of a job; trying again')
        this.#trouble = `the end cannot be checked: ${describeError(error)}`
        setTimeout(() => {
          this.#checkEnd()
        }, RETRY_MS).unref()
      })
  }
}
