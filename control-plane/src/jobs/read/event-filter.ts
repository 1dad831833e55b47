import { definedOnly } from '../../defined-only.js'
import type { EventFilter } from '../../store/jobs/job-events.js'

/** The results of a task on a host. A task that changed something is `ok` and `changed`, as in ansible's recap. */
export const EVENT_STATUSES = ['ok', 'changed', 'failed', 'ignored', 'rescued', 'skipped', 'unreachable'] as const
/** One of {@link EVENT_STATUSES}. */
export type EventStatus = (typeof EVENT_STATUSES)[number]

/** For each status: the only type of event with this status, and the flags that the event must have in addition. */
const OF_STATUS: Record<EventStatus, { readonly type: string; readonly says?: string }> = {
  ok: { type: 'runner_on_ok' },
  changed: { type: 'runner_on_ok', says: 'changed' },
  failed: { type: 'runner_on_failed' },
  ignored: { type: 'runner_on_failed', says: 'ignored' },
  rescued: { type: 'runner_on_failed', says: 'rescued' },
  skipped: { type: 'runner_on_skipped' },
  unreachable: { type: 'runner_on_unreachable' },
}

/** Makes the database filter from the filters of a request. Null: no event can match all of them. */
export function eventFilterOf(wanted: {
  readonly host: string | undefined
  readonly task: string | undefined
  readonly type: string | undefined
  readonly status: EventStatus | undefined
  /** Any of these. */
  readonly outcomes: readonly EventStatus[] | undefined
}): EventFilter | null {
  const { host, task, type, status, outcomes } = wanted
  if (outcomes !== undefined) return filterOfOutcomes(wanted, outcomes)
  const of = status === undefined ? null : OF_STATUS[status]
  if (of && type !== undefined && type !== of.type) return null
  const types = of ? [of.type] : type === undefined ? undefined : [type]
  const flag = of?.says
  return definedOnly({ host, task, types, says: flag === undefined ? undefined : (line: Buffer) => isTrue(line, flag) })
}

/** The same for several outcomes. The other filters of the request count, too. */
function filterOfOutcomes(
  wanted: Omit<Parameters<typeof eventFilterOf>[0], 'outcomes'>,
  outcomes: readonly EventStatus[],
): EventFilter | null {
  const rest = eventFilterOf({ ...wanted, outcomes: undefined })
  const types = [...new Set(outcomes.map((outcome) => OF_STATUS[outcome].type))].filter(
    (type) => rest?.types?.includes(type) ?? true,
  )
  if (rest === null || types.length === 0) return null
  const isOne = (line: Buffer, type: string) =>
    outcomes.some((outcome) => {
      const of = OF_STATUS[outcome]
      return of.type === type && (of.says === undefined || isTrue(line, of.says))
    })
  const says = (line: Buffer, type: string) => isOne(line, type) && (rest.says?.(line, type) ?? true)
  return { ...rest, types, says }
}

/** Whether a flag of an event is set. In a line that cannot be parsed, no flag is set. */
function isTrue(line: Buffer, flag: string): boolean {
  try {
    const event: unknown = JSON.parse(line.toString('utf8'))
    return typeof event === 'object' && event !== null && (event as Record<string, unknown>)[flag] === true
  } catch {
    return false
  }
}
