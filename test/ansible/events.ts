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
  result?: Record<string, unknown>
}

/** All events of a file; each line must be an event of the contract, and their numbers 1, 2, 3 … */
export function eventsOf(text: string): Event[] {
  const lines = text.split('\n')
  expect(lines.pop()).toBe('')
  return lines.map((line, index) => {
    expect(Buffer.byteLength(line) + 1).toBeLessThanOrEqual(256 * 1024)
    expect(readEventLine(line), line.slice(0, 200)).not.toBeNull()
    const event = JSON.parse(line) as Event
    expect(event.order).toBe(index + 1)
    return event
  })
}
