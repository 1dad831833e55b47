import type { JobEventList } from '@holdfast/client'
import { api } from './api.js'

type EventRecord = JobEventList['records'][number]

/** An event of a job, and the bytes of the whole output that it printed. */
export interface LineEvent {
  readonly order: number
  /** By the clock of the runner. */
  readonly time: string
  readonly host: string | null
  /** The ids of its task and its play in the outline. */
  readonly task: number | null
  readonly play: number | null
  readonly from: number
  readonly to: number
  /** Line ends before it; null: not known. */
  readonly line: number | null
}

/** Tells which event printed a byte of the output that a view shows. */
export interface LineEvents {
  /** @returns null: no event printed it. undefined: not known yet */
  at(byte: number): LineEvent | null | undefined
  /** The same, and asks the control plane. */
  find(byte: number, signal: AbortSignal): Promise<LineEvent | null>
}

/** What is known of a job whose events are read. */
export interface EventsState {
  /** Number of its events. */
  readonly events: number
  readonly isOver: boolean
}

/** Events that are read at once. */
const BLOCK = 200
/** Most blocks in memory. The one that was read longest ago is removed. */
const MAX_BLOCKS = 50
/** What may still grow is read again after so many milliseconds. */
const AGAIN_MS = 1_000

/**
 * The events of a whole output, as far as somebody looked at their lines. Events are in the order of their bytes. So the
 * block with an event is found between the blocks that are known, by halves.
 */
export function eventsOf(id: number, state: () => EventsState): LineEvents {
  // The bytes of each block that was read once.
  const ranges = new Map<number, readonly [from: number, to: number]>()
  const blocks = new Map<number, readonly LineEvent[]>()
  // Blocks that may have more events later, and when they were read.
  const growing = new Map<number, number>()

  function at(byte: number): LineEvent | null | undefined {
    for (const [block, [from, to]] of ranges) {
      if (from > byte || byte >= to) continue
      const events = blocks.get(block)
      return events && (events.find((event) => byte < event.to && event.from <= byte) ?? null)
    }
    return undefined
  }

  async function read(block: number, signal: AbortSignal): Promise<void> {
    const after = block * BLOCK
    const { isOver } = state()
    const { records } = await api.getJobEvents({ id, after, before: after + BLOCK + 1 }, { signal })
    const placed = records.flatMap(placedEvent)
    // Without a place, an event is after everything that has one.
    ranges.set(block, [placed[0]?.from ?? Infinity, placed.at(-1)?.to ?? Infinity])
    blocks.delete(block)
    blocks.set(
      block,
      placed.filter(({ from, to }) => to > from),
    )
    if (!isOver && placed.length < BLOCK) growing.set(block, Date.now())
    const [oldest = block] = blocks.keys()
    if (blocks.size > MAX_BLOCKS) blocks.delete(oldest)
  }

  async function find(byte: number, signal: AbortSignal): Promise<LineEvent | null> {
    for (const [block, readAt] of growing) {
      if (readAt + AGAIN_MS > Date.now()) continue
      growing.delete(block)
      ranges.delete(block)
    }
    for (;;) {
      let [low, high] = [-1, Math.ceil(state().events / BLOCK)]
      for (const [block, [from, to]] of ranges) {
        if (byte >= to) low = Math.max(low, block)
        else if (byte < from) high = Math.min(high, block)
        else {
          if (!blocks.has(block)) await read(block, signal)
          return at(byte) ?? null
        }
      }
      if (high - low < 2) return null
      await read((low + high) >> 1, signal)
    }
  }

  return { at, find }
}

/** An event as views of outputs need it; empty: its place in the output is not known. */
export function placedEvent(record: EventRecord): LineEvent[] {
  const { order, time, host, task_id: task = null, play_id: play = null, from, to, line = null } = record
  if (typeof from !== 'number' || typeof to !== 'number') return []
  return [{ order, time, host, task, play, from, to, line }]
}
