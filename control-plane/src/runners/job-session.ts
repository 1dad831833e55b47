import { ProtocolError, type ServerMessage, type SpooledJob, type StreamFrame } from '@holdfast/protocol'
import type { Logger } from 'pino'
import type { Clock } from '../clock.js'
import type { SealJobSecrets } from '../credentials/job-secrets.js'
import { failJob } from '../jobs/ending.js'
import type { LiveEvents } from '../live/live-events.js'
import { markClaimed, takeQueued } from '../store/dispatch.js'
import type { Store } from '../store/store.js'
import { findJobFiles } from '../store/uploads.js'
import type { UploadFolder } from '../uploads/upload-folder.js'
import { OrderBlobs } from './order-blobs.js'
import { withSecrets } from './order-secrets.js'
import type { JobMessage, RunnerCapacity, RunnerConnection, RunnerSession } from './connection.js'
import { answerInventory, takeBack } from './inventory.js'
import { type PreparedOrder, prepareOrder } from './job-order.js'
import { JobWriter } from './job-writer.js'
import { OfferWatch } from './offer-watch.js'
import type { PlaybookFiles } from './playbook-files.js'
import type { StreamMeters } from './stream-meters.js'
import { UploadSender } from './upload-sender.js'
import { failWaiting, tellWaiting } from './waiting.js'

/** Bytes of one connection that may wait in memory for the database before reading from its socket stops. */
const HIGH_WATER_BYTES = 8 * 1024 * 1024
const LOW_WATER_BYTES = 2 * 1024 * 1024

/** The same for messages that wait to be handled, and for blobs that were asked for. */
const MOST_WAITING_MESSAGES = 500
const MOST_WAITING_BLOBS = 20_000

/** Jobs offered in one go to a runner without a limit. */
const MOST_OFFERS = 32

/** How long nothing is offered after a "busy" or a failure, unless the runner's capacity changes, in milliseconds. */
const BUSY_PAUSE_MS = 10_000

/** Ended jobs that a connection remembers. */
const MOST_ENDED = 100

/** How often an offer is made again because the playbook folder changed under it. */
const MOST_FILE_CHANGES = 5

export interface JobSessionDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly steady: Clock
  readonly live: LiveEvents
  readonly log: Logger
  readonly files: PlaybookFiles
  readonly sealSecrets: SealJobSecrets
  readonly uploads: Pick<UploadFolder, 'path' | 'read'>
  readonly outputLimitBytes: number
  /** RTE_QUEUE_MINUTES, in milliseconds. */
  readonly queueMs: number
  readonly meters?: StreamMeters
  readonly closed: () => void
}

/** A job that this runner was offered or has claimed. */
interface Held {
  readonly writer: JobWriter
  readonly prepared: PreparedOrder | null
  claimed: boolean
}

type Ref = { readonly job_id: number; readonly run_id: string }

/**
 * The job traffic of one connection of an approved runner. The order of things:
 *   1. the agent lists its spool (`inventory`); the database says what becomes of each job (`resume`);
 *   2. only then are jobs offered, as long as there are free slots, oldest first. A job is marked as offered in the
 *      database before the offer is sent, so that whatever happens next nobody takes it for unsent;
 *   3. the agent claims (or refuses) and its streams flow into a JobWriter each, until the end is stored.
 * Control messages are handled one after the other; frames at once, since writers exist before frames can come.
 */
export class JobSession implements RunnerSession {
  readonly #jobs = new Map<number, Held>()
  /** Jobs that ended on this connection: what was on its way when the end was stored is no offence. */
  readonly #ended = new Set<number>()
  readonly #fileChanges = new Map<number, number>()
  /** Jobs whose abort was asked for before they were offered or resumed here: the agent hears of it right after. */
  readonly #lateAborts = new Set<number>()
  readonly #blobs: OrderBlobs
  readonly #offers: OfferWatch
  readonly #uploads: UploadSender
  #messages: Promise<void> = Promise.resolve()
  #pending = 0
  #waiting = 0
  #paused = false
  #listed = false
  #resumed = false
  #open = true
  #offering = false
  #offerAgain = false
  #busyTimer: NodeJS.Timeout | null = null

  constructor(
    private readonly connection: RunnerConnection,
    private capacity: RunnerCapacity,
    private readonly dependencies: JobSessionDependencies,
  ) {
    this.#blobs = new OrderBlobs(connection, dependencies.files, dependencies.log, () => this.#regulate())
    this.#uploads = new UploadSender(connection, dependencies.uploads, dependencies.log)
    this.#offers = new OfferWatch(dependencies.steady)
  }

  message(message: JobMessage): void {
    if (message.type === 'inventory') {
      if (this.#listed) throw new ProtocolError('bad_message', 'a second inventory')
      this.#listed = true
    }
    // `claimed` counts at once: its frames may be the very next thing to arrive.
    if (message.type === 'claimed') this.#claim(message)
    if (message.type === 'end') {
      if (this.#ended.has(message.job_id)) return
      this.#require({ job_id: message.job_id, run_id: message.record.run_id }).writer.takeEnd(message.record)
    }
    this.#waiting += 1
    this.#regulate()
    this.#messages = this.#messages
      .then(() => this.#handle(message))
      .catch((error: unknown) => {
        if (!this.#open) return
        const reason = error instanceof ProtocolError ? error.reason : 'internal_error'
        this.dependencies.log.error({ err: error, runner: this.connection.runnerName }, 'a message of a runner failed')
        this.connection.close(reason, error instanceof ProtocolError ? error.message : 'internal error')
      })
      .finally(() => {
        this.#waiting -= 1
        this.#regulate()
      })
  }

  frame(frame: StreamFrame): void {
    const held = this.#jobs.get(frame.jobId)
    if (this.#ended.has(frame.jobId)) return
    if (!held?.claimed) throw new ProtocolError('not_yours', `job ${frame.jobId} is not with this runner`)
    this.#pending += frame.payload.length
    held.writer.take(frame)
    this.#regulate()
  }

  capacityChanged(capacity: RunnerCapacity): void {
    this.capacity = capacity
    this.#clearBusy()
    this.offer()
  }

  closed(): void {
    this.#open = false
    this.#clearBusy()
    this.#uploads.stopAll()
    for (const { writer } of this.#jobs.values()) writer.close()
    this.dependencies.closed()
  }

  /** Tells the agent to abort a job, at once or as soon as it has heard of it. After a reconnect `resume` says so. */
  abort(jobId: number, runId: string): void {
    if (this.#jobs.has(jobId)) this.#send({ type: 'abort', job_id: jobId, run_id: runId })
    else this.#lateAborts.add(jobId)
  }

  /** Ends a connection whose agent leaves an offer without an answer: its next inventory tells what became of the job. */
  checkOffers(): void {
    const jobId = this.#offers.overdue(this.#blobs.isSending || this.#uploads.isSending)
    if (jobId === null || !this.#open) return
    this.connection.close('internal_error', `the runner gives no answer to the offer of job ${jobId}`)
  }

  /** Offers waiting jobs while there are free slots. Runs once at a time. */
  offer(): void {
    if (this.#offering) {
      this.#offerAgain = true
      return
    }
    this.#offering = true
    this.#offerAll()
      .catch((error: unknown) => {
        this.dependencies.log.error({ err: error, runner: this.connection.runnerName }, 'offering jobs failed')
        this.#leaveAlone()
      })
      .finally(() => {
        this.#offering = false
        if (this.#offerAgain && this.#open) {
          this.#offerAgain = false
          this.offer()
        }
      })
  }

  async #offerAll(): Promise<void> {
    const { store, clock, live } = this.dependencies
    while (this.#open && this.#resumed && this.#freeSlots() > 0) {
      const { jobs, uploads } = await store.write('runners.offer', async (queries) => {
        const taken = await takeQueued(queries, this.connection.runnerId, this.#freeSlots())
        const ids = taken.map((job) => job.id)
        return { jobs: taken, uploads: await findJobFiles(queries, ids) }
      })
      if (jobs.length === 0) return
      let manifest
      try {
        manifest = await this.dependencies.files.manifest()
      } catch (error) {
        const reason = error instanceof Error ? error.message : String(error)
        await store.write('runners.no_files', async (queries) => {
          for (const job of jobs) await failJob(queries, job.id, reason, clock.now())
        })
        live.changed('jobs')
        continue
      }
      for await (const [job, sealed] of withSecrets(this.dependencies, this.connection, jobs)) {
        const files = uploads.filter((file) => file.job_id === job.id)
        const prepared = prepareOrder(job, { files, sealed }, manifest.sha256, {
          outputLimitBytes: this.dependencies.outputLimitBytes,
          uploadPath: this.dependencies.uploads.path,
        })
        this.#hold(job.id, job.run_id, { output: 0, events: 0, eventsCount: 0 }, prepared, false)
        this.#offers.note(job.id)
        this.#send({ type: 'offer', order: prepared.order })
        this.#sayLateAbort(job.id, job.run_id)
      }
    }
    if (this.#open && this.#resumed) await this.#tellOrFailWaiting()
  }

  /** Jobs that stay in the queue learn why: nobody may give them a slot, or there is none free. */
  async #tellOrFailWaiting(): Promise<void> {
    const { runnerId, runnerName } = this.connection
    if (this.capacity.enabled) {
      await tellWaiting(this.dependencies, runnerId, `Waiting for a free slot on RTE ${runnerName}`)
    } else {
      await failWaiting(this.dependencies, runnerId)
    }
  }

  async #handle(message: JobMessage): Promise<void> {
    const { store, clock, live } = this.dependencies
    // The next connection lists its jobs anew. A claim counts in any case: the job may run, and must never run twice.
    if (!this.#open && message.type !== 'claimed') return
    switch (message.type) {
      case 'inventory':
        await this.#resume(message.jobs)
        return
      case 'claimed':
        await store.write('runners.claimed', (queries) => markClaimed(queries, message.job_id))
        live.changed('jobs')
        return
      case 'refused':
        await this.#refused(message)
        return
      case 'want': {
        const { prepared } = this.#require(message)
        if (prepared) {
          this.#offers.note(message.job_id)
          this.#blobs.send(prepared, message.hashes)
        }
        return
      }
      case 'want_upload': {
        const { prepared } = this.#require(message)
        if (prepared) {
          this.#offers.note(message.job_id)
          this.#uploads.send(prepared, message)
        }
        return
      }
      case 'unknown_job':
        // Of a claimed one nothing is left on the runner: it ends like one that the inventory does not name.
        if (this.#drop(message, 'claimed too')) {
          await store.write('runners.aborted', (queries) =>
            takeBack(queries, this.connection.runnerId, message.job_id, clock.now()),
          )
          live.changed('jobs')
          this.offer()
        }
        return
      case 'end':
        return
    }
  }

  async #resume(spooled: readonly SpooledJob[]): Promise<void> {
    const resumptions = await answerInventory(this.dependencies, this.connection.runnerId, spooled)
    for (const { job, stored } of resumptions) {
      if (job.verdict === 'continue') this.#hold(job.job_id, job.run_id, stored, null, true)
    }
    this.dependencies.live.changed('jobs')
    this.#send({ type: 'resume', jobs: resumptions.map(({ job }) => job) })
    for (const { job } of resumptions) this.#sayLateAbort(job.job_id, job.run_id)
    this.#resumed = true
    this.offer()
  }

  async #refused(message: Extract<JobMessage, { type: 'refused' }>): Promise<void> {
    const { store, clock, live, log } = this.dependencies
    if (!this.#drop(message)) return
    log.info({ runner: this.connection.runnerName, job: message.job_id, code: message.code }, message.message)
    const changes = (this.#fileChanges.get(message.job_id) ?? 0) + (message.code === 'files_changed' ? 1 : 0)
    if (message.code === 'files_failed' || changes > MOST_FILE_CHANGES) {
      this.#fileChanges.delete(message.job_id)
      await store.write('runners.refused', (queries) => failJob(queries, message.job_id, message.message, clock.now()))
    } else {
      if (changes > 0) this.#fileChanges.set(message.job_id, changes)
      await store.write('runners.requeue', (queries) =>
        takeBack(queries, this.connection.runnerId, message.job_id, clock.now()),
      )
      if (message.code !== 'files_changed') this.#leaveAlone()
    }
    live.changed('jobs')
    this.offer()
  }

  #claim(ref: Ref): void {
    this.#require(ref).claimed = true
    this.#offers.answered(ref.job_id)
  }

  #hold(
    jobId: number,
    runId: string,
    stored: JobWriter['stored'],
    prepared: PreparedOrder | null,
    claimed: boolean,
  ): void {
    const { store, clock, log, live } = this.dependencies
    const writer = new JobWriter(jobId, runId, stored, {
      store,
      clock,
      log,
      send: (message) => this.#send(message),
      released: (bytes) => this.#released(bytes),
      changed: () => live.changed('jobs'),
      meters: this.dependencies.meters,
      ended: () => {
        this.#jobs.delete(jobId)
        this.#noteEnded(jobId)
        this.#fileChanges.delete(jobId)
        // What a refusal was for (slots, room in the spool) may be over with it.
        this.#clearBusy()
        this.offer()
      },
    })
    this.#jobs.set(jobId, { writer, prepared, claimed })
  }

  #send(message: ServerMessage): void {
    if (this.#open) this.connection.send(message)
  }

  #sayLateAbort(jobId: number, runId: string): void {
    if (this.#lateAborts.delete(jobId)) this.abort(jobId, runId)
  }

  #noteEnded(jobId: number): void {
    this.#ended.add(jobId)
    const [oldest] = this.#ended
    if (this.#ended.size > MOST_ENDED && oldest !== undefined) this.#ended.delete(oldest)
  }

  /** The held job of a message. @throws ProtocolError `not_yours` */
  #require(ref: Ref): Held {
    const held = this.#jobs.get(ref.job_id)
    if (held?.writer.runId !== ref.run_id)
      throw new ProtocolError('not_yours', `job ${ref.job_id} is not with this runner`)
    return held
  }

  #drop(ref: Ref, which: 'unclaimed' | 'claimed too' = 'unclaimed'): boolean {
    const held = this.#jobs.get(ref.job_id)
    if (held?.writer.runId !== ref.run_id || (held.claimed && which === 'unclaimed')) return false
    held.writer.close()
    this.#offers.answered(ref.job_id)
    this.#uploads.stop(ref.job_id)
    return this.#jobs.delete(ref.job_id)
  }

  #released(bytes: number): void {
    this.#pending -= bytes
    this.#regulate()
  }

  /** Stops reading when more comes than can be worked off, and goes on when most of it is done. */
  #regulate(): void {
    const [pending, waiting, blobs] = [this.#pending, this.#waiting, this.#blobs.waiting]
    if (!this.#paused) {
      if (pending <= HIGH_WATER_BYTES && waiting <= MOST_WAITING_MESSAGES && blobs <= MOST_WAITING_BLOBS) return
      this.#paused = true
      this.connection.pause()
    } else if (pending < LOW_WATER_BYTES && waiting < MOST_WAITING_MESSAGES / 2 && blobs < MOST_WAITING_BLOBS / 2) {
      this.#paused = false
      this.connection.resume()
    }
  }

  #freeSlots(): number {
    const { enabled, draining, maxJobs } = this.capacity
    if (!enabled || draining || this.#busyTimer) return 0
    return maxJobs === 0 ? MOST_OFFERS : Math.min(MOST_OFFERS, maxJobs - this.#jobs.size)
  }

  #leaveAlone(): void {
    this.#clearBusy()
    if (!this.#open) return
    this.#busyTimer = setTimeout(() => {
      this.#busyTimer = null
      this.offer()
    }, BUSY_PAUSE_MS)
  }

  #clearBusy(): void {
    if (this.#busyTimer) clearTimeout(this.#busyTimer)
    this.#busyTimer = null
  }
}
