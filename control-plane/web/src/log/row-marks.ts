import { api } from '../live/api.js'
import type { LineEvent, LineEvents } from '../live/line-events.js'
import { timeText } from '../parts/time.js'
import type { LogSession } from './log-session.js'

/** Colours of hosts, by their numbers in the output. Red and green would say failed and ok. */
const HUES = [4, 5, 3, 6, 8] as const
/** Before the events of lines are asked for, in milliseconds: who scrolls sees most lines for a moment only. */
const PAUSE_MS = 150
/** The same where lines come all the time, and where lines have no event yet. */
const AGAIN_MS = 1_000

interface RowMarks {
  readonly bar: HTMLElement
  readonly time: HTMLElement
  /** What they show is of this line; it is looked up anew when this changes. */
  key: string
}

/** The marks beside lines. */
export interface LineMarks {
  /** The event of a line as far as it is known. */
  eventOf(line: number): LineEvent | null | undefined
  find(line: number): Promise<LineEvent | null>
}

/**
 * Shows beside each line the colour of its host and, when somebody wants it, its time. Events are asked for only when
 * their lines stand in the window.
 */
export function markLines(
  id: number,
  session: LogSession,
  events: LineEvents,
  isOver: () => boolean,
  signal: AbortSignal,
): LineMarks {
  const { model, painter } = session
  const made = new WeakMap<HTMLElement, RowMarks>()
  const plain = new Set<number>()
  let timer: ReturnType<typeof setTimeout> | undefined
  let [start, pause] = [0, PAUSE_MS]

  const byteOf = (line: number) => model.store.line(line, 0)?.start

  function eventOf(line: number): LineEvent | null | undefined {
    const byte = byteOf(line)
    if (byte === undefined) return undefined
    return plain.has(byte) ? null : events.at(byte)
  }

  async function find(line: number, end?: number): Promise<LineEvent | null> {
    const byte = byteOf(line)
    if (byte === undefined) return null
    const found = await events.find(byte, signal, end)
    if (found === null && isOver()) plain.add(byte)
    return found
  }

  /** Where the lines end that stand together with this one. What is folded between lines is not asked for. */
  function endOfPart(lines: readonly number[], place: number): number | undefined {
    let last = place
    while (lines[last + 1] === (lines[last] ?? 0) + 1) last += 1
    const end = byteOf((lines[last] ?? 0) + 1)
    return end ?? model.store.bytes
  }

  async function look(): Promise<void> {
    pause = PAUSE_MS
    try {
      if (session.times === 2 && start === 0) {
        const [first] = (await api.getJobEvents({ id, limit: 1 }, { signal })).records
        start = first ? Date.parse(first.time) : 0
      }
      const lines = model.window.placed().map(({ line }) => line)
      for (const [place, line] of lines.entries()) {
        if (eventOf(line) === undefined && (await find(line, endOfPart(lines, place))) === null) pause = AGAIN_MS
      }
    } catch {
      // The view already says that nothing can be read now.
      pause = AGAIN_MS
    }
    timer = undefined
    if (!signal.aborted) painter.soon()
  }

  painter.decorate = (row, line) => {
    const marks = made.get(row) ?? createMarks(row, made)
    const key = `${line} ${session.times} ${start}`
    if (marks.key === key) return
    const event = eventOf(line)
    marks.key = event === undefined || (session.times === 2 && start === 0) ? '' : key
    if (marks.key === '') timer ??= setTimeout(() => void look(), model.isFollowing && !isOver() ? AGAIN_MS : pause)
    const host = event?.host ?? ''
    marks.bar.title = host
    marks.bar.className = host === '' ? '' : `log-bar log-f${hueOf(host)}`
    marks.time.textContent = event ? shownTime(session.times, event.time, start) : ''
  }
  signal.addEventListener('abort', () => {
    clearTimeout(timer)
    painter.decorate = null
  })
  painter.soon()
  return { eventOf, find }
}

function createMarks(row: HTMLElement, made: WeakMap<HTMLElement, RowMarks>): RowMarks {
  const marks = { bar: document.createElement('span'), time: document.createElement('span'), key: '' }
  marks.time.className = 'log-time'
  row.prepend(marks.bar, marks.time)
  made.set(row, marks)
  return marks
}

/** The same host has the same colour on every page. */
function hueOf(host: string): number {
  let sum = 0
  for (const character of host) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 65_521
  return HUES[sum % HUES.length] ?? 8
}

function shownTime(times: number, time: string, start: number): string {
  // Without the day.
  if (times === 1) return timeText(time).slice(-8)
  const ms = Math.max(0, Date.parse(time) - start)
  if (times === 0 || start === 0 || Number.isNaN(ms)) return ''
  return `${Math.floor(ms / 3_600_000)}:${new Date(ms).toISOString().slice(14, 21)}`
}
