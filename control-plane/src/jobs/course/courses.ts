import { setImmediate as letOthersRun } from 'node:timers/promises'
import { findStreams } from '../../store/jobs/job-details.js'
import { readCoursePages } from '../../store/jobs/job-events.js'
import type { Queries } from '../../store/store.js'
import { Course } from './course.js'
import { findBeginnings } from './event-places.js'

/** The limits of the kept courses: their number, and their weight together (see {@link Course}). */
const MAX_COURSES = 32
const MAX_WEIGHT = 64 * 1024 * 1024

interface Kept {
  course: Course
  generation: number
  /** The present reading of events. Callers that ask meanwhile wait for it. */
  reading: Promise<Course> | null
}

/** The courses of the jobs that people look at. The events of each job are read once, and then only new ones. */
export type Courses = ReturnType<typeof createCourses>

/** @param queries reads that see everything committed */
export function createCourses(queries: Queries) {
  // In the order of their last use.
  const kept = new Map<number, Kept>()

  async function readOn(jobId: number, entry: Kept): Promise<Course> {
    const stream = await findStreams(queries, jobId)
    const generation = stream?.generation ?? 0
    // The streams began again, so events that were read before do not belong to them.
    if (generation !== entry.generation || (stream?.events_count ?? 0) < entry.course.position) {
      entry.course = new Course()
      entry.generation = generation
    }
    const { course } = entry
    for await (const { events, last } of readCoursePages(queries, jobId, course.position)) {
      for (const event of events) course.take(event)
      course.position = last
      await letOthersRun()
    }
    await findBeginnings(queries, jobId, course)
    return course
  }

  function forgetOldest(): void {
    let weight = [...kept.values()].reduce((sum, { course }) => sum + course.weight, 0)
    for (const [jobId, { course, reading }] of kept) {
      if (kept.size <= MAX_COURSES && weight <= MAX_WEIGHT) return
      if (reading) continue
      kept.delete(jobId)
      weight -= course.weight
    }
  }

  return {
    /** The course up to now. Readers must not change it. */
    of(jobId: number): Promise<Course> {
      const entry = kept.get(jobId) ?? { course: new Course(), generation: 0, reading: null }
      kept.delete(jobId)
      kept.set(jobId, entry)
      entry.reading ??= readOn(jobId, entry).finally(() => {
        entry.reading = null
        forgetOldest()
      })
      return entry.reading
    },
  }
}
