import { type EventEnd, findEventEnds, hasMarks } from '../../store/jobs/output-marks.js'
import type { Queries } from '../../store/store.js'
import type { Course } from './course.js'

/** Where the output of an event stands: bytes of the shown output, and the number of line ends before it. */
export interface EventPlace {
  readonly from: number
  readonly to: number
  /** Null: not known. */
  readonly line: number | null
}

/** The output begins before every event. */
const START: EventEnd = { event: 0, byte: 0, line: 0 }

/**
 * Where the output of events stands, by order. What was printed between the event before and this one is its output. An
 * event is left out when its mark, or the mark before it, is not there: the runner is of an older release, or the
 * output is on its way.
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

/** Notes in a course where the output of its plays, its tasks and its recap begins, as far as that is known by now. */
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
