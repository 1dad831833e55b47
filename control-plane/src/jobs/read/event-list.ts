import type { Caller } from '../../auth/sessions/caller.js'
import { type EventLineRow, type EventPart, readEventPages } from '../../store/jobs/job-events.js'
import type { Course } from '../course/course.js'
import type { Courses } from '../course/courses.js'
import { type EventPlace, placesOfEvents } from '../course/event-places.js'
import { headOf } from '../course/event-head.js'
import { findEventAfter } from '../../store/jobs/output-marks.js'
import type { Queries } from '../../store/store.js'
import { requireVisible } from '../record/visibility.js'
import { type EventStatus, eventFilterOf } from './event-filter.js'
import type { JobReading } from './reading.js'

/** Which events of a job are asked for. */
export interface EventsRequest extends EventPart {
  readonly host: string | undefined
  readonly task: string | undefined
  readonly type: string | undefined
  readonly status: EventStatus | undefined
  readonly outcomes: readonly EventStatus[] | undefined
  /** Only events that printed something between these bytes of the output. */
  readonly from: number | undefined
  readonly to: number | undefined
}

/** Longest item that a list shows, in characters of JSON. The event itself has the complete item. */
const MAX_ITEM = 1000

/**
 * Events of a job without their results, page by page, and the run that they belong to.
 * @throws NotFoundError, ForbiddenError
 */
export async function readEvents(
  { reading, courses }: { readonly reading: JobReading; readonly courses: Courses },
  caller: Caller,
  id: number,
  request: EventsRequest,
) {
  const { run_id: runId } = await requireVisible(reading.queries, caller, id)
  const { limit, isDescending, from, to, ...wanted } = request
  const filter = eventFilterOf(wanted)
  const bounds = await boundsOf(reading.queries, id, request)
  if (!filter || !bounds) return { runId, pages: [] }
  const isPrinted = from !== undefined || to !== undefined
  const most = Math.max(limit, 1)
  // How many of the events printed something is known only when they are read.
  const part = { ...bounds, isDescending, limit: isPrinted ? Number.MAX_SAFE_INTEGER : most }
  const placesOf = (orders: readonly number[]) => placesOfEvents(reading.queries, id, orders)
  const pages = eventPages(readEventPages(reading.queries, id, part, filter), () => courses.of(id), placesOf)
  return { runId, pages: isPrinted ? printedOnly(pages, most) : pages }
}

/** The orders between which the wanted events are; null: there are none. */
async function boundsOf(queries: Queries, id: number, { after, before, from, to }: EventsRequest) {
  const first = from === undefined ? 0 : await findEventAfter(queries, id, from)
  if (first === null || to === 0) return null
  // The event that ends at the last byte or after it is the last one that printed something before it.
  const last = to === undefined ? null : await findEventAfter(queries, id, to - 1)
  return { after: Math.max(after, first - 1), before: last === null ? before : Math.min(before, last + 1) }
}

/** The first events that printed something, as far as that is known. */
async function* printedOnly(pages: ReturnType<typeof eventPages>, limit: number): ReturnType<typeof eventPages> {
  let left = limit
  for await (const page of pages) {
    const printed = page.filter(({ from, to }) => from !== null && to !== null && from < to).slice(0, left)
    yield printed
    left -= printed.length
    if (left === 0) return
  }
}

async function* eventPages(
  pages: AsyncIterable<readonly EventLineRow[]>,
  courseNow: () => Promise<Course>,
  placesOf: (orders: readonly number[]) => Promise<Map<number, EventPlace>>,
) {
  let course: Course | null = null
  for await (const page of pages) {
    const last = page.reduce((highest, { position }) => Math.max(highest, position), 0)
    // More events may have arrived since the course was read.
    if (course === null || course.position < last) course = await courseNow()
    const known = course
    const places = await placesOf(page.map(({ position }) => position))
    yield page.map((row) => recordOf(row, (uuid, order) => known.recordAt(uuid, order), places.get(row.position)))
  }
}

function recordOf(
  { position, line, ...event }: EventLineRow,
  recordAt: Course['recordAt'],
  place: EventPlace | undefined,
) {
  const head = headOf(line)
  return {
    order: position,
    ...event,
    task_id: recordAt(head.taskId, position)?.id ?? null,
    play_id: recordAt(head.playId, position)?.id ?? null,
    action: head.action,
    role: head.role,
    path: head.path,
    from: place?.from ?? null,
    to: place?.to ?? null,
    line: place?.line ?? null,
    changed: head.changed,
    ignored: head.ignored,
    rescued: head.rescued,
    uncounted: head.uncounted,
    ...(head.item === undefined ? {} : { item: shortItem(head.item) }),
  }
}

/** An item as it is, or the beginning of its JSON when it is long. */
function shortItem(item: unknown): unknown {
  const text = JSON.stringify(item)
  return text.length <= MAX_ITEM ? item : `${text.slice(0, MAX_ITEM)}…`
}
