import { RefusedError } from '@holdfast/client'
import { moreWords } from '../words/en-log-more.js'
import type { LineEvents } from './line-events.js'
import type { OutputHits, OutputSource } from './output-source.js'
import { type PieceFilter, createPieceEvents } from './piece-events.js'
import { createPieceList } from './piece-list.js'

/** Some pieces of an output, as an output of its own. */
export interface PiecesSource extends OutputSource {
  readonly events: LineEvents
}

/** Most pieces that are shown. */
const MAX_PIECES = 100_000
/** Between two looks for more, in milliseconds. */
const PAUSE_MS = 1_000

/** The pieces of the whole output of a job that a filter names. While the job runs, more come. */
export function piecesOf(id: number, whole: OutputSource, filter: PieceFilter): PiecesSource {
  let nextEvents = createPieceEvents(id, filter, whole)
  let [generation, lookedAt] = [0, 0]
  let list = createPieceList(whole, generation)
  const eventAt = (byte: number) => list.at(byte)?.event ?? null

  return {
    whole,
    events: { at: eventAt, find: (byte) => Promise.resolve(eventAt(byte)) },
    index: () => Promise.resolve(null),
    outline: () => Promise.resolve({ count: 0, records: [], last: 0, complete: true, recap: null }),
    async part(offset, length, signal) {
      const parts: Uint8Array<ArrayBuffer>[] = []
      for await (const part of list.bytes(offset, offset + length, signal)) parts.push(part)
      return { bytes: new Uint8Array(await new Blob(parts).arrayBuffer()), generation }
    },
    async follow(offset, signal) {
      if (list.count > MAX_PIECES) throw new RefusedError('', 409, { error: moreWords.full }, null)
      await pause(lookedAt + PAUSE_MS - Date.now(), signal)
      // Asked before the events: when no more output comes now, all events are there, too.
      const now = await whole.part(0, 1, signal)
      if (now.generation !== generation) {
        generation = now.generation
        list = createPieceList(whole, generation)
        nextEvents = createPieceEvents(id, filter, whole)
      }
      const { isOpen = false, length: bytes = 0 } = now
      for (const event of await nextEvents({ isOpen, length: bytes }, signal)) list.add(event)
      lookedAt = Date.now()
      const { length } = list
      return {
        length,
        isOpen: isOpen || list.count > MAX_PIECES,
        generation,
        pieces: list.counting(offset, length, signal),
        cancel: () => Promise.resolve(),
      }
    },
    /** The control plane searches the whole output. Hits outside of the pieces are left out. */
    async search(word, { matchCase, from, limit }, signal) {
      const hits: (readonly [line: number, byte: number])[] = []
      const first = list.at(from)
      let next = first ? first.event.from + from - first.at : null
      while (next !== null && hits.length < limit) {
        const found: OutputHits = await whole.search(word, { matchCase, from: next, limit }, signal)
        for (const [line, byte] of found.hits) {
          const piece = list.after(byte)
          if (!piece || byte < piece.event.from || piece.event.line === null) continue
          hits.push([piece.line + line - piece.event.line, piece.at + byte - piece.event.from])
        }
        next = found.next
      }
      const piece = next === null ? undefined : list.after(next)
      return { hits, next: piece ? piece.at + Math.max(0, (next ?? 0) - piece.event.from) : null }
    },
  }
}

function pause(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const end = () => {
      signal.removeEventListener('abort', end)
      resolve()
    }
    setTimeout(end, ms)
    signal.addEventListener('abort', end)
  })
}
