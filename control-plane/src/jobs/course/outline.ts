import { isoTime } from '../../time/clock.js'
import type { Course, CourseRecord } from './course.js'
import { LETTERS, type TaskOutcome } from './outcomes.js'

/** Number of records that are converted at once. Other requests get their turn in between. */
const RECORDS_PER_PAGE = 500

const NONE = LETTERS.none.charCodeAt(0)
const RUNNING = LETTERS.running.charCodeAt(0)

/**
 * The plays and tasks that events after an order have changed, in the order in which they began.
 * @param isOver the job has ended, so a task without an end will not get one
 */
export function* outlinePages(course: Course, after: number, isOver: boolean) {
  const changed = course.records.filter(({ touched }) => touched > after)
  for (let from = 0; from < changed.length; from += RECORDS_PER_PAGE) {
    yield changed.slice(from, from + RECORDS_PER_PAGE).map((record) => outlineOf(course, record, isOver))
  }
}

function outlineOf(course: Course, record: CourseRecord, isOver: boolean) {
  const { id, kind, play, name, role, path, order, from, line, started, counts, hosts } = record
  const place = { from, to: (nextOf(course, record) ?? course.recap)?.from ?? null, line }
  const ended = course.endOf(record, isOver)
  return { id, kind, play, name, role, path, order, ...place, started, ended, ...counts, hosts }
}

/**
 * The record after a play or task: for a play the next play, and for a task the next play or task. After the last one
 * comes the recap.
 */
function nextOf({ records }: Course, { id, kind }: CourseRecord): CourseRecord | undefined {
  // The number of a record is its place in the list, from 1.
  return kind === 'play' ? records.slice(id).find((record) => record.kind === 'play') : records[id]
}

/**
 * The hosts of a run, each with the times in which it was at tasks. Times within a run are milliseconds from its start
 * at the host, because there may be many of them.
 * @param isOver the job has ended, so no host is at a task any more
 */
export function hostsOf({ hosts, ofHosts }: Course, isOver: boolean) {
  return ofHosts.flatMap(({ times, counts }, number) => {
    const since = isOver ? null : times.since
    const started = times.spans[0]?.[0] ?? since
    if (started === null) return []
    const spans = times.spans.map(([from, to]) => [from - started, to - started])
    return {
      host: hosts[number] ?? '',
      started: isoTime(started),
      busy_ms: times.busyMs,
      spans,
      since: isoTime(since),
      ...counts,
    }
  })
}

/** Which part of a matrix is wanted. A filter that is left out does not limit it. */
export interface MatrixFilter {
  readonly hosts?: readonly string[] | undefined
  readonly tasks?: readonly number[] | undefined
  /** Only tasks and hosts with one of these. */
  readonly outcomes?: readonly TaskOutcome[] | undefined
}

/** Hosts and tasks, and a letter for the result of each task at each host. */
export interface Matrix {
  readonly hosts: readonly string[]
  readonly tasks: readonly number[]
  /** A row for each task, made when it is asked for. */
  readonly rows: Iterable<string>
}

/** @param isOver the job has ended: nothing runs any more */
export function matrixOf(course: Course, filter: MatrixFilter, isOver: boolean): Matrix {
  const { hosts: names, tasks: ids, outcomes } = filter
  const letters = outcomes && new Set(outcomes.map((outcome) => LETTERS[outcome].charCodeAt(0)))
  const letterOf = (record: CourseRecord, host: number) => {
    const letter = record.cells[host] ?? 0
    return letter === 0 || (isOver && letter === RUNNING) ? NONE : letter
  }
  const isWanted = (record: CourseRecord, host: number) => !letters || letters.has(letterOf(record, host))
  const named = names && new Set(names)
  const numbered = ids && new Set(ids)
  const some = course.records.filter(({ id, kind }) => kind !== 'play' && (!numbered || numbered.has(id)))
  const hosts = [...course.hosts.keys()]
    .filter((host) => !named || named.has(course.hosts[host] ?? ''))
    .filter((host) => !letters || some.some((record) => isWanted(record, host)))
  const tasks = some.filter((record) => !letters || hosts.some((host) => isWanted(record, host)))
  function* rows() {
    for (const record of tasks) yield Buffer.from(hosts.map((host) => letterOf(record, host))).toString('latin1')
  }
  return { hosts: hosts.map((host) => course.hosts[host] ?? ''), tasks: tasks.map(({ id }) => id), rows: rows() }
}
