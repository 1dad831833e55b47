import type { EventFilter } from '../../store/jobs/job-events.js'

/** What came of a task at a host. A task that changed something is `ok` and `changed`, as in the recap. */
export const EVENT_STATUSES = ['ok', 'changed', 'failed', 'ignored', 'rescued', 'skipped', 'unreachable'] as const
export type EventStatus = (typeof EVENT_STATUSES)[number]

/** By status: the one type of event that has it, and what the event must say in addition. */
const OF_STATUS: Record<EventStatus, { readonly type: string; readonly says?: string }> = {
  ok: { type: 'runner_on_ok' },
  changed: { type: 'runner_on_ok', says: 'changed' },
  failed: { type: 'runner_on_failed' },
  ignored: { type: 'runner_on_failed', says: 'ignored' },
  rescued: { type: 'runner_on_failed', says: 'rescued' },
  skipped: { type: 'runner_on_skipped' },
  unreachable: { type: 'runner_on_unreachable' },
}

/** The filter of the database for what was asked; null: no event can be all of that. */
export function eventFilterOf(wanted: {
  readonly host: string | undefined
  readonly task: string | undefined
  readonly type: string | undefined
  readonly status: EventStatus | undefined
}): EventFilter | null {
  const { host, task, type, status } = wanted
  const of = status === undefined ? null : OF_STATUS[status]
  if (of && type !== undefined && type !== of.type) return null
  const types = of ? [of.type] : type === undefined ? undefined : [type]
  const flag = of?.says
  return {
    ...(host === undefined ? {} : { host }),
    ...(task === undefined ? {} : { task }),
    ...(types === undefined ? {} : { types }),
    ...(flag === undefined ? {} : { says: (line: Buffer) => isTrue(line, flag) }),
  }
}

/** Whether a flag of an event is set; in a line that nobody can read it is not. */
function isTrue(line: Buffer, flag: string): boolean {
  try {
    const event: unknown = JSON.parse(line.toString('utf8'))
    return typeof event === 'object' && event !== null && (event as Record<string, unknown>)[flag] === true
  } catch {
    return false
  }
}
