import * as v from 'valibot'

/** Event types: the names that ansible-runner and AWX made common. */
export const EVENT_TYPES = [
  'playbook_on_start',
  'playbook_on_play_start',
  'playbook_on_task_start',
  'playbook_on_handler_task_start',
  'playbook_on_include',
  'playbook_on_vars_prompt',
  'playbook_on_notify',
  'playbook_on_no_hosts_matched',
  'playbook_on_no_hosts_remaining',
  'runner_on_start',
  'runner_on_ok',
  'runner_on_failed',
  'runner_on_skipped',
  'runner_on_unreachable',
  'runner_retry',
  'runner_item_on_ok',
  'runner_item_on_failed',
  'runner_item_on_skipped',
  'runner_on_async_poll',
  'runner_on_async_ok',
  'runner_on_async_failed',
  'runner_on_file_diff',
  'playbook_on_stats',
] as const

const nullableText = v.nullable(v.string())

/** One line of the events stream. Other fields of the callback stay in the line and are not read here. */
export const eventLineSchema = v.object({
  type: v.picklist(EVENT_TYPES),
  play: nullableText,
  task: nullableText,
  host: nullableText,
  duration: v.nullable(v.number()),
  time: v.string(),
})

/** The fields by which an event is listed. `duration` is in seconds, `time` ISO 8601 UTC with milliseconds. */
export type EventLine = v.InferOutput<typeof eventLineSchema>

/** Reads one line; null when it is not an event of this contract (torn, foreign or broken). Never throws. */
export function readEventLine(line: string): EventLine | null {
  let value: unknown
  try {
    value = JSON.parse(line)
  } catch {
    return null
  }
  const result = v.safeParse(eventLineSchema, value)
  return result.success ? result.output : null
}
