import type { Course, CourseRecord } from './course.js'

/** A task of a run, and how long it took. */
export interface ProfileStep {
  /** Equal tasks of two runs have the same key: play, path and name, and how often the task had begun before. */
  readonly key: string
  /** Milliseconds until the next task began; for the last one, until its last result. */
  readonly ms: number
}

/** How long the tasks of one run took, in the order in which they began. */
export type RunProfile = readonly ProfileStep[]

/**
 * The profile of a run that has ended. Times are only compared with each other, so the clock of the runner is good
 * enough.
 */
export function profileOf(course: Course): RunProfile {
  const tasks = tasksOf(course)
  const ends = tasks.map(({ record }, at) => {
    const next = tasks[at + 1]?.record.started ?? record.lastResult ?? record.started
    return Math.max(0, Date.parse(next) - Date.parse(record.started))
  })
  return tasks.map(({ key }, at) => ({ key, ms: ends[at] ?? 0 }))
}

/** The tasks and handlers of a run in the order in which they began, each with its key. */
export function tasksOf(course: Course): { readonly key: string; readonly record: CourseRecord }[] {
  const before = new Map<string, number>()
  return course.records
    .filter(({ kind }) => kind !== 'play')
    .map((record) => {
      const play = course.records[(record.play ?? 0) - 1]
      const name = JSON.stringify([play?.path ?? play?.name ?? null, record.kind, record.path, record.name])
      const count = before.get(name) ?? 0
      before.set(name, count + 1)
      return { key: `${count} ${name}`, record }
    })
}
