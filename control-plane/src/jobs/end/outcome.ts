import type { EndRecord } from '@holdfast/protocol'
import type { JobStatus } from '../../words/job-status.js'

/** How a job ended, as the interface shows it. */
export interface JobOutcome {
  readonly status: Extract<JobStatus, 'success' | 'failed' | 'warning' | 'aborted'>
  /** The reason in one sentence; null for a success. */
  readonly reason: string | null
  /** Facts that the status does not tell, such as cut output or missing events. */
  readonly detail: string | null
}

/** What the exit statuses of ansible-playbook mean. */
const EXIT_MEANINGS: Readonly<Record<number, string>> = {
  1: 'an error stopped it',
  2: 'a host failed',
  3: 'hosts were unreachable',
  4: 'a host was unreachable, or the playbook could not be read',
  5: 'bad or incomplete options',
  99: 'it was interrupted',
  250: 'an unexpected error',
}

/**
 * The outcome of a run. Only the exit status decides between success and failure. Events and cut output do not change
 * it.
 */
export function jobOutcomeOf(record: EndRecord, abortedBy: string | null): JobOutcome {
  return { ...verdictOf(record, abortedBy), detail: detailOf(record, abortedBy) }
}

function verdictOf(record: EndRecord, abortedBy: string | null): Pick<JobOutcome, 'status' | 'reason'> {
  const failed = (reason: string) => ({ status: 'failed', reason }) as const
  switch (record.cause) {
    case 'exited': {
      if (record.exit_code === 0) return { status: 'success', reason: null }
      const meaning = meaningOf(record)
      return failed(`ansible-playbook ended with ${record.exit_code ?? 'no status'}${meaning ? `: ${meaning}` : ''}`)
    }
    case 'signaled':
      return failed(`ansible-playbook was ended by ${record.signal ?? 'a signal'}`)
    case 'spawn_failed':
      return failed(record.message ?? 'ansible-playbook could not be started')
    case 'not_started':
      return failed(record.message ?? 'the runner could not prepare the playbook')
    case 'supervisor_lost':
      return failed(record.message ?? 'the process that ran the playbook was killed on the runner')
    case 'host_rebooted':
      return failed(record.message ?? 'the runner host restarted while the playbook ran')
    case 'aborted':
      return { status: 'aborted', reason: abortedBy === null ? 'aborted on the runner' : `aborted by ${abortedBy}` }
  }
}

function meaningOf({ exit_code: code, events }: EndRecord): string | undefined {
  if (events.before_play === true) return 'it refused the playbook, the inventory or an argument before the first play'
  return code === null ? undefined : EXIT_MEANINGS[code]
}

function detailOf(record: EndRecord, abortedBy: string | null): string | null {
  const details: string[] = []
  const ran = record.cause === 'exited' || record.cause === 'signaled'
  if (ran && abortedBy !== null) details.push(vainAbort(record, abortedBy))
  // For the other causes, the message is already the reason.
  if (ran && record.message !== null) details.push(record.message)
  if (ran && !record.events.plugin_seen && record.events.before_play !== true) {
    details.push('no structured events: the event plugin did not start')
  }
  if (record.events.errors > 0) details.push(`${record.events.errors} structured events could not be made`)
  if (record.events.dropped > 0) details.push(`${record.events.dropped} structured events were lost on the runner`)
  if (record.output.dropped_bytes > 0) details.push(`${record.output.dropped_bytes} bytes of output were not kept`)
  return details.length > 0 ? details.join('; ') : null
}

/**
 * Why a job that should be aborted has another end: it had ended before, or some of its processes could not be ended.
 */
function vainAbort(record: EndRecord, abortedBy: string): string {
  return record.message === null
    ? `${abortedBy} asked for an abort when the playbook had already ended`
    : `${abortedBy} asked for an abort`
}
