import { type EventEnd, findEventEnds, hasMarks } from '../../store/jobs/output-marks.js'
import type { Queries } from '../../store/store.js'
import type { Course } from './course.js'

/** The place of the output of an event: bytes of the shown output, and the number of line ends before it. */
export interface EventPlace {
  readonly from: number
  readonly to: number
  /** Null: not known. */
  readonly line: number | null
}

/** The place where the output begins, before every event. */
const START: EventEnd = { event: 0, byte: 0, line: 0 }

/**
 * The places of the output of events, by order. The output of an event is everything that was printed between the event
 * before it and this event. An event is left out if its mark, or the mark before it, is missing, because the output has
 * not arrived yet.
 */
export async function placesOfEvents(
  queries: Queries,
  jobId: number,
  orders: readonly number[],
): Promise<Map<number, EventPlace>> {
  const wanted = [...new Set(orders.flatMap((order) => [order - 1, order]))].filter((order) => order > 0)
  const ends = await findEventEnds(queries, jobId, wanted)
  const places = new Map<number, EventPlace>()
  for (const order of orders) {
    const before = order === 1 ? START : ends.get(order - 1)
    const end = ends.get(order)
    if (before && end && before.byte <= end.byte) {
      places.set(order, { from: before.byte, to: end.byte, line: before.line })
    }
  }
  return places
}

/** Notes in a course where the output of its plays, its tasks and its recap begins, as far as it is already known. */
export async function findBeginnings(queries: Queries, jobId: number, course: Course): Promise<void> {
  const all = course.recap === null ? course.records : [...course.records, course.recap]
  const open = all.filter(({ from }) => from === null)
  if (open.length === 0 || !(await hasMarks(queries, jobId))) return
  const orders = open.map(({ order }) => order - 1).filter((order) => order > 0)
  const ends = await findEventEnds(queries, jobId, orders)
  for (const record of open) {
    const end = record.order === 1 ? START : ends.get(record.order - 1)
    if (end) [record.from, record.line] = [end.byte, end.line]
  }
}
