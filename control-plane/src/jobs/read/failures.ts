import { isPlainObject } from '../../forms/values/plain.js'
import { readEventPages } from '../../store/jobs/job-events.js'
import { headOf } from '../course/event-head.js'
import { placesOfEvents } from '../course/event-places.js'
import type { Courses } from '../course/courses.js'
import type { Caller } from '../../auth/sessions/caller.js'
import { requireVisible } from '../record/visibility.js'
import { failureMessage } from './failure-message.js'
import type { JobReading } from './reading.js'

/** Most failed results that are read, most groups, and most hosts that a group names. */
const MAX_RESULTS = 10_000
const MAX_GROUPS = 50
const MAX_HOSTS = 100

/** Hosts at which the same task failed with the same message. */
interface FailureGroup {
  readonly task_id: number | null
  readonly play: string | null
  readonly task: string | null
  readonly role: string | null
  readonly path: string | null
  readonly action: string | null
  readonly outcome: 'failed' | 'unreachable'
  readonly message: string | null
  /** The order of the first of these results. */
  readonly order: number
  readonly hosts: string[]
  count: number
}

const TYPES = ['runner_on_failed', 'runner_on_unreachable', 'runner_item_on_failed']

/**
 * Why a playbook job failed: its failed results, equal ones together, in the order in which they came. Failures that were
 * ignored or rescued are left out.
 * @throws NotFoundError, ForbiddenError
 */
export async function readFailures(
  { reading, courses }: { readonly reading: JobReading; readonly courses: Courses },
  caller: Caller,
  id: number,
) {
  const { queries } = reading
  await requireVisible(queries, caller, id)
  const course = await courses.of(id)
  const groups = new Map<string, FailureGroup>()
  /** What the first failed item of a loop says, by task and host. */
  const items = new Map<string, string | null>()
  const part = { after: 0, before: course.position + 1, limit: MAX_RESULTS, isDescending: false }
  for await (const page of readEventPages(queries, id, part, { types: TYPES })) {
    for (const { position, type, play, task, host, line } of page) {
      const head = headOf(line)
      const at = JSON.stringify([head.taskId, host])
      if (type === 'runner_item_on_failed') {
        if (!head.ignored && !items.has(at)) items.set(at, failureMessage(resultOf(line)))
        continue
      }
      const message = items.get(at) ?? failureMessage(resultOf(line))
      items.delete(at)
      if (head.ignored || head.rescued || host === null) continue
      const outcome = type === 'runner_on_failed' ? 'failed' : 'unreachable'
      const record = course.recordAt(head.taskId, position)
      const key = JSON.stringify([record?.id ?? head.taskId, outcome, message])
      const known = groups.get(key)
      const { role, path, action } = head
      const task_id = record?.id ?? null
      const group = known ?? {
        task_id,
        play,
        task,
        role,
        path,
        action,
        outcome,
        message,
        order: position,
        hosts: [],
        count: 0,
      }
      group.count += 1
      if (group.hosts.length < MAX_HOSTS) group.hosts.push(host)
      if (!known) groups.set(key, group)
    }
  }
  const shown = [...groups.values()].slice(0, MAX_GROUPS)
  const places = await placesOfEvents(
    queries,
    id,
    shown.map(({ order }) => order),
  )
  const records = shown.map((group) => {
    const place = places.get(group.order)
    const of = group.task_id === null ? null : (course.records[group.task_id - 1]?.hosts ?? null)
    return { ...group, task_hosts: of, from: place?.from ?? null, line: place?.line ?? null }
  })
  return { count: groups.size, records }
}

/** The result of an event. A line that was cut has none. */
function resultOf(line: Buffer): unknown {
  try {
    const event: unknown = JSON.parse(line.toString('utf8'))
    return isPlainObject(event) ? event.result : null
  } catch {
    return null
  }
}
