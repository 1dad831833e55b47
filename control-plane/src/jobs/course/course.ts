import { type EventHead, headOf } from './event-head.js'
import { HostTimes } from './host-times.js'
import {
  LETTERS,
  OUTCOMES,
  type OutcomeCounts,
  type TaskOutcome,
  countIn,
  noCounts,
  taskOutcomeOf,
} from './outcomes.js'

/**
 * The course of a run, made from its events: plays and tasks in the order in which they began, and the result of each
 * task at each host. Each event is added once, and no earlier event is read again.
 *
 * A play with `serial` begins again for every batch of hosts, and so do its tasks. Each beginning is a separate record
 * here, because its output is in another place. With the strategies `free` and `host_pinned` a task begins again for
 * every host, within one play. Then there is one record, to which hosts are added. Only for a host that has the task
 * already there is a new one: its handler is called again.
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

/** The beginning of a play, a task or a handler. */
interface Beginning {
  readonly kind: CourseRecord['kind']
  readonly event: CourseEvent
  readonly head: EventHead
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
  /** Tasks of this play that began again, by their ids in the events: the beginning for a host that has the task already. */
  readonly #again = new Map<string, Beginning>()
  /** The records of each task of this play, by its place in the files. An include in a loop makes several. */
  readonly #byPlace = new Map<string, CourseRecord[]>()
  /** Each host goes through this play by itself. Then it includes tasks by itself, too, and they have other ids. */
  #isFree = false

  take(event: CourseEvent): void {
    this.position = event.position
    if (!this.isComplete) return
    const { type } = event
    if (type === 'playbook_on_play_start') this.#beginPlay(event)
    else if (type === 'playbook_on_task_start') this.#beginTask('task', event)
    else if (type === 'playbook_on_handler_task_start') this.#beginTask('handler', event)
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

  #beginPlay(event: CourseEvent): void {
    this.#play = this.#begin({ kind: 'play', event, head: headOf(event.line) })
    this.#again.clear()
    this.#byPlace.clear()
    this.#isFree = false
  }

  #beginTask(kind: 'task' | 'handler', event: CourseEvent): void {
    const beginning: Beginning = { kind, event, head: headOf(event.line) }
    const { taskId } = beginning.head
    const known = this.#knownAs(beginning)
    if (taskId === null || !known) {
      this.#begin(beginning)
      return
    }
    this.#again.set(taskId, beginning)
    this.#name(taskId, known)
  }

  /** The record in this play of a task that begins again. */
  #knownAs(beginning: Beginning): CourseRecord | undefined {
    const named = this.#latest.get(beginning.head.taskId ?? '')
    if (named && named.play === (this.#play?.id ?? null)) return named
    return this.#isFree ? this.#byPlace.get(placeOf(beginning))?.[0] : undefined
  }

  #name(uuid: string, record: CourseRecord): void {
    this.#latest.set(uuid, record)
    const began = this.#beginnings.get(uuid)
    if (!began) this.#beginnings.set(uuid, [record])
    else if (began.at(-1) !== record) began.push(record)
  }

  #begin(beginning: Beginning): CourseRecord {
    const { kind, event, head } = beginning
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
    if (uuid !== null) this.#name(uuid, record)
    if (kind === 'play') return record
    const place = placeOf(beginning)
    const same = this.#byPlace.get(place)
    if (same) same.push(record)
    else this.#byPlace.set(place, [record])
    return record
  }

  /** The record of an event at a host. A host that has every record of its task already begins it once more. */
  #recordFor(taskId: string, host: number, word: TaskOutcome): CourseRecord | undefined {
    const again = this.#again.get(taskId)
    if (!again) return this.#latest.get(taskId)
    const same = this.#byPlace.get(placeOf(again)) ?? []
    const [none, running] = [0, LETTERS.running.charCodeAt(0)]
    const has = (letter: number) => same.find((record) => (record.cells[host] ?? none) === letter)
    const record = (word === 'running' ? undefined : has(running)) ?? has(none)
    if (!record) return this.#begin(again)
    this.#isFree ||= record.kind === 'task' && record.hosts > 0
    this.#name(taskId, record)
    return record
  }

  #atHost(event: CourseEvent, word: TaskOutcome): void {
    if (event.host === null) return
    const head = headOf(event.line)
    if (head.taskId === null || !this.#latest.has(head.taskId)) return
    const host = this.#numberOf(event.host)
    const record = this.#recordFor(head.taskId, host, word)
    if (!record) return
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

/** Equal for the same task of the files, whatever its id is. */
function placeOf({ kind, event, head }: Beginning): string {
  return JSON.stringify([kind, head.path, head.role, event.task])
}
