import { setImmediate as letOthersRun } from 'node:timers/promises'
import { findStreams } from '../../store/jobs/job-details.js'
import { readOutput } from '../../store/jobs/job-output.js'
import { OUTPUT_BLOCK_BYTES, findBlocks, linesByBlock } from '../../store/jobs/output-lines.js'
import type { Queries } from '../../store/store.js'

/** For how many jobs the counted blocks are kept in memory. Only jobs whose lines are not stored need this. */
const MAX_KEPT = 64

/** The blocks of the output of a job: where each begins, and the number of line ends before it. */
export interface OutputIndex {
  readonly bytes: number
  /** Line ends of the whole output. */
  readonly lines: number
  readonly generation: number
  /** One entry for each block, in order. */
  readonly points: readonly (readonly [byte: number, line: number])[]
}

/** Line numbers of outputs. */
export type OutputIndexes = ReturnType<typeof createOutputIndexes>

/** The blocks that were counted here, because the database has no numbers for this job. */
interface Counted {
  readonly generation: number
  bytes: number
  readonly lines: Map<number, number>
}

/**
 * The lines of an output are counted when it is stored. Only copied output is counted here, from its
 * bytes. It is counted once, and then only new bytes.
 */
export function createOutputIndexes(queries: Queries) {
  // In the order of their last use.
  const kept = new Map<number, Counted>()

  /** Two readers at a time would count the same bytes twice, so each waits for the one before. */
  const counting = new Map<number, Promise<Counted>>()

  function countedOf(jobId: number, generation: number): Promise<Counted> {
    const before = counting.get(jobId)
    const next = (before ? before.catch(() => null) : Promise.resolve(null)).then(() => countOn(jobId, generation))
    counting.set(jobId, next)
    const forget = () => void (counting.get(jobId) === next && counting.delete(jobId))
    next.then(forget, forget)
    return next
  }

  async function countOn(jobId: number, generation: number): Promise<Counted> {
    const known = kept.get(jobId)
    const counted = known?.generation === generation ? known : { generation, bytes: 0, lines: new Map() }
    kept.delete(jobId)
    kept.set(jobId, counted)
    const [oldest] = kept.keys()
    if (kept.size > MAX_KEPT && oldest !== undefined) kept.delete(oldest)
    for await (const piece of readOutput(queries, jobId, counted.bytes)) {
      for (const [block, lines] of linesByBlock(piece, counted.bytes)) {
        counted.lines.set(block, (counted.lines.get(block) ?? 0) + lines)
      }
      counted.bytes += piece.length
      await letOthersRun()
    }
    return counted
  }

  /** @param after only blocks that begin after this byte; -1: all */
  async function of(jobId: number, after: number): Promise<OutputIndex> {
    const stream = await findStreams(queries, jobId)
    const generation = stream?.generation ?? 0
    if (!stream || stream.shown_lines === null) {
      const { bytes, lines } = await countedOf(jobId, generation)
      return indexOf(bytes, lines, generation, after)
    }
    const stored = new Map((await findBlocks(queries, jobId, 0)).map(({ block, lines }) => [block, lines]))
    return indexOf(stream.shown_length, stored, generation, after)
  }

  return {
    of,
    /** Line ends of the whole output. */
    async linesOf(jobId: number): Promise<number> {
      const stream = await findStreams(queries, jobId)
      return stream?.shown_lines ?? (await of(jobId, Number.MAX_SAFE_INTEGER)).lines
    },
  }
}

function indexOf(
  bytes: number,
  linesOfBlock: ReadonlyMap<number, number>,
  generation: number,
  after: number,
): OutputIndex {
  const points: [number, number][] = []
  let lines = 0
  for (let byte = 0; byte < bytes; byte += OUTPUT_BLOCK_BYTES) {
    if (byte > after) points.push([byte, lines])
    lines += linesOfBlock.get(byte / OUTPUT_BLOCK_BYTES) ?? 0
  }
  return { bytes, lines, generation, points }
}
