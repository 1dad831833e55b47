import type { Caller } from '../../auth/sessions/caller.js'
import { ConflictError } from '../../errors.js'
import { readEventPages } from '../../store/jobs/job-events.js'
import { readOutput } from '../../store/jobs/job-output.js'
import { hasMarks } from '../../store/jobs/output-marks.js'
import type { Queries } from '../../store/store.js'
import type { Courses } from '../course/courses.js'
import { headOf } from '../course/event-head.js'
import { placesOfEvents } from '../course/event-places.js'
import { requireVisible } from '../record/visibility.js'
import type { JobReading } from './reading.js'

/** Which pieces of an output are wanted. A filter that is left out does not limit them. */
export interface PiecesRequest {
  readonly host: string | undefined
  /** The id of a task or play in the outline. */
  readonly task: number | undefined
}

/**
 * The output of a host, of a task, or of a task at a host, in the order in which it was printed.
 * @throws NotFoundError, ForbiddenError, ConflictError `output_without_marks` when this output has no marks of events
 */
export async function readOutputPieces(
  { reading, courses }: { readonly reading: JobReading; readonly courses: Courses },
  caller: Caller,
  id: number,
  request: PiecesRequest,
): Promise<AsyncGenerator<Buffer>> {
  await requireVisible(reading.queries, caller, id)
  if (!(await hasMarks(reading.queries, id))) {
    throw new ConflictError(
      'output_without_marks',
      'Nothing tells which part of this output belongs to which host or task',
    )
  }
  return pieces(reading.queries, courses, id, request)
}

async function* pieces(
  queries: Queries,
  courses: Courses,
  id: number,
  { host, task }: PiecesRequest,
): AsyncGenerator<Buffer> {
  const course = await courses.of(id)
  const all = { after: 0, before: course.position + 1, limit: Number.MAX_SAFE_INTEGER, isDescending: false }
  for await (const page of readEventPages(queries, id, all, host === undefined ? {} : { host })) {
    const orders = page
      .filter(({ line, position }) => {
        if (task === undefined) return true
        const { taskId, playId } = headOf(line)
        return course.recordAt(taskId, position)?.id === task || course.recordAt(playId, position)?.id === task
      })
      .map(({ position }) => position)
    for (const { from, to } of (await placesOfEvents(queries, id, orders)).values()) {
      yield* rangeOf(queries, id, from, to)
    }
  }
}

async function* rangeOf(queries: Queries, id: number, from: number, to: number): AsyncGenerator<Buffer> {
  if (from === to) return
  let at = from
  for await (const piece of readOutput(queries, id, from)) {
    yield piece.subarray(0, to - at)
    at += piece.length
    if (at >= to) return
  }
}
