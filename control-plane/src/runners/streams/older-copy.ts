import type { EndRecord, StreamName } from '@holdfast/protocol'
import { jobOutcomeOf } from '../../jobs/job-port.js'
import type { JobSummaryRow } from '../../store/jobs/jobs.js'
import type { StreamLengths } from '../../store/jobs/job-streams.js'
import type { FullStreams } from './stream-limits.js'

/**
 * The report of a runner about a job, from an older copy of its state folder that an admin accepted. It is compared
 * with what is stored and never replaces it: a stored end stays, and so does every stored byte.
 */
export interface OlderCopy {
  /** The admin who accepted it. */
  readonly acceptedBy: string
  /** The end of the job is stored, so the copy is only compared. */
  readonly isEnded: boolean
}

/** The stored facts of an ended job, to compare a copy with them. */
export interface StoredEnd {
  readonly job: Pick<JobSummaryRow, 'status' | 'abort_requested_by'>
  readonly lengths: StreamLengths
  /** Which streams were cut because they were full. */
  readonly full: FullStreams
  /** SHA-256 of as much of both streams as the copy has, if that much is stored. */
  readonly digests: Readonly<Record<StreamName, string>>
}

/**
 * The differences between the end record of an older copy and what is stored, in words; null when there is none. If the
 * copy only has less than is stored, this is not a difference.
 */
export function contradictionsOf(record: EndRecord, stored: StoredEnd, acceptedBy: string): string | null {
  const { job, lengths, full, digests } = stored
  const claimed = jobOutcomeOf(record, job.abort_requested_by)
  const words: string[] = []
  if (claimed.status !== job.status) {
    words.push(`that it ended as ${claimed.status}${claimed.reason === null ? '' : ` (${claimed.reason})`}`)
  }
  for (const stream of ['output', 'events'] as const) {
    const { length, sha256 } = record[stream]
    if (length > lengths[stream]) {
      if (!full[stream]) words.push(`${length} bytes of ${stream} where ${lengths[stream]} are stored`)
    } else if (digests[stream] !== sha256) {
      words.push(`other bytes of ${stream} than those that are stored`)
    }
  }
  return words.length === 0
    ? null
    : `${copyWords(acceptedBy)} says otherwise: ${words.join('; ')}. What was stored stays`
}

/** The text for a job without a stored end, when the bytes of a copy differ from the stored ones. */
export function differenceWords(acceptedBy: string): string {
  return `${copyWords(acceptedBy)} has other output or events than those that are stored, which stay`
}

/**
 * Why a job ends that the copy does not have. It may have run on the runner after the copy was made. So it is not
 * offered again, and nobody says that it never started.
 */
export function missingReason(runner: string | null, acceptedBy: string): string {
  return `the runner '${runner ?? ''}' knows no longer what became of the job: ${copyWords(acceptedBy)} took the place of what it knew`
}

function copyWords(acceptedBy: string): string {
  return `an older copy of the runner's state folder, accepted by ${acceptedBy},`
}
