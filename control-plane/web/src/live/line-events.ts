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
  /**
   * The same, and asks the control plane.
   * @param end what is asked for goes to this byte: the bytes of all lines in the window are one request
   */
  find(byte: number, signal: AbortSignal, end?: number): Promise<LineEvent | null>
}

/** The events that printed the bytes between two places, in their order. */
interface KnownPart {
  readonly from: number
  readonly to: number
  readonly events: readonly LineEvent[]
}

/** So many bytes are asked for, when nobody says up to where. */
const BYTES = 4096
/** Most parts in memory. The one that was read longest ago is removed. */
const MAX_PARTS = 50
/** What may still grow is read again after so many milliseconds. */
const AGAIN_MS = 1_000

/** The events of a whole output, as far as somebody looked at their lines. Nothing else is asked for. */
export function eventsOf(id: number, isOver: () => boolean): LineEvents {
  let parts: readonly KnownPart[] = []
  // What was asked for last, and had no event yet.
  let missed = { from: 0, to: 0, at: 0 }

  function at(byte: number): LineEvent | null | undefined {
    const part = parts.find(({ from, to }) => from <= byte && byte < to)
    return part && (part.events.find((event) => event.from <= byte && byte < event.to) ?? null)
  }

  async function read(from: number, to: number, signal: AbortSignal): Promise<void> {
    const isWhole = isOver()
    const { records } = await api.getJobEvents({ id, from, to }, { signal })
    const events = records.flatMap(placedEvent)
    // The events of what a job prints now may come later than the output.
    const end = isWhole ? to : Math.min(to, events.at(-1)?.to ?? from)
    if (end < to) missed = { from: end, to, at: Date.now() }
    if (end > from) parts = [...parts.slice(1 - MAX_PARTS), { from, to: end, events }]
  }

  return {
    at,
    async find(byte, signal, end = byte + BYTES) {
      const known = at(byte)
      if (known !== undefined) return known
      if (missed.from <= byte && byte < missed.to && missed.at + AGAIN_MS > Date.now()) return null
      await read(byte, Math.max(end, byte + 1), signal)
      return at(byte) ?? null
    },
  }
}

/** An event as views of outputs need it; empty: its place in the output is not known. */
export function placedEvent(record: EventRecord): LineEvent[] {
  const { order, time, host, task_id: task = null, play_id: play = null, from, to, line = null } = record
  if (typeof from !== 'number' || typeof to !== 'number') return []
  return [{ order, time, host, task, play, from, to, line }]
}
