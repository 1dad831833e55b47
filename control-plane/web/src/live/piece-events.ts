import type { JobEventList } from '@holdfast/client'
import { api } from './api.js'
import { type LineEvent, eventsOf, placedEvent } from './line-events.js'
import { type OutputSource, WARNING } from './output-source.js'

type EventRecord = JobEventList['records'][number]

/** Which pieces of an output are shown. What is left out does not limit them. */
export interface PieceFilter {
  readonly host: string | undefined
  /** The id of a task or play in the outline. */
  readonly task: number | undefined
  /** The name that its events have; undefined: events have other names, or none. */
  readonly taskName: string | undefined
  /** Only pieces that tell of one of these: failed, changed, unreachable, warnings. Empty: all. */
  readonly outcomes: readonly string[]
}

interface Query {
  readonly outcome?: string
  readonly type?: string
}

/** The events that print about an outcome. Each item of a loop has an event of its own, and so has a difference. */
const QUERIES: Readonly<Record<string, readonly Query[]>> = {
  failed: [{ outcome: 'failed' }, { type: 'runner_item_on_failed' }, { type: 'runner_on_async_failed' }],
  changed: [{ outcome: 'changed' }, { type: 'runner_item_on_ok' }, { type: 'runner_on_file_diff' }],
  unreachable: [{ outcome: 'unreachable' }],
}
/** Most events, and most hits, of one answer. */
const PAGE = 2_000

/** How far the output of the job is. */
interface OutputState {
  readonly isOpen: boolean
  readonly length: number
}

/**
 * Reads the events whose output is wanted, in their order, and later those that came meanwhile.
 * @returns a function that gives the events that came, as far as their output is there, too
 */
export function createPieceEvents(id: number, { host, task, taskName, outcomes }: PieceFilter, whole: OutputSource) {
  // Events up to this one, and warnings before this byte, were read.
  let [last, searched, newestOrder] = [0, 0, 0]
  // The pieces before this byte were given.
  let given = 0
  let output: OutputState = { isOpen: true, length: 0 }
  const all = eventsOf(id, () => !output.isOpen)

  const isWanted = (of: string | null, ...ids: readonly (number | null | undefined)[]) =>
    (host === undefined || of === host) && (task === undefined || ids.includes(task))

  /** The wanted events after the last one that was read, up to the newest one. */
  async function read(signal: AbortSignal): Promise<EventRecord[]> {
    const found = new Map<number, EventRecord>()
    const where = { ...(host !== undefined && { host }), ...(taskName !== undefined && { task: taskName }) }
    for (const query of outcomes.length === 0 ? [{}] : outcomes.flatMap((outcome) => QUERIES[outcome] ?? [])) {
      const needsChange = /item_on_ok|diff/.test(query.type ?? '')
      for (let after = last, isMore = true; isMore;) {
        const part = { id, after, before: newestOrder + 1, limit: PAGE }
        const { records } = await api.getJobEvents({ ...part, ...where, ...query }, { signal })
        for (const record of records) {
          const isRight = !needsChange || record.changed === true
          if (isRight && isWanted(record.host, record.task_id, record.play_id)) found.set(record.order, record)
        }
        isMore = records.length === PAGE
        after = records.at(-1)?.order ?? after
      }
    }
    return [...found.values()].sort((one, other) => one.order - other.order)
  }

  /** The events with whose output a warning was printed. None is missing before the byte that `searched` then says. */
  async function readWarnings(horizon: number, newest: EventRecord, signal: AbortSignal): Promise<LineEvent[]> {
    const warnings: LineEvent[] = []
    // What was printed after the last event belongs to none.
    const [rest] = output.isOpen ? [] : placedEvent({ ...newest, host: null, task_id: null, play_id: null, line: null })
    for (let next: number | null = searched; next !== null && next < output.length;) {
      const answer = await whole.search(WARNING, { matchCase: true, from: next, limit: PAGE }, signal)
      for (const [, byte] of answer.hits) {
        const event = (await all.find(byte, signal)) ?? (rest && { ...rest, from: rest.to, to: output.length })
        searched = byte
        if (!event || event.order > horizon) return warnings
        if (isWanted(event.host, event.task, event.play)) warnings.push(event)
      }
      next = answer.next
    }
    // A warning may lie across the place where the search stopped.
    searched = output.isOpen ? Math.max(searched + 1, output.length - WARNING.length) : Infinity
    return warnings
  }

  return async function next(now: OutputState, signal: AbortSignal): Promise<LineEvent[]> {
    output = now
    const [newest] = (await api.getJobEvents({ id, order: 'desc', limit: 1 }, { signal })).records
    if (!newest || (newest.order === last && output.isOpen)) return []
    newestOrder = newest.order
    // Of a run without marks in its output, the answer says that nothing tells what was printed for whom.
    if (!output.isOpen && typeof newest.to !== 'number')
      await (await api.getJobOutputPieces({ id, host: '' }, { signal })).body?.cancel()
    const found = await read(signal)
    // An event may be here before its output.
    const end = output.isOpen ? found.findLastIndex(({ to }) => typeof to === 'number') + 1 : found.length
    let horizon = (found[end]?.order ?? newestOrder + 1) - 1
    let events = found.slice(0, end).flatMap(placedEvent)
    if (outcomes.includes('warnings')) {
      const warnings = await readWarnings(horizon, newest, signal)
      horizon = Math.min(horizon, (events.find(({ from }) => from >= searched)?.order ?? Infinity) - 1)
      events = [...events, ...warnings].filter(({ from }) => from < searched)
    }
    last = horizon
    // The events that print something have different places.
    const fresh = events.filter(({ from, to }) => to > from && from >= given)
    const byPlace = new Map(fresh.map((event) => [event.from, event]))
    const ordered = [...byPlace.values()].sort((one, other) => one.from - other.from)
    given = ordered.at(-1)?.to ?? given
    return ordered
  }
}
