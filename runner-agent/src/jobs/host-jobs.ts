import type { BlobFrame } from '@holdfast/protocol'
import type { BlobCache } from '../files/blob-cache.js'
import type { UploadStore } from '../files/upload-store.js'
import type { JobFolder } from '../spool/job-folder.js'
import { createIntake, type Intake, type IntakeDependencies, type IntakePort, type Refusal } from './intake.js'
import { refOfKey } from './job-refs.js'
import { effectiveMaxJobs, refusalOf } from './offer-refusal.js'
import { createSession, type Session, type SessionPort } from './session.js'
import { SpooledRuns, type SpooledRunsDependencies } from './spooled-runs.js'
import { type JobMessage, WorkMessages } from './work-messages.js'

/**
 * After so long without a control plane the agent decides about the jobs of the spool without one. A restart of the
 * control plane takes less time.
 */
const ALONE_MS = 60_000

/** What the jobs of a host need. */
export interface HostJobsDependencies
  extends SpooledRunsDependencies, Pick<IntakeDependencies, 'bootId' | 'now' | 'openSecrets' | 'filesUmask'> {
  readonly cache: BlobCache
  readonly uploadStore: UploadStore
  readonly ownMaxJobs: number
  /** Most playbooks at once whatever a limit says; 0: as many as the limit says. */
  readonly mostJobs: () => number
  /** Why no job is taken until a person has done something; null: jobs are taken. */
  readonly problem: () => string | null
  /** Why no job can be taken just now: the disk, or no more files can be opened; null: all is well. */
  readonly hostProblem: () => Refusal | null
  readonly spoolMaxBytes: number
  /** Whether the state folder is a copy that no control plane has let in. Then nothing is decided about its jobs. */
  readonly isCopied: () => boolean
  /** Running jobs, the limit or the draining changed. */
  readonly changed: () => void
  /** Does something after so many milliseconds, unless the agent ends before. @returns a function that cancels it */
  readonly after: (milliseconds: number, task: () => void) => () => void
}

/** All jobs of this host. What the control plane says about jobs is carried out here. */
export interface HostJobs {
  /**
   * Finds the jobs that are in the spool. The agent decides about them (they are started, found again, or lost) when a
   * control plane has accepted this runner, or when none has answered for a while. A job that looks lost from here may
   * be the work of another agent on the same folder, or on the folder that this one is a copy of. The control plane
   * knows which of them counts.
   * @throws the system's error when the spool cannot be read; that says nothing about its jobs
   */
  load(): Promise<void>
  /** A control plane answers and has not accepted this runner yet. Its decision is waited for, however long it takes. */
  wait(): void
  /** The agent is approved over this connection: the control plane hears of every job in the spool. */
  connected(port: SessionPort): void
  /** The connection is over. */
  disconnected(): void
  take(message: JobMessage): void
  takeBlob(frame: BlobFrame): void
  /** The admin's limit, which wins over the agent's own; null: there is none. */
  limit(maxJobs: number | null): void
  /** No new jobs from now on. */
  drain(): void
  /** Ends all jobs, also those whose claim is being written. */
  abortAll(): void
  figures(): HostJobsFigures
  /** Lets go of all jobs: they run on, and their folders stay. */
  dispose(): Promise<void>
}

/** What the probes and the control plane are told about the jobs of this host. */
export interface HostJobsFigures {
  readonly runningJobs: number
  /** Claims that are being written. Each is a running job soon. */
  readonly claimingJobs: number
  readonly maxJobs: number
  readonly draining: boolean
  /** Jobs in the spool, ended ones too. */
  readonly spooledJobs: number
  /** Bytes of output and events in the spool. */
  readonly spoolBytes: number
  /** Jobs that the control plane has stored and that are kept for a while, and their bytes of output and events. */
  readonly keptRuns: number
  readonly keptBytes: number
  readonly unacknowledgedBytes: number
  /** Jobs since the start that ended without all of their output and events. */
  readonly incompleteJobs: number
  /** What keeps a job from going on, or from being seen, in a sentence; null: nothing does. */
  readonly trouble: string | null
}

/** The jobs of a host whose spool was not read yet. */
export function createHostJobs(deps: HostJobsDependencies): HostJobs {
  return new SpooledHostJobs(deps)
}

class SpooledHostJobs implements HostJobs {
  readonly #deps: HostJobsDependencies
  readonly #runs: SpooledRuns
  readonly #intake: Intake
  readonly #messages: WorkMessages
  #session: Session | null = null
  #adminMaxJobs: number | null = null
  #draining = false
  #aborting = false
  /** Ends the wait for a control plane. */
  #waitNoMore = (): void => undefined

  constructor(deps: HostJobsDependencies) {
    const { log, ownership } = deps
    this.#deps = deps
    this.#runs = new SpooledRuns(deps, () => this.#session)
    this.#intake = createIntake({
      ...deps,
      service: () => ownership.atHand(),
      refusal: () => this.#refusal(),
      claimed: (folder, port) => {
        this.#claimed(folder, port)
      },
    })
    this.#messages = new WorkMessages({
      runs: this.#runs,
      intake: this.#intake,
      ownership,
      spool: deps.spool,
      log,
      isCurrent: (session) => this.#session === session,
    })
  }

  async load(): Promise<void> {
    const { log, spool, after, isCopied } = this.#deps
    const folders = await spool.list()
    for (const folder of folders) this.#runs.addUnjudged(folder)
    if (folders.length === 0) return
    log.info({ jobs: folders.length }, 'jobs found in the spool; a control plane is waited for before they are judged')
    // The original may still run them, so only a control plane can say that they belong to this agent.
    if (isCopied()) return
    this.#waitNoMore = after(ALONE_MS, () => {
      this.#judge()
    })
  }

  wait(): void {
    this.#waitNoMore()
  }

  connected(port: SessionPort): void {
    this.#judge()
    this.#session = createSession(port, this.#deps)
    void this.#announce(this.#session)
  }

  disconnected(): void {
    this.#session?.close()
    this.#session = null
    this.#intake.dropAll()
  }

  take(message: JobMessage): void {
    if (this.#session) this.#messages.take(message, this.#session)
  }

  takeBlob(frame: BlobFrame): void {
    this.#session?.transfer.take(frame)
    this.#session?.uploads.take(frame)
  }

  limit(maxJobs: number | null): void {
    this.#adminMaxJobs = maxJobs
    this.#deps.changed()
  }

  drain(): void {
    this.#draining = true
    this.#intake.refuseAll('draining', 'the runner is stopping')
    this.#deps.changed()
  }

  abortAll(): void {
    this.#aborting = true
    // Jobs about which nothing was decided yet are aborted, too: the setting asks for all jobs of this host.
    if (!this.#deps.isCopied()) this.#judge()
    for (const run of this.#runs.judged()) run.abort()
  }

  figures(): HostJobsFigures {
    const kept = this.#deps.spool.kept()
    return {
      runningJobs: this.#runs.running,
      claimingJobs: this.#intake.claiming,
      maxJobs: this.#maxJobs,
      // A runner with a problem says that it drains, so the control plane offers nothing.
      draining: this.#draining || this.#deps.problem() !== null,
      spooledJobs: this.#runs.size,
      spoolBytes: this.#runs.spoolBytes,
      keptRuns: kept.length,
      keptBytes: kept.reduce((sum, { output, events }) => sum + output + events, 0),
      unacknowledgedBytes: this.#session?.sender.unacknowledged() ?? 0,
      incompleteJobs: this.#runs.incomplete,
      trouble: this.#runs.trouble ?? this.#intake.trouble,
    }
  }

  async dispose(): Promise<void> {
    this.#waitNoMore()
    this.disconnected()
    await this.#intake.settled()
    await this.#runs.dispose()
  }

  get #maxJobs(): number {
    return effectiveMaxJobs(this.#adminMaxJobs ?? this.#deps.ownMaxJobs, this.#deps.mostJobs())
  }

  #judge(): void {
    this.#waitNoMore()
    this.#runs.judge()
  }

  #refusal(): Refusal | null {
    const { problem, hostProblem, spoolMaxBytes } = this.#deps
    return refusalOf({
      problem: problem(),
      hostProblem: hostProblem(),
      draining: this.#draining,
      maxJobs: this.#maxJobs,
      slotsTaken: this.#runs.running + this.#intake.count,
      spooledJobs: this.#runs.size,
      spoolBytes: this.#runs.spoolBytes,
      spoolMaxBytes,
    })
  }

  #claimed(folder: JobFolder, port: IntakePort): void {
    const run = this.#runs.add(folder)
    port.send({ type: 'claimed', ...refOfKey(folder.key) })
    if (this.#session === port) this.#session.attach(run)
    if (this.#aborting) run.abort()
    run.begin()
    this.#deps.changed()
  }

  /** Lists the spool. It waits for claims that are being written: such a job is in the list, or was never claimed. */
  async #announce(to: Session): Promise<void> {
    await this.#intake.settled()
    if (this.#session === to) to.send({ type: 'inventory', jobs: this.#runs.list() })
  }
}
