import { readEventLine } from '@holdfast/protocol'
import { expect } from 'vitest'

/** One event as a line of events.jsonl holds it. */
export interface Event {
  order: number
  type: string
  play: string | null
  task: string | null
  host: string | null
  duration: number | null
  time: string
  task_uuid?: string
  play_uuid?: string
  action?: string
  changed?: boolean
  ignored?: boolean
  rescued?: boolean
  attempts?: number
  item?: unknown
  path?: string
  plays?: { play: string; play_uuid: string; duration: number }[]
  rescued_orders?: number[]
  uncounted?: boolean
  role?: string
  resolved_action?: string
  custom_stats?: Record<string, Record<string, unknown>>
  result?: Record<string, unknown>
}

/** All events of a file: each line must be an event of the contract, and their numbers 1, 2, 3 … */
export function eventsOf(text: string): Event[] {
  return linesOf(text).map((event, index) => {
    expect(event, `line ${String(index + 1)}`).not.toBeNull()
    return event as Event
  })
}

/** All lines of a file; null for one that a full disk has torn. The number of an event is the number of its line. */
export function linesOf(text: string): (Event | null)[] {
  const lines = text.split('\n')
  if (lines.at(-1) === '') lines.pop()
  return lines.map((line, index) => {
    expect(Buffer.byteLength(line) + 1).toBeLessThanOrEqual(256 * 1024)
    if (readEventLine(line) === null) return null
    const event = JSON.parse(line) as Event
    expect(event.order).toBe(index + 1)
    return event
  })
}
