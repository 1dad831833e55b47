import { InvalidInputError, TooManyError } from '../../errors.js'
import { readOutput } from '../../store/jobs/job-output.js'
import { OUTPUT_BLOCK_BYTES } from '../../store/jobs/output-lines.js'
import type { Queries } from '../../store/store.js'
import type { OutputIndexes } from './output-index.js'

const NEWLINE = 0x0a

/** How long one search may take, in milliseconds. The next one goes on where it ended. */
const MAX_MS = 1000
/** Most searches of one user at the same time. */
const MAX_OF_USER = 2
/** Most bytes of a text that somebody searches for. */
const MAX_BYTES = 1000
/** Number of hits in one answer: the default, and the most. */
const HITS = 1000
const MAX_HITS = 10_000

/** What is looked for. */
export interface SearchRequest {
  /** Literal text. */
  readonly text: string
  /** True: large and small letters are different. Otherwise the letters A to Z count like a to z. */
  readonly isExact: boolean
  /** The byte from which on. */
  readonly from: number
  readonly limit: number | undefined
}

/** What was found. */
export interface SearchResult {
  readonly count: number
  /** The whole rest of the output was searched. */
  readonly complete: boolean
  /** For each hit: the number of line ends before it, and its byte. */
  readonly hits: (readonly [line: number, byte: number])[]
  /** The byte from which to go on with the search; null when the search is complete. */
  readonly next: number | null
}

/** Looks for texts in outputs. */
export type OutputSearch = ReturnType<typeof createOutputSearch>

/**
 * A search reads the output block by block. After each read, other requests get their turn. The numbers of lines come
 * from the index, so only blocks with hits are counted.
 * @param now milliseconds, from a clock that does not jump
 */
export function createOutputSearch(deps: {
  readonly queries: Queries
  readonly indexes: OutputIndexes
  readonly now: () => number
}) {
  const running = new Map<string, number>()
  return {
    /** @throws InvalidInputError, TooManyError */
    async find(user: string, jobId: number, request: SearchRequest): Promise<SearchResult> {
      const wanted = Buffer.from(request.text)
      if (wanted.length === 0 || wanted.length > MAX_BYTES) {
        throw new InvalidInputError('invalid_q', `q must have 1 to ${MAX_BYTES} bytes`)
      }
      const limit = Math.min(Math.max(request.limit ?? HITS, 1), MAX_HITS)
      const count = running.get(user) ?? 0
      if (count >= MAX_OF_USER) {
        throw new TooManyError('too_many_searches', `A user may search ${MAX_OF_USER} outputs at a time`, 1)
      }
      running.set(user, count + 1)
      try {
        return await search(deps, jobId, { ...request, wanted, limit })
      } finally {
        const left = (running.get(user) ?? 1) - 1
        if (left > 0) running.set(user, left)
        else running.delete(user)
      }
    },
  }
}

async function search(
  { queries, indexes, now }: Parameters<typeof createOutputSearch>[0],
  jobId: number,
  { wanted, isExact, from, limit }: SearchRequest & { readonly wanted: Buffer; readonly limit: number },
): Promise<SearchResult> {
  const deadline = now() + MAX_MS
  const first = Math.floor(Math.max(0, from) / OUTPUT_BLOCK_BYTES)
  const { points } = await indexes.of(jobId, first * OUTPUT_BLOCK_BYTES - 1)
  const needle = isExact ? wanted : lowered(wanted)
  const hits: [number, number][] = []
  /** No hit begins before this byte. */
  let searched = Math.max(0, from)
  for await (const { block, start, tail } of blocksOf(readOutput(queries, jobId, first * OUTPUT_BLOCK_BYTES), {
    start: first * OUTPUT_BLOCK_BYTES,
    overlap: wanted.length - 1,
  })) {
    const line = points[start / OUTPUT_BLOCK_BYTES - first]?.[1]
    // The block arrived after the index was read.
    if (line === undefined) break
    const bytes = Buffer.concat([tail, block])
    const text = isExact ? bytes : lowered(bytes)
    const begin = start - tail.length
    // Line ends are counted from the last hit on. If they were counted from the beginning for each hit, a block full of
    // hits would block the service for seconds.
    let [counted, lines] = [tail.length, line]
    for (let at = text.indexOf(needle, Math.max(0, searched - begin)); at !== -1; at = text.indexOf(needle, at)) {
      lines += linesBetween(bytes, counted, at)
      counted = at
      hits.push([lines, begin + at])
      at += needle.length
      searched = begin + at
      if (hits.length >= limit) return { count: hits.length, complete: false, hits, next: searched }
    }
    searched = Math.max(searched, begin + bytes.length - wanted.length + 1)
    if (now() > deadline) return { count: hits.length, complete: false, hits, next: searched }
  }
  return { count: hits.length, complete: true, hits, next: null }
}

/** The number of line ends from one place to another. It is negative if the second place comes first. */
function linesBetween(bytes: Buffer, from: number, to: number): number {
  const [low, high, sign] = from <= to ? ([from, to, 1] as const) : ([to, from, -1] as const)
  let count = 0
  for (let at = bytes.indexOf(NEWLINE, low); at !== -1 && at < high; at = bytes.indexOf(NEWLINE, at + 1)) count += 1
  return sign * count
}

/** A copy with lower-case letters. Only ASCII letters are changed, because other bytes may be parts of characters. */
function lowered(bytes: Buffer): Buffer {
  const copy = Buffer.from(bytes)
  for (let at = 0; at < copy.length; at += 1) {
    const byte = copy[at] as number
    if (byte >= 0x41 && byte <= 0x5a) copy[at] = byte + 0x20
  }
  return copy
}

/** The bytes in blocks that begin at multiples of the block size, each with the last bytes of the block before. */
async function* blocksOf(
  pieces: AsyncIterable<Buffer>,
  { start, overlap }: { readonly start: number; readonly overlap: number },
): AsyncGenerator<{ readonly block: Buffer; readonly start: number; readonly tail: Buffer }> {
  let held: Buffer[] = []
  let length = 0
  let position = start
  let tail = Buffer.alloc(0)
  function* full(least: number) {
    while (length >= least) {
      const all = Buffer.concat(held)
      const block = all.subarray(0, OUTPUT_BLOCK_BYTES)
      yield { block, start: position, tail }
      const before = Buffer.concat([tail, block])
      tail = before.subarray(Math.max(0, before.length - overlap))
      position += block.length
      held = [all.subarray(block.length)]
      length -= block.length
    }
  }
  for await (const piece of pieces) {
    held.push(piece)
    length += piece.length
    yield* full(OUTPUT_BLOCK_BYTES)
  }
  yield* full(1)
}
