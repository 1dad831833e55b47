import type { BlobCache } from '../files/blob-cache.js'
import { type BlobTransfer, createBlobTransfer } from '../files/blob-transfer.js'
import { createUploadTransfer, type UploadTransfer } from '../files/upload-transfer.js'
import type { Logger } from '../log.js'
import { createSender, type Sender, type SenderPort } from '../spool/sender.js'
import type { IntakePort } from './intake.js'
import type { JobRun } from './job-run.js'
import { createOrphanReports, type OrphanReports } from './orphan-reports.js'
import type { Ownership } from './ownership.js'

/** An offered job is given up when none of its files came for so long, in milliseconds. */
const FILES_TIMEOUT_MS = 60_000
/** Largest single file of a playbook folder. */
const MAX_FILE_BYTES = 4 * 1024 * 1024 * 1024
/** Pause before the streams of a job that could not be read are tried again, in milliseconds. */
const READ_AGAIN_MS = 5_000

/** What a session needs of its connection. */
export interface SessionPort extends SenderPort {
  close(reason: 'going_away', text: string): void
}

/** One connection over which this agent is approved. What belongs to it ends with it. */
export interface Session extends IntakePort {
  readonly sender: Sender
  readonly transfer: BlobTransfer
  readonly uploads: UploadTransfer
  /** Jobs that the control plane does not know. */
  readonly orphans: OrphanReports
  /** From now on the job's streams go over this connection. */
  attach(run: JobRun): void
  detach(run: JobRun): void
  /** A job by the number that frames and acknowledgements carry. */
  find(jobId: number): JobRun | undefined
  /** Ends the connection; the next one begins soon. */
  reconnect(why: string): void
  close(): void
}

/** A session over a connection that has just been approved. No job belongs to it yet. */
export function createSession(
  port: SessionPort,
  { cache, log, ownership }: { readonly cache: BlobCache; readonly log: Logger; readonly ownership: Ownership },
): Session {
  const jobs = new Map<number, JobRun>()
  const send: Session['send'] = (message) => {
    port.send(message)
  }
  const sender = createSender(port, (replica, error) => {
    log.error({ job: replica.key.jobId, error }, 'cannot read the streams of a job; trying again')
    setTimeout(() => {
      if (jobs.get(replica.number)?.replica === replica) sender.add(replica)
    }, READ_AGAIN_MS).unref()
  })
  const transfer = createBlobTransfer({
    cache,
    send,
    timeoutMs: FILES_TIMEOUT_MS,
    maxBlobBytes: MAX_FILE_BYTES,
  })
  const uploads = createUploadTransfer({ send, timeoutMs: FILES_TIMEOUT_MS })
  const orphans = createOrphanReports({ send, foreignService: (folder) => ownership.foreignService(folder) })
  return {
    sender,
    transfer,
    uploads,
    orphans,
    send,
    attach(run) {
      jobs.set(run.replica.number, run)
      sender.add(run.replica)
    },
    detach(run) {
      const { number } = run.replica
      sender.remove(run.replica)
      if (jobs.get(number) === run) jobs.delete(number)
    },
    find: (jobId) => jobs.get(jobId),
    reconnect(why) {
      port.close('going_away', why)
    },
    close() {
      jobs.clear()
      transfer.close()
      uploads.close()
    },
  }
}
