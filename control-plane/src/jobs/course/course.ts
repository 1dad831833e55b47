import { type EventHead, headOf } from './event-head.js'
import { HostTimes } from './host-times.js'

/**
 * The course of a run, made from its events: plays and tasks in the order in which they began, and the result of each
 * task at each host. Each event is added once, and no earlier event is read again.
 *
 * A play with `serial` begins its tasks again for every batch of hosts, with the same ids. Each beginning is a separate
 * record here, because its output is in another place.
 */

/** An event as the course reads it. */
export interface CourseEvent {
  readonly position: number
  readonly type: string
  readonly task: string | null
  readonly play: string | null
  readonly host: string | null
  readonly time: string
  readonly line: Buffer
}

/** The letters of a matrix, by the result of a task at a host. */
export const LETTERS = {
  none: '.',
  running: '>',
  ok: 'o',
  changed: 'c',
  failed: 'f',
  ignored: 'i',
  rescued: 'r',
  skipped: 's',
  unreachable: 'u',
} as const
/** One of the outcomes that have a letter. */
export type TaskOutcome = keyof typeof LETTERS

/** How many results there are of each kind, as the recap counts them. */
export type OutcomeCounts = Record<'ok' | 'changed' | 'failed' | 'skipped' | 'unreachable' | 'ignored', number>

const noCounts = (): OutcomeCounts => ({ ok: 0, changed: 0, failed: 0, skipped: 0, unreachable: 0, ignored: 0 })

/** A host of the run: when it was at tasks, and what came of them. */
export interface CourseHost {
  readonly times: HostTimes
  readonly counts: OutcomeCounts
}

/** A play, a task or a handler. */
export interface CourseRecord {
  /** 1, 2, 3 … in the order in which plays and tasks began. */
  readonly id: number
  readonly kind: 'play' | 'task' | 'handler'
  /** The record of the play to which it belongs; null for a play. */
  readonly play: number | null
  readonly name: string | null
  readonly role: string | null
  readonly path: string | null
  /** The order of the event with which it began. */
  readonly order: number
  readonly started: string
  /** The byte of the shown output at which its output begins, and the number of line ends before; null: not known. */
  from: number | null
  line: number | null
  /** The time of the last result. */
  lastResult: string | null
  readonly counts: OutcomeCounts
  /** Number of hosts that began it or have a result. */
  hosts: number
  /** The hosts that run it now, each with the time when it began. */
  readonly running: Map<number, string>
  /** A letter for each host, by the number of the host. */
  cells: Uint8Array
  /** The order of the last event that changed this record. */
  touched: number
}

const OUTCOMES: Readonly<Record<string, TaskOutcome>> = {
  runner_on_ok: 'ok',
  runner_on_failed: 'failed',
  runner_on_skipped: 'skipped',
  runner_on_unreachable: 'unreachable',
}

/** Most cells and characters of one course. A runner could invent any number of hosts and tasks. */
const MAX_WEIGHT = 24 * 1024 * 1024
/** What a record or a host costs in addition to its texts. */
const RECORD_WEIGHT = 400

/** The counts at the end of a run. */
export interface Recap {
  /** The order of its event. */
  readonly order: number
  /** As in {@link CourseRecord}. */
  from: number | null
  line: number | null
}

/** See the description of this file. */
export class Course {
  readonly records: CourseRecord[] = []
  readonly hosts: string[] = []
  /** By the number of the host. */
  readonly ofHosts: CourseHost[] = []
  /** The order of the last event that was added. */
  position = 0
  /** The recap has come: nothing runs any more. */
  isFinished = false
  recap: Recap | null = null
  /** False: the run had more hosts and tasks than are kept. */
  isComplete = true
  weight = 0
  readonly #hostNumbers = new Map<string, number>()
  /** The latest record of each play and task, by its id in the events. */
  readonly #latest = new Map<string, CourseRecord>()
  /** The orders at which each task began, for events that somebody asks for later. */
  readonly #beginnings = new Map<string, CourseRecord[]>()
  #play: CourseRecord | null = null

  take(event: CourseEvent): void {
    this.position = event.position
    if (!this.isComplete) return
    const { type } = event
    if (type === 'playbook_on_play_start') this.#play = this.#begin('play', event, headOf(event.line))
    else if (type === 'playbook_on_task_start') this.#begin('task', event, headOf(event.line))
    else if (type === 'playbook_on_handler_task_start') this.#begin('handler', event, headOf(event.line))
    else if (type === 'playbook_on_stats') this.#finish(event.position)
    else if (type === 'playbook_on_start') this.isFinished = false
    else if (type === 'runner_on_start') this.#atHost(event, 'running')
    else if (OUTCOMES[type]) this.#atHost(event, OUTCOMES[type])
    if (this.weight > MAX_WEIGHT) this.isComplete = false
  }

  #finish(order: number): void {
    this.isFinished = true
    this.recap = { order, from: null, line: null }
  }

  /** The record of a play or task that an event belongs to, by its id in the event; null when there is none. */
  recordAt(uuid: string | null, order: number): CourseRecord | null {
    const began = uuid === null ? undefined : this.#beginnings.get(uuid)
    return began?.findLast((record) => record.order <= order) ?? null
  }

  /** When a play or task ended; null while it may get more results. */
  endOf(record: CourseRecord, isJobOver: boolean): string | null {
    if (record.kind === 'play') {
      const next = this.records.find((other) => other.kind === 'play' && other.id > record.id)
      if (!next && !this.isFinished && !isJobOver) return null
      return this.records.findLast((other) => other.play === record.id && other.lastResult !== null)?.lastResult ?? null
    }
    const isOver = record.running.size === 0 && (record.id < this.records.length || this.isFinished)
    return isOver || isJobOver ? record.lastResult : null
  }

  #begin(kind: CourseRecord['kind'], event: CourseEvent, head: EventHead): CourseRecord {
    const uuid = kind === 'play' ? head.playId : head.taskId
    const name = kind === 'play' ? event.play : event.task
    const record: CourseRecord = {
      id: this.records.length + 1,
      kind,
      play: kind === 'play' ? null : (this.#play?.id ?? null),
      name,
      role: head.role,
      path: head.path,
      order: event.position,
      started: event.time,
      from: null,
      line: null,
      lastResult: null,
      counts: noCounts(),
      hosts: 0,
      running: new Map(),
      cells: new Uint8Array(0),
      touched: event.position,
    }
    this.records.push(record)
    this.weight += RECORD_WEIGHT + (name?.length ?? 0) + (head.path?.length ?? 0)
    if (uuid !== null) {
      this.#latest.set(uuid, record)
      const began = this.#beginnings.get(uuid)
      if (began) began.push(record)
      else this.#beginnings.set(uuid, [record])
    }
    return record
  }

  #atHost(event: CourseEvent, word: TaskOutcome): void {
    if (event.host === null) return
    const head = headOf(event.line)
    const record = head.taskId === null ? undefined : this.#latest.get(head.taskId)
    if (!record) return
    const host = this.#numberOf(event.host)
    const outcome = taskOutcomeOf(word, head)
    if (record.cells.length <= host) this.#widen(record, host)
    if (record.cells[host] === 0) record.hosts += 1
    record.cells[host] = LETTERS[outcome].charCodeAt(0)
    record.touched = event.position
    const ofHost = this.ofHosts[host]
    if (outcome === 'running') {
      record.running.set(host, event.time)
      ofHost?.times.begin(event.time)
      return
    }
    ofHost?.times.end(record.running.get(host) ?? record.started, event.time)
    if (ofHost) countIn(ofHost.counts, outcome)
    record.running.delete(host)
    record.lastResult = event.time
    if (this.#play && record.play === this.#play.id) this.#play.touched = event.position
    countIn(record.counts, outcome)
  }

  #widen(record: CourseRecord, host: number): void {
    const cells = new Uint8Array(Math.max(16, 2 ** Math.ceil(Math.log2(host + 1))))
    cells.set(record.cells)
    this.weight += cells.length - record.cells.length
    record.cells = cells
  }

  #numberOf(host: string): number {
    const known = this.#hostNumbers.get(host)
    if (known !== undefined) return known
    this.#hostNumbers.set(host, this.hosts.length)
    this.ofHosts.push({ times: new HostTimes(), counts: noCounts() })
    this.weight += RECORD_WEIGHT + host.length
    return this.hosts.push(host) - 1
  }
}

/** The outcome that a letter shows: it also tells which tasks changed something, and which failures did not count. */
function taskOutcomeOf(word: TaskOutcome, head: EventHead): TaskOutcome {
  if (word === 'ok' && head.changed) return 'changed'
  if (word === 'failed' && head.ignored) return 'ignored'
  if (word === 'failed' && head.rescued) return 'rescued'
  return word
}

/** Counts as the recap does: a task that changed something is also ok, and so is an ignored failure. */
function countIn(counts: OutcomeCounts, outcome: TaskOutcome): void {
  if (outcome === 'changed' || outcome === 'ok' || outcome === 'ignored') counts.ok += 1
  if (outcome === 'changed') counts.changed += 1
  if (outcome === 'ignored') counts.ignored += 1
  if (outcome === 'failed' || outcome === 'rescued') counts.failed += 1
  if (outcome === 'skipped') counts.skipped += 1
  if (outcome === 'unreachable') counts.unreachable += 1
}
