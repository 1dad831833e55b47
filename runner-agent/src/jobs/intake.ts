import type { AgentMessage, JobOrder, REFUSALS } from '@holdfast/protocol'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { BlobCache } from '../files/blob-cache.js'
import { BlobGoneError, type BlobTransfer, TransferStalledError } from '../files/blob-transfer.js'
import { gatherInputs } from '../files/gather.js'
import { gatherUploads, withUploadPaths } from '../files/gather-uploads.js'
import type { UploadStore } from '../files/upload-store.js'
import type { UploadTransfer } from '../files/upload-transfer.js'
import { describeError, type Logger } from '../log.js'
import { extravarsText } from '../playbook/plan.js'
import type { OpenSecrets } from '../playbook/secrets.js'
import { isErrno, isPassing, writeSynced } from '../host/durable.js'
import { claimText, folderNameOf, type JobFolder, type JobKey } from '../spool/job-folder.js'
import type { Spool, StagedJob } from '../spool/spool.js'

type RefusalCode = (typeof REFUSALS)[number]

/** How long is said what kept an offer from being taken. While the job waits it is offered anew every ten seconds. */
const TROUBLE_MS = 30_000

/**
 * An offered job before its claim. It holds a slot. `gathering` can be dropped at any moment; `claiming` cannot: the
 * claim is being written, and is in the spool or not when that is over.
 */
interface Reservation {
  readonly key: JobKey
  readonly port: IntakePort
  readonly cancel: AbortController
  /** Fingerprint of the control plane that offered it. */
  readonly service: string | null
  state: 'gathering' | 'claiming'
}

/** What the intake needs of the connection that an offer came over. */
export interface IntakePort {
  send(message: AgentMessage): void
  readonly transfer: BlobTransfer
  readonly uploads: UploadTransfer
}

export interface IntakeOptions {
  readonly spool: Spool
  readonly cache: BlobCache
  readonly uploadStore: UploadStore
  readonly log: Logger
  readonly now: () => Date
  readonly bootId: string
  /** Fingerprint of the control plane at hand: jobs are claimed from it. */
  readonly service: () => string | null
  /** True when the control plane sends playbook folders. */
  readonly withFiles: boolean
  readonly openSecrets: OpenSecrets
  /** Why no job can be taken now, or null. Reservations are counted by `count`. */
  readonly refusal: () => { code: RefusalCode; message: string } | null
  /** A job has just become one of the spool. */
  readonly claimed: (folder: JobFolder, port: IntakePort) => void
}

/** From the offer of a job to its claim. */
export interface Intake {
  readonly count: number
  /** Claims that are being written: nothing can stop them from being jobs of the spool soon. */
  readonly claiming: number
  /** What kept the last offer from being taken, when that passes; null: nothing did, or it is long ago. */
  readonly trouble: string | null
  offer(order: JobOrder, port: IntakePort): void
  /** Gives a reservation up. `claiming` means: too late, ask again after `settled`. */
  drop(key: JobKey): 'dropped' | 'claiming' | 'unknown'
  /** Gives up all that are not being claimed, and says so to the control plane. */
  refuseAll(code: RefusalCode, message: string): void
  /** Gives up all that are not being claimed: the connection is lost. */
  dropAll(): void
  /** Resolves when no claim is being written any more, and those that were are told. */
  settled(): Promise<void>
}

export function createIntake(options: IntakeOptions): Intake {
  const { spool, cache, uploadStore, log } = options
  const reservations = new Map<string, Reservation>()
  const claims = new Set<Promise<void>>()
  let trouble: { readonly text: string; readonly at: number } | null = null

  const refuse = (key: JobKey, port: IntakePort, code: RefusalCode, message: string): void => {
    log.info({ job: key.jobId, code }, `job refused: ${message}`)
    port.send({ type: 'refused', job_id: key.jobId, run_id: key.runId, code, message: message.slice(0, 4000) })
  }

  /** Secrets that cannot be opened now never can be, and a playbook must not run without them. */
  const secretsRefusal = (order: JobOrder): { code: RefusalCode; message: string } | null => {
    try {
      options.openSecrets(order)
      return null
    } catch (error) {
      return { code: 'files_failed', message: describeError(error) }
    }
  }

  /** What cannot be looked up now may have run before: it is asked for again. */
  const pastRefusal = (key: JobKey): { code: RefusalCode; message: string } | null => {
    try {
      return spool.isPast(key) ? RAN_BEFORE : null
    } catch (error) {
      return {
        code: 'busy',
        message: `it cannot be looked up whether this run was over before: ${describeError(error)}`,
      }
    }
  }

  /** Everything before the claim: the work folder and the variables, in a folder that nobody else looks at. */
  const prepare = async (
    reservation: Reservation,
    order: JobOrder,
    staged: StagedJob,
    port: IntakePort,
  ): Promise<void> => {
    const { key, cancel } = reservation
    const extravars = await gatherInputs({
      key,
      order,
      cache,
      transfer: port.transfer,
      workFolder: options.withFiles ? join(staged.path, 'work') : null,
      signal: cancel.signal,
    })
    const uploads = join(staged.path, 'uploads')
    await gatherUploads({ key, order, uploadStore, transfer: port.uploads, folder: uploads, signal: cancel.signal })
    const placed = withUploadPaths(extravars, order, staged.destination.file('uploads'))
    const text = extravarsText(placed, order.allow_jinja)
    await writeFile(join(staged.path, 'extravars.yml'), text, { mode: 0o600 })
    cancel.signal.throwIfAborted()
  }

  const claim = async ({ service, port }: Reservation, order: JobOrder, staged: StagedJob): Promise<void> => {
    const text = claimText(order, options.now(), options.bootId, service)
    await writeSynced(join(staged.path, 'claim.json'), text)
    const folder = await spool.admit(staged)
    trouble = null
    options.claimed(folder, port)
  }

  const take = async (reservation: Reservation, order: JobOrder, port: IntakePort): Promise<void> => {
    const { key, cancel } = reservation
    let staged: StagedJob | null = null
    try {
      staged = await spool.stage(key)
      await prepare(reservation, order, staged, port)
      reservation.state = 'claiming'
      const claiming = claim(reservation, order, staged).catch((error: unknown) => {
        reservation.state = 'gathering'
        throw error
      })
      claims.add(claiming)
      await claiming.finally(() => claims.delete(claiming))
    } catch (error) {
      if (staged)
        await spool.discard(staged).catch((problem: unknown) => {
          log.warn({ job: key.jobId, error: problem }, 'cannot clear up after an offer; the next start does')
        })
      if (cancel.signal.aborted) return
      // Nothing of the job is wrong when the disk of the spool is away: it is none the worse for being asked again.
      const away = spool.problem()
      const code = away === null ? refusalCodeOf(error) : 'busy'
      const text = away ?? describeError(error)
      if (code === 'busy') trouble = { text: `job ${key.jobId} cannot be taken yet: ${text}`, at: performance.now() }
      refuse(key, port, code, text)
    }
  }

  return {
    get count() {
      return reservations.size
    },

    get claiming() {
      return claims.size
    },

    get trouble() {
      return trouble !== null && performance.now() - trouble.at < TROUBLE_MS ? trouble.text : null
    },

    offer(order, port) {
      const key = { jobId: order.job_id, runId: order.run_id }
      const name = folderNameOf(key)
      // Said twice: the answer to the first is on its way.
      if (reservations.has(name)) return
      const refusal = pastRefusal(key) ?? options.refusal() ?? secretsRefusal(order)
      if (refusal) {
        refuse(key, port, refusal.code, refusal.message)
        return
      }
      const cancel = new AbortController()
      const reservation: Reservation = { key, port, cancel, service: options.service(), state: 'gathering' }
      reservations.set(name, reservation)
      void take(reservation, order, port)
        .finally(() => {
          if (reservations.get(name) === reservation) reservations.delete(name)
        })
        .then(() => cache.trim())
        .catch((error: unknown) => {
          log.error({ job: key.jobId, error }, 'cannot clear up after an offer')
        })
    },

    drop(key) {
      const name = folderNameOf(key)
      const reservation = reservations.get(name)
      if (!reservation) return 'unknown'
      if (reservation.state === 'claiming') return 'claiming'
      reservations.delete(name)
      reservation.cancel.abort(new Error('the offer was given up'))
      return 'dropped'
    },

    refuseAll(code, message) {
      for (const { key, port } of [...reservations.values()]) {
        if (this.drop(key) === 'dropped') refuse(key, port, code, message)
      }
    },

    dropAll() {
      for (const { key } of [...reservations.values()]) this.drop(key)
    },

    async settled() {
      await Promise.allSettled(claims)
    },
  }
}

/** The database of the control plane went back in time: only this host knows that the playbook ran. */
const RAN_BEFORE = {
  code: 'files_failed',
  message: 'this run was over before and is not started again: the database that asks for it is older than its end',
} as const

function refusalCodeOf(error: unknown): RefusalCode {
  if (error instanceof BlobGoneError) return 'files_changed'
  if (isErrno(error, 'ENOSPC', 'EDQUOT', 'EROFS')) return 'spool_full'
  // Of the host and its disk, and over at some time: the job is none the worse for being asked again, however often. What is
  // not there (ENOENT) went with the spool or the cache, which may be back by now.
  const isOverSoon = isPassing(error) || isErrno(error, 'ENOENT') || error instanceof TransferStalledError
  return isOverSoon ? 'busy' : 'files_failed'
}
