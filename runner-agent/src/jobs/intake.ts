import type { AgentMessage, EndRecord, JobOrder, REFUSALS } from '@holdfast/protocol'
import { join } from 'node:path'
import type { BlobCache } from '../files/blob-cache.js'
import { BlobGoneError, type BlobTransfer, TransferStalledError } from '../files/blob-transfer.js'
import type { UploadStore } from '../files/upload-store.js'
import type { UploadTransfer } from '../files/upload-transfer.js'
import { describeError, type Logger } from '../log.js'
import type { OpenSecrets } from '../playbook/secrets.js'
import { writeSynced } from '@holdfast/host/durable'
import { isErrno, isPassing } from '@holdfast/host/system-errors'
import { claimText, folderNameOf, type JobFolder, type JobKey } from '../spool/job-folder.js'
import type { Spool, StagedJob } from '../spool/spool.js'
import { prepareJob } from './prepare-job.js'

type RefusalCode = (typeof REFUSALS)[number]

/** Why an offered job is not taken. */
export interface Refusal {
  readonly code: RefusalCode
  readonly message: string
}

/** How long the trouble of an offer is shown, in milliseconds. A waiting job is offered again every ten seconds. */
const TROUBLE_MS = 30_000

/**
 * An offered job before its claim. It holds a slot. While its state is `gathering` it can be dropped at any moment. While
 * its state is `claiming` it cannot: the claim is being written. After that it is in the spool, or it is not.
 */
interface Reservation {
  readonly key: JobKey
  readonly port: IntakePort
  readonly cancel: AbortController
  /** Fingerprint of the control plane that offered it. */
  readonly service: string
  state: 'gathering' | 'claiming'
}

/** What the intake needs of the connection that an offer came over. */
export interface IntakePort {
  send(message: AgentMessage): void
  readonly transfer: BlobTransfer
  readonly uploads: UploadTransfer
}

/** What the intake needs. */
export interface IntakeDependencies {
  readonly spool: Spool
  readonly cache: BlobCache
  readonly uploadStore: UploadStore
  readonly log: Logger
  readonly now: () => Date
  readonly bootId: string
  /** Fingerprint of the control plane at hand: jobs are claimed from it. */
  readonly service: () => string
  /** Permission bits that nothing in a work folder gets; null: the playbooks are on this host. */
  readonly filesUmask: number | null
  readonly openSecrets: OpenSecrets
  /** Why no job can be taken now, or null. */
  readonly refusal: () => Refusal | null
  /** A job has just become one of the spool. */
  readonly claimed: (folder: JobFolder, port: IntakePort) => void
}

/** From the offer of a job to its claim. */
export interface Intake {
  /** Offered jobs that are not claimed yet. Each holds a slot. */
  readonly count: number
  /** Claims that are being written. Nothing can stop them any more: soon they are jobs of the spool. */
  readonly claiming: number
  /** The passing problem because of which the last offer was not taken; null: there was none, or it was long ago. */
  readonly trouble: string | null
  /** Takes the job or refuses it. The answer goes out over the port. */
  offer(order: JobOrder, port: IntakePort): void
  /** Gives a reservation up. `claiming` means that it is too late. Then ask again after `settled`. */
  drop(key: JobKey): 'dropped' | 'claiming' | 'unknown'
  /** Gives up all that are not being claimed, and says so to the control plane. */
  refuseAll(code: RefusalCode, message: string): void
  /** Gives up all that are not being claimed, without a word: the connection is lost. */
  dropAll(): void
  /** Resolves when the claims that are being written now have succeeded or failed, and `claimed` was called for each. */
  settled(): Promise<void>
}

/** An intake without offers yet. */
export function createIntake(deps: IntakeDependencies): Intake {
  return new OfferIntake(deps)
}

class OfferIntake implements Intake {
  readonly #deps: IntakeDependencies
  readonly #log: Logger
  /** By the name of the job's folder. */
  readonly #reservations = new Map<string, Reservation>()
  readonly #claims = new Set<Promise<void>>()
  #trouble: { readonly text: string; readonly at: number } | null = null

  constructor(deps: IntakeDependencies) {
    this.#deps = deps
    this.#log = deps.log
  }

  get count(): number {
    return this.#reservations.size
  }

  get claiming(): number {
    return this.#claims.size
  }

  get trouble(): string | null {
    return this.#trouble !== null && performance.now() - this.#trouble.at < TROUBLE_MS ? this.#trouble.text : null
  }

  offer(order: JobOrder, port: IntakePort): void {
    const key = { jobId: order.job_id, runId: order.run_id }
    const name = folderNameOf(key)
    // The same offer came twice: the answer to the first one is on its way.
    if (this.#reservations.has(name)) return
    const past = this.#pastEnd(key)
    if (past !== null && 'record' in past) {
      this.#log.warn(
        { job: key.jobId, run: key.runId },
        'a run was offered that is over; the control plane is told its end',
      )
      port.send({ type: 'recalled', job_id: key.jobId, run_id: key.runId, known: true, record: past.record })
      return
    }
    const refusal = past ?? this.#deps.refusal() ?? this.#secretsRefusal(order)
    if (refusal) {
      this.#refuse(key, port, refusal)
      return
    }
    const cancel = new AbortController()
    const reservation: Reservation = { key, port, cancel, service: this.#deps.service(), state: 'gathering' }
    this.#reservations.set(name, reservation)
    void this.#take(reservation, order)
      .finally(() => {
        if (this.#reservations.get(name) === reservation) this.#reservations.delete(name)
      })
      .then(() => this.#deps.cache.trim())
      .catch((error: unknown) => {
        this.#log.error({ job: key.jobId, error }, 'cannot clear up after an offer')
      })
  }

  drop(key: JobKey): 'dropped' | 'claiming' | 'unknown' {
    const name = folderNameOf(key)
    const reservation = this.#reservations.get(name)
    if (!reservation) return 'unknown'
    if (reservation.state === 'claiming') return 'claiming'
    this.#reservations.delete(name)
    reservation.cancel.abort(new Error('the offer was given up'))
    return 'dropped'
  }

  refuseAll(code: RefusalCode, message: string): void {
    for (const { key, port } of [...this.#reservations.values()]) {
      if (this.drop(key) === 'dropped') this.#refuse(key, port, { code, message })
    }
  }

  dropAll(): void {
    for (const { key } of [...this.#reservations.values()]) this.drop(key)
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#claims)
  }

  /** Prepares a job and claims it, or refuses it. */
  async #take(reservation: Reservation, order: JobOrder): Promise<void> {
    const { key, cancel } = reservation
    const { spool } = this.#deps
    let staged: StagedJob | null = null
    try {
      staged = await spool.stage(key)
      await this.#prepare(reservation, order, staged)
      reservation.state = 'claiming'
      const claiming = this.#claim(reservation, order, staged).catch((error: unknown) => {
        reservation.state = 'gathering'
        throw error
      })
      this.#claims.add(claiming)
      await claiming.finally(() => this.#claims.delete(claiming))
    } catch (error) {
      if (staged)
        await spool.discard(staged).catch((problem: unknown) => {
          this.#log.warn({ job: key.jobId, error: problem }, 'cannot clear up after an offer; the next start does')
        })
      if (!cancel.signal.aborted) this.#refuseFailed(reservation, error)
    }
  }

  async #prepare({ port, cancel }: Reservation, order: JobOrder, staged: StagedJob): Promise<void> {
    const { cache, uploadStore, filesUmask } = this.#deps
    const { transfer, uploads } = port
    await prepareJob(order, staged, { cache, uploadStore, filesUmask, transfer, uploads, signal: cancel.signal })
  }

  async #claim({ service, port }: Reservation, order: JobOrder, staged: StagedJob): Promise<void> {
    const { spool, now, bootId, claimed } = this.#deps
    await writeSynced(join(staged.path, 'claim.json'), claimText(order, now(), bootId, service))
    const folder = await spool.admit(staged)
    this.#trouble = null
    claimed(folder, port)
  }

  #refuse({ jobId, runId }: JobKey, port: IntakePort, { code, message }: Refusal): void {
    this.#log.info({ job: jobId, code }, `job refused: ${message}`)
    port.send({ type: 'refused', job_id: jobId, run_id: runId, code, message: message.slice(0, 4000) })
  }

  #refuseFailed({ key, port }: Reservation, error: unknown): void {
    // When the disk of the spool is away, nothing is wrong with the job: it may be offered again.
    const away = this.#deps.spool.problem()
    const code = away === null ? refusalCodeOf(error) : 'busy'
    const message = away ?? describeError(error)
    if (code === 'busy') {
      this.#trouble = { text: `job ${key.jobId} cannot be taken yet: ${message}`, at: performance.now() }
    }
    this.#refuse(key, port, { code, message })
  }

  /** Refuses a job whose secrets cannot be opened now: they never can be, and a playbook must not run without them. */
  #secretsRefusal(order: JobOrder): Refusal | null {
    try {
      this.#deps.openSecrets(order)
      return null
    } catch (error) {
      return { code: 'files_failed', message: describeError(error) }
    }
  }

  /** What is known of a run that was over before. When that cannot be looked up now, the job may be offered again. */
  #pastEnd(key: JobKey): Refusal | { readonly record: EndRecord } | null {
    try {
      if (!this.#deps.spool.isPast(key)) return null
      const record = this.#deps.spool.endOf(key)
      return record === null ? RAN_BEFORE : { record }
    } catch (error) {
      return {
        code: 'busy',
        message: `it cannot be looked up whether this run was over before: ${describeError(error)}`,
      }
    }
  }
}

/**
 * The database of the control plane was restored from an older backup, so only this host knows that the playbook ran.
 */
const RAN_BEFORE: Refusal = {
  code: 'files_failed',
  message: 'this run was over before and is not started again: the database that asks for it is older than its end',
}

/** The code that tells the control plane whether offering the job again can help. */
function refusalCodeOf(error: unknown): RefusalCode {
  if (error instanceof BlobGoneError) return 'files_changed'
  if (isErrno(error, 'ENOSPC', 'EDQUOT', 'EROFS')) return 'spool_full'
  // Such a trouble of the host or its disk passes. So the job may be offered again, however often. A file that is not
  // there (ENOENT) went with the spool or the cache, and these may be back by now.
  const isOverSoon = isPassing(error) || isErrno(error, 'ENOENT') || error instanceof TransferStalledError
  return isOverSoon ? 'busy' : 'files_failed'
}
