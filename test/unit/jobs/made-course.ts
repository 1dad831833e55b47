import { Course } from '../../../control-plane/src/jobs/course/course.js'
import { type RunTask, runEvents } from '../../support/run-events.js'

/** The course of a run with these tasks. @param most only so many of its events have come; all when left out */
export function courseOf(tasks: readonly RunTask[], most?: number): Course {
  const course = new Course()
  for (const { order, ...event } of runEvents(tasks).slice(0, most)) {
    const { type, play, task, host, time } = event as Readonly<Record<string, unknown>> as Readonly<
      Record<'type' | 'play' | 'task' | 'host' | 'time', string>
    >
    course.take({ position: order, type, play, task, host, time, line: Buffer.from(JSON.stringify(event)) })
  }
  return course
}

/** So many hosts, each with the same result. */
export function hostsWith(count: number, outcome: string, at = 1): RunTask['hosts'] {
  return Object.fromEntries(Array.from({ length: count }, (_, number) => [`web${number}`, [outcome, at] as const]))
}
