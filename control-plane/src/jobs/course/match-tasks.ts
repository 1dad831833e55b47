import type { Course, CourseRecord } from './course.js'
import { tasksOf } from './run-profile.js'

/** A task of one run and the same task of another; null: the run did not have it. */
export interface TaskPair {
  readonly one: CourseRecord | null
  readonly other: CourseRecord | null
}

/**
 * The tasks of two runs, each with the same task of the other run. First come the tasks of the first run, in their
 * order, then those that only the other run had. If a task has moved to another line of its file, it is found by its
 * names.
 */
export function matchTasks(one: Course, other: Course): TaskPair[] {
  const found = new Map<CourseRecord, CourseRecord>()
  const [tasks, otherTasks] = [tasksOf(one), tasksOf(other)]
  const exact = new Map(otherTasks.map(({ key, record }) => [key, record]))
  for (const { key, record } of tasks) {
    const same = exact.get(key)
    if (same) found.set(record, same)
  }
  const taken = new Set(found.values())
  const left = new Map<string, CourseRecord[]>()
  // From the last to the first, so that the first one is taken from the end. A run may have tens of thousands of one name.
  for (const { record } of otherTasks.toReversed()) {
    if (taken.has(record)) continue
    const name = nameIn(other, record)
    const same = left.get(name)
    if (same) same.push(record)
    else left.set(name, [record])
  }
  const pairs = tasks.map(({ record }): TaskPair => {
    const same = found.get(record) ?? left.get(nameIn(one, record))?.pop() ?? null
    return { one: record, other: same }
  })
  const others = [...left.values()].flat().sort((first, next) => first.id - next.id)
  return [...pairs, ...others.map((record): TaskPair => ({ one: null, other: record }))]
}

/** The name of a task and its file, without the line. */
function nameIn(course: Course, { kind, name, role, path, play }: CourseRecord): string {
  return JSON.stringify([playName(course, play), kind, role, path?.replace(/:\d+$/, '') ?? null, name])
}

/** The name of a play; null: it has none. */
export function playName({ records }: Course, play: number | null): string | null {
  return play === null ? null : (records[play - 1]?.name ?? null)
}
