import { ProtocolError, type ServerMessage, type SpooledJob, type StreamFrame } from '@holdfast/protocol'
import type { UploadFolder } from '../../uploads/upload-folder.js'
import { markClaimed } from '../../store/jobs/dispatch.js'
import { isRunOf } from '../../store/jobs/jobs.js'
import type { JobMessage, RunnerCapacity, RunnerConnection, RunnerSession } from '../socket/connection.js'
import { HeldJobs, type JobRef } from '../held/held-jobs.js'
import { answerInventory, takeBack } from '../held/spooled-jobs.js'
import { JobOffers, type OfferNeeds } from '../offers/job-offers.js'
import { type RecalledRuns, createRecalledRuns } from '../held/recalled-runs.js'
import type { PreparedOrder } from '../held/prepared-order.js'
import { OfferWatch } from '../offers/offer-watch.js'
import { OrderBlobs } from '../offers/order-blobs.js'
import { ReadingGate } from '../socket/reading-gate.js'
import { refOf, SessionOrphans } from '../held/session-orphans.js'
import { UploadSender } from '../offers/upload-sender.js'
import type { StreamLimits } from '../streams/stream-limits.js'
import type { StreamMeters } from '../streams/stream-meters.js'
import type { Clock } from '../../time/clock.js'

/** What every job session needs of other parts. */
export interface SessionNeeds extends OfferNeeds {
  readonly uploads: Pick<UploadFolder, 'path' | 'read'>
  /** Limits of what is stored of one job. */
  readonly limits: StreamLimits
  readonly meters?: StreamMeters
}

/**
 * The job traffic of one connection of an approved runner. Things happen in this order:
 *
 * 1. The agent lists its spool (`inventory`). The database says how each job goes on (`resume`).
 * 2. Only then are jobs offered (JobOffers).
 * 3. The agent claims or refuses them. The streams of claimed jobs arrive until the end of the job is stored
 *   (HeldJobs).
 *
 * Control messages are handled one after the other. Frames and ends are handled at once, because their writers exist
 * before they can arrive.
 */
export class JobSession implements RunnerSession {
  readonly #held: HeldJobs
  readonly #offers: JobOffers
  readonly #watch: OfferWatch
  readonly #blobs: OrderBlobs
  readonly #uploads: UploadSender
  readonly #gate: ReadingGate
  readonly #orphans: SessionOrphans
  readonly #recalled: RecalledRuns
  #messages: Promise<void> = Promise.resolve()
  /** Number of messages that are being handled or wait for their turn. */
  #handling = 0
  #isListed = false
  #isResumed = false
  #isOpen = true
  /** Jobs that the latest check found without an offer on this connection. */
  #withoutOffer: ReadonlySet<number> = new Set()

  constructor(
    private readonly connection: RunnerConnection,
    capacity: RunnerCapacity,
    private readonly dependencies: SessionNeeds & { readonly steady: Clock; readonly closed: () => void },
  ) {
    const { files, uploads, log, steady } = dependencies
    const send = (message: ServerMessage): void => this.#send(message)
    this.#gate = new ReadingGate(connection, () => this.#blobs.waiting)
    this.#blobs = new OrderBlobs(connection, files, log, () => this.#gate.blobSent())
    this.#uploads = new UploadSender(connection, uploads, log)
    this.#watch = new OfferWatch(steady)
    this.#held = new HeldJobs({
      ...dependencies,
      send,
      released: (bytes) => this.#gate.releasedBytes(bytes),
      ended: (jobId) => this.#offers.jobEnded(jobId),
      missing: (jobId) => {
        if (this.#isOpen)
          connection.close('internal_error', `job ${jobId} is not in the database any more; list it anew`)
      },
    })
    this.#orphans = new SessionOrphans(connection, this.#held, { ...dependencies, send })
    this.#recalled = createRecalledRuns(dependencies, connection)
    this.#offers = new JobOffers(connection, capacity, this.#held, this.#watch, { ...dependencies, send })
  }

  /** The number of its connection (`runner.epoch`). */
  get epoch(): number {
    return this.connection.epoch
  }

  /** Whether the runner has a job. */
  get holdsJobs(): boolean {
    return this.#held.count > 0
  }

  message(message: JobMessage): void {
    if (message.type === 'end') {
      this.#held.takeEnd(message.job_id, message.record)
      return
    }
    if (message.type === 'inventory') {
      if (this.#isListed) throw new ProtocolError('bad_message', 'a second inventory')
      this.#isListed = true
    }
    // A claim counts at once, because the first frames of the job may arrive right after it.
    if (message.type === 'claimed') {
      this.#held.claim(message)
      this.#watch.answered(message.job_id)
    }
    this.#take(() => this.#handle(message))
  }

  /**
   * Runs tasks one after the other. A task that fails ends the connection, and the next connection begins with a new
   * list.
   */
  #take(task: () => Promise<void>): void {
    this.#gate.tookMessage()
    this.#handling += 1
    this.#messages = this.#messages
      .then(task)
      .catch((error: unknown) => {
        if (!this.#isOpen) return
        const reason = error instanceof ProtocolError ? error.reason : 'internal_error'
        this.dependencies.log.error({ err: error, runner: this.connection.runnerName }, 'a message of a runner failed')
        this.connection.close(reason, error instanceof ProtocolError ? error.message : 'internal error')
      })
      .finally(() => {
        this.#handling -= 1
        this.#gate.handledMessage()
      })
  }

  frame(frame: StreamFrame): void {
    this.#held.takeFrame(frame, (bytes) => this.#gate.tookBytes(bytes))
  }

  capacityChanged(capacity: RunnerCapacity): void {
    this.#offers.capacityChanged(capacity)
  }

  closed(): void {
    this.#isOpen = false
    this.#offers.close()
    this.#uploads.stopAll()
    this.#held.close()
    this.dependencies.closed()
  }

  /**
   * Asks the agent to abort a job: at once, or as soon as it has heard of the job. After a reconnect, `resume` says so.
   */
  abort(jobId: number, runId: string): void {
    this.#held.abort(jobId, runId)
  }

  /**
   * Ends a connection whose agent leaves an offer without an answer. Its next inventory shows what happened to the job.
   */
  checkOffers(): void {
    const jobId = this.#watch.overdue(this.#blobs.isSending || this.#uploads.isSending)
    if (jobId === null || !this.#isOpen) return
    this.connection.close('internal_error', `the runner gives no answer to the offer of job ${jobId}`)
  }

  /** An admin decided about jobs of the runner that waited for this decision. */
  orphansDecided(): void {
    if (this.#isListed) this.#take(() => this.#orphans.carryOut())
  }

  /**
   * Ends this connection if the database says that a job is `offered` to its runner, and the connection does not know
   * that job. The next inventory then shows what happened to it. Two checks in a row must find the job, because the
   * first one may be older than what this connection has done since.
   * @param offered the jobs of this runner that the database has as offered
   */
  checkOffered(offered: readonly number[]): void {
    const isQuiet = this.#isResumed && this.#handling === 0 && !this.#offers.isOffering
    const lost = isQuiet ? offered.filter((id) => !this.#held.has(id) && !this.#recalled.isAsked(id)) : []
    const again = lost.find((id) => this.#withoutOffer.has(id))
    this.#withoutOffer = new Set(lost)
    if (again === undefined || !this.#isOpen) return
    this.dependencies.log.warn(
      { runner: this.connection.runnerName, job: again },
      'a job is offered and nobody offers it',
    )
    this.connection.close('internal_error', `nobody knows of the offer of job ${again}`)
  }

  /** The reason why the runner takes no jobs, such as `has no free slot`; null: no reason is known. */
  get whyNotTaken(): string | null {
    return this.#offers.whyNotTaken
  }

  /** Call it when jobs may wait for this runner. */
  offer(): void {
    this.#offers.offer()
  }

  async #handle(message: Exclude<JobMessage, { type: 'end' }>): Promise<void> {
    const { store, clock, live } = this.dependencies
    // The next connection lists its jobs again. A claim always counts, because the job may run, and it must never run
    // twice.
    if (!this.#isOpen && message.type !== 'claimed') return
    switch (message.type) {
      case 'inventory':
        await this.#resume(message.jobs)
        return
      case 'claimed':
        await store.write('runners.claimed', async (queries) => {
          if (!(await isRunOf(queries, message.job_id, message.run_id))) return
          await markClaimed(queries, message.job_id, this.epoch, clock.now())
        })
        live.changed('jobs')
        return
      case 'refused':
        if (this.#drop(message, 'unclaimed')) await this.#offers.refused(message)
        return
      case 'want':
        this.#wanted(message, (prepared) => this.#blobs.send(prepared, message.hashes))
        return
      case 'want_upload':
        this.#wanted(message, (prepared) => this.#uploads.send(prepared, message))
        return
      case 'unknown_job':
        // The runner claimed the job and has nothing of it any more. So the job ends like a job that is missing in the
        // inventory.
        if (this.#drop(message, 'claimed too')) await this.#resolveUnknown(message)
        else await this.#orphans.gone(message.run_id)
        return
      case 'orphan':
        await this.#orphans.take(message)
        return
      case 'recalled':
        await this.#recalled.take(message, this.#drop(message, 'unclaimed'))
        this.#jobEnded()
        return
    }
  }

  async #resume(spooled: readonly SpooledJob[]): Promise<void> {
    const { answers, missing } = await answerInventory(this.dependencies, this.connection, spooled)
    for (const { job, stored, full, copy } of answers) {
      if (job.verdict === 'continue') this.#held.resume(refOf(job), stored, full, job.abort, copy)
    }
    this.dependencies.live.changed('jobs')
    this.dependencies.ends?.jobEnded()
    this.#send({ type: 'resume', jobs: answers.map(({ job }) => job) })
    for (const { job } of answers) {
      this.#held.sayFull(refOf(job))
      this.#held.sayLateAbort(refOf(job))
    }
    this.#recalled.ask(missing)
    if (missing.length > 0) this.#send({ type: 'recall', jobs: [...missing] })
    this.#orphans.listed(answers.map(({ job }) => job))
    await this.#orphans.carryOut()
    this.#isResumed = true
    this.#offers.start()
  }

  /** The agent needs something for a job that was offered to it. */
  #wanted(ref: JobRef, send: (prepared: PreparedOrder) => void): void {
    const prepared = this.#held.orderOf(ref)
    if (!prepared) return
    this.#watch.note(ref.job_id)
    send(prepared)
  }

  async #resolveUnknown(ref: JobRef): Promise<void> {
    const { store, clock } = this.dependencies
    await store.write('runners.aborted', (queries) => takeBack(queries, this.connection.fingerprint, ref, clock.now()))
    this.#jobEnded()
  }

  #jobEnded(): void {
    this.dependencies.live.changed('jobs')
    this.dependencies.ends?.jobEnded()
    this.#offers.offer()
  }

  #drop(ref: JobRef, which: 'unclaimed' | 'claimed too'): boolean {
    if (!this.#held.drop(ref, which)) return false
    this.#watch.answered(ref.job_id)
    this.#uploads.stop(ref.job_id)
    return true
  }

  #send(message: ServerMessage): void {
    if (this.#isOpen) this.connection.send(message)
  }
}
