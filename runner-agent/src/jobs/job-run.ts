import type { EndRecord } from '@holdfast/protocol'
import { setTimeout as delay } from 'node:timers/promises'
import { createSerialQueue } from '../async.js'
import { describeError, type Logger } from '../log.js'
import { endMarkedProcesses } from '../playbook/process-tree.js'
import { amendEnd } from '../spool/agent-end.js'
import type { JobFolder, Started } from '../spool/job-folder.js'
import { Replica } from '../spool/replica.js'
import { createStreamFile } from '../spool/stream-file.js'
import type { SupervisorWatch } from '../spool/supervisor-watch.js'
import {
  askAbort,
  END_TREE_MS,
  endLostJob,
  endUnwritable,
  startJob,
  type StepOutcome,
  type StepServices,
} from './steps.js'

/**
 * The life of one job on this host, from its claim to its end. The folder is the truth (docs/job-folder.md); these
 * states only say what this process waits for:
 *
 *   claimed    nothing was started yet            → starting, running (an earlier agent had started it), ended
 *   starting   a supervisor was started           → running when started.json is there; ended
 *   running    started.json names the supervisor  → ended when end.json is there; lost when the supervisor is gone
 *   lost       what is left of it is being ended  → ended, removed
 *   ended      end.json is there; its streams go to the app until the app has stored them
 *   removed    somebody has removed its folder: nothing can be told of it any more
 *
 * Whatever takes time (start, abort, ending) goes through one queue, so that each step sees the folder as the step
 * before left it.
 */
export type JobState = 'claimed' | 'starting' | 'running' | 'lost' | 'ended' | 'removed'

/**
 * Pace of looking at a job's files: quick at first, when somebody may wait for the first line, then slow. What comes in
 * between goes out as one piece, since each piece costs the app a synced write; readers hear of news once a second.
 */
const QUICK_LOOK_MS = 25
const SLOW_LOOK_MS = 200
const SLOWING = 1.5

/** How long started.json may be there without being readable: its writer syncs it at once. */
const UNREADABLE_START_MS = 5_000
/** Until a step that failed (a full disk) is tried again. */
const RETRY_MS = 1_000
/** Steps that fail one after the other before a job that was never started is given up: its slot is for others then. */
const MOST_FAILURES = 10

export interface JobRunServices extends StepServices {
  readonly log: Logger
  readonly supervisors: Pick<SupervisorWatch, 'look'>
}

export interface JobRunEvents {
  /** More of it can be sent now. */
  ready(run: JobRun): void
  /** Its end is known. */
  ended(run: JobRun): void
  /** Its folder was removed while it ran, and what ran of it was ended. */
  removed(run: JobRun): void
}

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
  #unreadableSince: number | null = null
  /** How the supervisor that this process started has ended; null: it runs, or another process started it. */
  #supervisorEnd: string | null = null
  #abortWanted = false
  #abortSignalled = false
  #forgotten = false
  #stepsUnderWay = 0
  #failures = 0
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

  /** True when the app does not know this job: it is removed as soon as nothing of it runs. */
  get forgotten(): boolean {
    return this.#forgotten
  }

  /** Starts the job, or finds out how far an earlier agent came with it. */
  begin(): void {
    // It may have been aborted in the very moment of its claim.
    this.#abortWanted ||= this.#folder.abortAsked()
    const end = this.#folder.end()
    if (typeof end === 'object') {
      this.#ended(end)
      return
    }
    this.#step('start', () => this.#start())
    this.#lookLater()
  }

  /** Ends the job and all of its processes; the end record tells when that is done. May be called again. */
  abort(): void {
    if (this.#isOver) return
    this.#abortWanted = true
    this.#abortSignalled = false
    this.#step('abort', () => this.#askAbort())
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

  #lookLater(): void {
    if (this.#isOver) return
    if (this.#timer) clearTimeout(this.#timer)
    this.#timer = setTimeout(() => {
      this.#tryToLook()
    }, this.#lookMs)
  }

  /** A look that fails (no more open files) says nothing about the job: the next one may tell. */
  #tryToLook(): void {
    try {
      this.#look()
    } catch (error) {
      this.#log.error({ error }, 'cannot look at a job; trying again')
      this.#lookMs = RETRY_MS
      this.#lookLater()
    }
  }

  #look(): void {
    if (this.#isOver) return
    const grew = this.replica.look()
    this.#lookMs = grew ? SLOW_LOOK_MS : Math.min(SLOW_LOOK_MS, this.#lookMs * SLOWING)
    if (grew) this.#events.ready(this)
    if (this.#stepsUnderWay === 0) this.#lookForEnd()
    this.#lookLater()
  }

  #lookForEnd(): void {
    // Who is seen gone first has written its end before: so the end is looked for after.
    const gone = this.#isSupervisorGone()
    const end = this.#folder.end()
    if (typeof end === 'object') this.#ended(end)
    else if (end === 'absent' && !this.#folder.exists()) this.#step('end', () => this.#endRemoved())
    else if (gone) this.#step('end', () => this.#endLost())
    // Its start has failed without a trace, or it would be starting.
    else if (this.#state === 'claimed' && this.#folder.started() === 'absent') this.#step('start', () => this.#start())
    else if (this.#abortWanted && !this.#abortSignalled) this.#step('abort', () => this.#askAbort())
  }

  #isSupervisorGone(): boolean {
    const started = this.#started ?? this.#folder.started()
    if (started === 'absent') return this.#supervisorEnd !== null
    if (started === 'unreadable') {
      // A supervisor of this process that is kept from writing (a stopped machine) would start the playbook after its end.
      if (this.#state === 'starting' && this.#supervisorEnd === null) return false
      this.#unreadableSince ??= performance.now()
      return performance.now() - this.#unreadableSince > UNREADABLE_START_MS
    }
    this.#started = started
    if (this.#state === 'starting' || this.#state === 'claimed') this.#state = 'running'
    // One that cannot be seen (another PID namespace) is not gone.
    return started.by === 'agent' || this.#services.supervisors.look(this.#folder, started) === 'gone'
  }

  #ended(end: EndRecord): void {
    if (this.#state !== 'claimed')
      this.#log.info({ cause: end.cause, exit_code: end.exit_code ?? undefined }, 'job ended')
    this.#state = 'ended'
    this.#end = end
    if (this.#timer) clearTimeout(this.#timer)
    this.replica.look()
    this.replica.setEnd(end)
    this.#events.ended(this)
  }

  // ---- steps ----

  /** A step that fails is not forgotten: the looks stop meanwhile, and the next one decides anew what is to be done. */
  #step(name: string, task: () => Promise<void>): void {
    this.#stepsUnderWay += 1
    void this.#steps
      .add(async () => {
        if (!this.#isOver) await task()
        this.#failures = 0
      })
      .catch(async (error: unknown) => {
        this.#failures += 1
        this.#log.error({ step: name, error }, 'a step of a job failed; it is tried again')
        await delay(RETRY_MS, undefined, { ref: false })
        if (this.#failures >= MOST_FAILURES && !this.#isOver && this.#neverStarted) await this.#giveUp(error)
      })
      .finally(() => {
        this.#stepsUnderWay -= 1
      })
  }

  /** Certain only while no supervisor of this process is on its way and no other can have begun. */
  get #neverStarted(): boolean {
    if (this.#started !== null || this.#folder.started() !== 'absent') return false
    return this.#state === 'claimed' || this.#supervisorEnd !== null
  }

  async #giveUp(problem: unknown): Promise<void> {
    try {
      this.#follow(await endUnwritable(this.#folder, this.#services, this.#abortWanted, describeError(problem)))
    } catch (error) {
      this.#log.error({ error }, 'a job that cannot be started cannot be given up either; trying again')
    }
  }

  #follow(outcome: StepOutcome): void {
    if (outcome.kind === 'ended') this.#ended(outcome.end)
    if (outcome.kind !== 'started') return
    this.#state = 'starting'
    void outcome.supervisor.ended.then((how) => {
      this.#supervisorEnd = how
      this.#tryToLook()
    })
  }

  async #start(): Promise<void> {
    const outcome = await startJob(this.#folder, this.#services, this.#abortWanted)
    if (outcome.kind === 'elsewhere') this.#log.info('job found again')
    this.#follow(outcome)
  }

  async #askAbort(): Promise<void> {
    // Without started.json the supervisor is on its way, and a later look says it again.
    this.#abortSignalled = await askAbort(this.#folder, this.#services.now())
  }

  async #endLost(): Promise<void> {
    this.#state = 'lost'
    this.#follow(await endLostJob(this.#folder, this.#services, this.#supervisorEnd))
  }

  /** Without its folder a job can neither be aborted nor tell its end, so it must not go on. */
  async #endRemoved(): Promise<void> {
    this.#state = 'lost'
    const left = await endMarkedProcesses(this.#folder.key.runId, END_TREE_MS)
    this.#log.error(
      { left: left.length > 0 ? left : undefined },
      'the folder of a running job was removed; the job is lost',
    )
    this.#state = 'removed'
    this.#events.removed(this)
  }

  /** The app and the end record do not agree, or a file is shorter than its end: the files decide. */
  #checkEnd(): void {
    void this.#steps
      .add(async () => {
        if (this.#disposed || !this.#end) return
        const end = await amendEnd(this.#folder, this.#end)
        if (end !== this.#end) this.#log.error({ message: end.message }, 'the spool of a job was damaged after its end')
        this.#end = end
        this.replica.setEnd(end)
        this.#events.ready(this)
      })
      .catch((error: unknown) => {
        this.#log.error({ error }, 'cannot check the end of a job; trying again')
        setTimeout(() => {
          this.#checkEnd()
        }, RETRY_MS).unref()
      })
  }
}
