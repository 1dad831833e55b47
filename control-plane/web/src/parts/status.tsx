import type { Job } from '@holdfast/client'
import { ordinal } from '../words/count.js'
import { words } from '../words/en.js'

/** Which colour and sign a status has; the text says it, too. */
const SIGNS: Readonly<Record<string, readonly [tone: string, sign: string]>> = {
  queued: ['queue', '◷'],
  running: ['run', '◐'],
  approve: ['wait', '‖'],
  success: ['ok', '✓'],
  failed: ['bad', '✕'],
  warning: ['warn', '!'],
  aborted: ['off', '■'],
  rejected: ['off', '⊘'],
  abandoned: ['warn', '?'],
}

/** What tells whether a job waits: its status is `running` from the launch on. */
interface Standing {
  readonly status: string
  readonly began?: string | null
  readonly place?: Pick<NonNullable<Job['place']>, 'state' | 'before' | 'group'> | null
}

/** The job is to run, and no runner has it yet. */
export const isQueued = ({ status, began, place }: Standing) =>
  status === 'running' && began === null && place?.state !== 'lost'

/** The status of a job for people. A job that has not begun is queued, with its turn if that is known. */
export function JobStatus({ job }: { readonly job: Standing }) {
  if (!isQueued(job)) return <Status status={job.status} />
  const before = job.place?.group?.before ?? job.place?.before ?? null
  return <Status status="queued" turn={before === null ? '' : ` ${ordinal(before + 1)}`} />
}

/** The status of a job: a sign, a colour and the word. */
export function Status({ status, turn = '' }: { readonly status: string; readonly turn?: string }) {
  const [tone, sign] = SIGNS[status] ?? ['off', '·']
  return (
    <span class={`status ${tone}`}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {words.status[status] ?? status}
      {turn}
    </span>
  )
}

/** A word with a colour. */
export function Badge({
  tone,
  text,
}: {
  readonly tone: 'ok' | 'bad' | 'warn' | 'run' | 'wait' | 'off'
  readonly text: string
}) {
  return <span class={`badge ${tone}`}>{text}</span>
}
