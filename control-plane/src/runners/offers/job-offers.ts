import type { AgentMessage, ServerMessage } from '@holdfast/protocol'
import type { Logger } from 'pino'
import type { Clock } from '../../time/clock.js'
import type { SealJobSecrets } from '../../credentials/job/sealing.js'
import { UnavailableError, messageOf } from '../../errors.js'
import { failJob } from '../../jobs/job-port.js'
import { takeQueued } from '../../store/jobs/dispatch.js'
import { isRunOf } from '../../store/jobs/jobs.js'
import type { JobChanges } from '../held/job-changes.js'
import { type JobFile, findJobFiles } from '../../store/uploads/uploads.js'
import type { UploadFolder } from '../../uploads/upload-folder.js'
import type { RunnerCapacity, RunnerConnection } from '../socket/connection.js'
import type { HeldJobs, JobRef } from '../held/held-jobs.js'
import { takeBack } from '../held/spooled-jobs.js'
import { decideOffers, decideRefusal, type OfferFacts } from './decide-offers.js'
import { prepareOrder } from './job-order.js'
import { type JobWithFiles, withFiles } from './offer-files.js'
import type { OfferWatch } from './offer-watch.js'
import { withSecrets } from './order-secrets.js'
import type { PlaybookFiles } from '../files/playbook-files.js'
import { failUnservable, writeWaitingLine } from './waiting-jobs.js'

/**
 * How long nothing is offered after a refusal with "busy" or a failure, in milliseconds. A change of the runner's
 * capacity ends the pause.
 */
const BUSY_PAUSE_MS = 10_000

/** What the offers of every connection need of other parts. */
export interface OfferNeeds extends JobChanges {
  readonly log: Logger
  readonly files: PlaybookFiles
  readonly sealSecrets: SealJobSecrets
  readonly uploads: Pick<UploadFolder, 'path'>
  readonly outputLimitBytes: number
  /** RTE_QUEUE_MINUTES, in milliseconds. */
  readonly queueMs: number
}

/** What the offers of one connection need of other parts. */
export interface JobOffersDependencies extends OfferNeeds {
  readonly steady: Clock
  /** Does nothing when the connection is gone. */
  readonly send: (message: ServerMessage) => void
}

/**
 * Offers the waiting jobs of a runner to its agent while there are free slots, oldest first. A job is marked as offered
 * in the database before the offer is sent. So, whatever happens next, no offer that was sent is missing in the
 * database. The states of this part:
 *
 * - not started: the agent's spool is not known yet
 * - offering ⇄ resting, after a refusal with "busy" or a failure
 * - closed
 *
 * A job that was taken out of the queue is offered, or it goes back, or the connection is closed. In the last case the
 * next inventory shows what happened to it. A step that fails in between never leaves a job `offered` without an offer.
 */
export class JobOffers {
  readonly #fileChanges = new Map<number, number>()
  /** Jobs that were taken out of the queue and have not been offered yet. */
  readonly #taken = new Map<number, JobRef>()
  #isStarted = false
  #isOpen = true
  #isOffering = false
  #offerAgain = false
  #rest: NodeJS.Timeout | null = null
  /** The reason why nothing is offered for a while. */
  #restsBecause = ''

  constructor(
    private readonly connection: RunnerConnection,
    private capacity: RunnerCapacity,
    private readonly held: HeldJobs,
    private readonly watch: OfferWatch,
    private readonly dependencies: JobOffersDependencies,
  ) {}

  /** Call it when it is known which jobs the agent has, and which it was offered before. */
  start(): void {
    this.#isStarted = true
    this.offer()
  }

  capacityChanged(capacity: RunnerCapacity): void {
    this.capacity = capacity
    this.#endRest()
    this.offer()
  }

  /** The end of a job is stored. So the reason of a refusal (no slot, no space in the spool) may be over. */
  jobEnded(jobId: number): void {
    this.#fileChanges.delete(jobId)
    this.#endRest()
    this.offer()
  }

  /** Offers waiting jobs while there are free slots. Runs once at a time. */
  offer(): void {
    if (this.#isOffering) {
      this.#offerAgain = true
      return
    }
    this.#isOffering = true
    this.#offerAll()
      .catch((error: unknown) => {
        this.dependencies.log.error({ err: error, runner: this.connection.runnerName }, 'offering jobs failed')
        return this.#resolveTaken(error)
      })
      .finally(() => {
        this.#isOffering = false
        if (this.#offerAgain && this.#isOpen) {
          this.#offerAgain = false
          this.offer()
        }
      })
  }

  /** The agent refused an offer. The job fails, or goes back to its place in the queue. */
  async refused({ job_id, run_id, code, message }: Extract<AgentMessage, { type: 'refused' }>): Promise<void> {
    const { store, clock, live, log, ends } = this.dependencies
    log.info({ runner: this.connection.runnerName, job: job_id, code }, message)
    const changes = (this.#fileChanges.get(job_id) ?? 0) + (code === 'files_changed' ? 1 : 0)
    const step = decideRefusal(code, changes)
    if (step.kind === 'fail') {
      this.#fileChanges.delete(job_id)
      await store.write('runners.refused', async (queries) => {
        if (await isRunOf(queries, job_id, run_id)) await failJob(queries, job_id, message, clock.now())
      })
    } else {
      if (changes > 0) this.#fileChanges.set(job_id, changes)
      await store.write('runners.requeue', (queries) =>
        takeBack(queries, this.connection.fingerprint, { job_id, run_id }, clock.now()),
      )
      if (step.rests) this.#restAWhile(`takes no job now (${message})`)
    }
    live.changed('jobs')
    ends?.jobEnded()
    this.offer()
  }

  /**
   * True while jobs are being taken out of the queue. Meanwhile a job that is `offered` in the database may not have
   * been offered to the agent yet.
   */
  get isOffering(): boolean {
    return this.#isOffering
  }

  /** The reason why the runner takes no jobs now, such as `has no free slot`; null: no reason is known. */
  get whyNotTaken(): string | null {
    const { draining, maxJobs } = this.capacity
    if (!this.#isStarted || this.#isOffering) return null
    if (draining) return 'is draining and takes no new jobs'
    if (this.#rest) return this.#restsBecause
    return maxJobs > 0 && this.held.count >= maxJobs ? 'has no free slot' : null
  }

  close(): void {
    this.#isOpen = false
    this.#endRest()
  }

  /** After a failure: the jobs go back to their places in the queue, or the connection ends. */
  async #resolveTaken(failure: unknown): Promise<void> {
    const { store, clock, live, ends, log } = this.dependencies
    const refs = [...this.#taken.values()]
    this.#taken.clear()
    try {
      // It is not known whether jobs were taken, and which.
      if (isAnswerLost(failure)) throw failure
      if (refs.length > 0) {
        await store.write('runners.give_back', async (queries) => {
          for (const ref of refs) await takeBack(queries, this.connection.fingerprint, ref, clock.now())
        })
        live.changed('jobs')
        ends?.jobEnded()
      }
      this.#restAWhile('could not be offered any: that failed here')
    } catch (error) {
      log.warn({ runner: this.connection.runnerName, reason: messageOf(error) }, 'the connection ends: jobs were taken')
      this.connection.close('internal_error', 'jobs were taken for this runner and could not be offered')
    }
  }

  /** Decides and carries out, one step after the other, until there is nothing left to do. */
  async #offerAll(): Promise<void> {
    const { runnerId, runnerName } = this.connection
    let isQueueEmpty = false
    for (;;) {
      const step = decideOffers(this.#facts(isQueueEmpty))
      switch (step.kind) {
        case 'stop':
          return
        case 'take':
          isQueueEmpty = !(await this.#take())
          break
        case 'say-waiting':
          await writeWaitingLine(this.dependencies, runnerId, `Waiting for a free slot on runner ${runnerName}`)
          return
        case 'fail-waiting':
          await failUnservable(this.dependencies, runnerId)
          return
      }
    }
  }

  #facts(isQueueEmpty: boolean): OfferFacts {
    return {
      isOpen: this.#isOpen,
      isStarted: this.#isStarted,
      isResting: this.#rest !== null,
      capacity: this.capacity,
      heldJobs: this.held.count,
      isQueueEmpty,
    }
  }

  /** Takes jobs out of the queue and offers them. Returns false when none waits. */
  async #take(): Promise<boolean> {
    const { runnerId, fingerprint } = this.connection
    const { store, clock } = this.dependencies
    const { jobs, uploads } = await store.write('runners.offer', async (queries) => {
      const now = clock.now()
      // The write may have waited for others, and slots may have been taken meanwhile.
      const step = decideOffers(this.#facts(false))
      const taken = step.kind === 'take' ? await takeQueued(queries, runnerId, fingerprint, step.count, now) : []
      const ids = taken.map((job) => job.id)
      return { jobs: taken, uploads: await findJobFiles(queries, ids) }
    })
    if (jobs.length === 0) return false
    for (const { id, run_id } of jobs) this.#taken.set(id, { job_id: id, run_id })
    await this.#send(await withFiles(this.dependencies, jobs), uploads)
    this.#taken.clear()
    return true
  }

  async #send(ready: readonly JobWithFiles[], uploads: readonly JobFile[]): Promise<void> {
    const manifests = new Map(ready.map(({ job, manifest }) => [job.id, manifest]))
    const jobs = ready.map(({ job }) => job)
    for await (const [job, secrets] of withSecrets(this.dependencies, this.connection, jobs)) {
      const manifest = manifests.get(job.id)
      if (manifest === undefined) continue
      const files = uploads.filter((file) => file.job_id === job.id)
      const prepared = prepareOrder(job, { files, secrets }, manifest, {
        outputLimitBytes: this.dependencies.outputLimitBytes,
        uploadPath: this.dependencies.uploads.path,
      })
      this.held.offer(prepared)
      this.#taken.delete(job.id)
      this.watch.note(job.id)
      this.dependencies.send({ type: 'offer', order: prepared.order })
      this.held.sayLateAbort(prepared.order)
    }
  }

  #restAWhile(why: string): void {
    this.#endRest()
    this.#restsBecause = why
    if (!this.#isOpen) return
    this.#rest = setTimeout(() => {
      this.#rest = null
      this.offer()
    }, BUSY_PAUSE_MS)
  }

  #endRest(): void {
    if (this.#rest) clearTimeout(this.#rest)
    this.#rest = null
  }
}

/** True when it is not known whether the write was committed. */
function isAnswerLost(error: unknown): boolean {
  return error instanceof UnavailableError && error.code === 'database_answer_lost'
}
