import { setImmediate as letOthersRun } from 'node:timers/promises'
import type { Course, CourseRecord } from './course.js'
import { LETTERS, type TaskOutcome } from './outcomes.js'
import { type TaskPair, matchTasks, playName } from './match-tasks.js'

/** Most tasks, results and hosts that are listed one by one. */
const MAX_TASKS = 2000
const MAX_RESULTS = 2000
const MAX_HOSTS = 2000
/** Number of tasks after which other requests get their turn. */
const TASKS_AT_ONCE = 50

const OUTCOMES = new Map(Object.entries(LETTERS).map(([word, letter]) => [letter.charCodeAt(0), word as TaskOutcome]))

/** A run that is compared. */
export interface ComparedRun {
  readonly course: Course
  /** The job has ended, so a task without a result will not get one. */
  readonly isOver: boolean
}

/** The differences between two runs. Each difference first has the value of `run`, and then that of `other`. */
export async function compareCourses(run: ComparedRun, other: ComparedRun) {
  const pairs = matchTasks(run.course, other.course)
  const hosts = hostsOf(run.course, other.course)
  const tasks = createList<ReturnType<typeof taskOf>>(MAX_TASKS)
  const results = createList<ReturnType<typeof resultOf>>(MAX_RESULTS)
  for (const [index, pair] of pairs.entries()) {
    if (index % TASKS_AT_ONCE === TASKS_AT_ONCE - 1) await letOthersRun()
    const before = results.count
    for (const { name, here, there } of pair.one && pair.other ? hosts.shared : []) {
      const result = resultOf(pair, name, outcomeAt(run, pair.one, here), outcomeAt(other, pair.other, there))
      if (result.outcome !== result.with_outcome && isFinal(run, result.outcome)) results.add(result)
    }
    tasks.add(taskOf(run, other, pair, results.count - before))
  }
  return {
    tasks: tasks.list,
    results: results.list,
    hosts: { added: hosts.added.slice(0, MAX_HOSTS), removed: hosts.removed.slice(0, MAX_HOSTS) },
    complete: run.course.isComplete && other.course.isComplete,
  }
}

/** A list with a limit. It counts the items that it has no room for. */
function createList<Item>(most: number) {
  const list = { count: 0, records: [] as Item[] }
  return {
    list,
    get count() {
      return list.count
    },
    add(item: Item) {
      list.count += 1
      if (list.records.length < most) list.records.push(item)
    },
  }
}

/** The hosts of both runs with their numbers, and the names of those that only one of them had. */
function hostsOf(run: Course, other: Course) {
  const there = new Map(other.hosts.map((name, number) => [name, number]))
  const here = new Set(run.hosts)
  return {
    shared: run.hosts.flatMap((name, number) => {
      const known = there.get(name)
      return known === undefined ? [] : [{ name, here: number, there: known }]
    }),
    added: run.hosts.filter((name) => !there.has(name)),
    removed: other.hosts.filter((name) => !here.has(name)),
  }
}

function outcomeAt({ isOver }: ComparedRun, record: CourseRecord | null, host: number): TaskOutcome {
  const outcome = OUTCOMES.get(record?.cells[host] ?? 0) ?? 'none'
  return isOver && outcome === 'running' ? 'none' : outcome
}

/** False: the result may still arrive. */
function isFinal({ isOver }: ComparedRun, outcome: TaskOutcome): boolean {
  return isOver || (outcome !== 'none' && outcome !== 'running')
}

function resultOf({ one }: TaskPair, host: string, outcome: TaskOutcome, otherOutcome: TaskOutcome) {
  return { task: one?.id ?? 0, name: one?.name ?? null, host, outcome, with_outcome: otherOutcome }
}

/** @param changed how many results of the task differ */
function taskOf(run: ComparedRun, otherRun: ComparedRun, { one, other }: TaskPair, changed: number) {
  const shown = one ?? other
  return {
    id: one?.id ?? null,
    with_id: other?.id ?? null,
    name: shown?.name ?? null,
    role: shown?.role ?? null,
    play: playName((one ? run : otherRun).course, shown?.play ?? null),
    seconds: secondsOf(run, one),
    with_seconds: secondsOf(otherRun, other),
    changed,
  }
}

/** The time from the beginning of a task to its last result, in seconds. */
function secondsOf({ course, isOver }: ComparedRun, record: CourseRecord | null): number | null {
  const end = record && course.endOf(record, isOver)
  return record && end !== null ? Math.max(0, Date.parse(end) - Date.parse(record.started)) / 1000 : null
}
