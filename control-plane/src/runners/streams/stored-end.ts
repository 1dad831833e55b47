import type { EndRecord } from '@holdfast/protocol'
import { endJob, jobOutcomeOf } from '../../jobs/job-port.js'
import { storeComparison } from '../../store/jobs/job-details.js'
import { findJobSummary } from '../../store/jobs/jobs.js'

/** The end of a job, when all bytes of its streams are there. */
export interface CompleteEnd {
  readonly record: EndRecord
  /** SHA-256 in hexadecimal of the runner's output as people see it. */
  readonly shown: string
}

/**
 * Stores the end of a job, and how its stored streams compare with the end record.
 * @param found remarks for the detail of the job; whether the stored bytes are exactly those of the end record
 */
export async function storeEnd(
  queries: Parameters<typeof endJob>[0],
  jobId: number,
  { record, shown }: CompleteEnd,
  found: { readonly words: readonly string[]; readonly isWhole: boolean },
  now: number,
): Promise<void> {
  const job = await findJobSummary(queries, jobId)
  const outcome = jobOutcomeOf(record, job?.abort_requested_by ?? null)
  const detail = [outcome.detail, ...found.words].filter((part) => part !== null).join('; ') || null
  await endJob(queries, jobId, { ...outcome, detail }, now)
  // Bytes that the runner itself could not keep are also missing.
  const isVerified = found.isWhole && record.output.dropped_bytes === 0 && record.events.dropped === 0
  await storeComparison(queries, jobId, {
    integrity: isVerified ? 'verified' : 'incomplete',
    output_sha256: isVerified ? shown : null,
    events_sha256: isVerified ? record.events.sha256 : null,
    verified_at: now,
  })
}

/**
 * Describes what a power loss removed from the runner's files after it was stored here. The stored bytes stay, because
 * the runner has no better ones.
 */
export function lostOnRunner(output: number, events: number): string | null {
  if (output === 0 && events === 0) return null
  return `the runner lost its last ${output} bytes of output and ${events} of events, which had been stored here before`
}
