import type { Course, CourseRecord } from './course.js'
import { tasksOf } from './run-profile.js'

/** A task of one run and the same task of another; null: the run did not have it. */
export interface TaskPair {
  readonly one: CourseRecord | null
  readonly other: CourseRecord | null
}

/**
 * The tasks of two runs, each with the same task of the other run: first those of the first run, in their order, then
 * what only the other one had. A task whose line in its file is another one is found by its names.
 */
export function matchTasks(one: Course, other: Course): TaskPair[] {
  const found = new Map<CourseRecord, CourseRecord>()
  const exact = new Map(tasksOf(other).map(({ key, record }) => [key, record]))
  for (const { key, record } of tasksOf(one)) {
    const same = exact.get(key)
    if (same) found.set(record, same)
  }
  const taken = new Set(found.values())
  const left = new Map<string, CourseRecord[]>()
  for (const { record } of tasksOf(other)) {
    if (taken.has(record)) continue
    const name = nameIn(other, record)
    left.set(name, [...(left.get(name) ?? []), record])
  }
  const pairs = tasksOf(one).map(({ record }): TaskPair => {
    const same = found.get(record) ?? left.get(nameIn(one, record))?.shift() ?? null
    return { one: record, other: same }
  })
  return [...pairs, ...[...left.values()].flat().map((record): TaskPair => ({ one: null, other: record }))]
}

/** What a task is called, and in which file it is, without the line. */
function nameIn(course: Course, { kind, name, role, path, play }: CourseRecord): string {
  return JSON.stringify([playName(course, play), kind, role, path?.replace(/:\d+$/, '') ?? null, name])
}

/** The name of a play; null: it has none. */
export function playName({ records }: Course, play: number | null): string | null {
  return play === null ? null : (records[play - 1]?.name ?? null)
}
