import { type JobOutline, type OutputSource, WARNING } from '../live/output-source.js'

/** How often an output tells of an outcome; null: not known. The names are those of the filter. */
export type OutcomeCounts = Readonly<Record<'failed' | 'changed' | 'unreachable' | 'warnings', number | null>>

/** Nothing is known. */
export const NO_COUNTS: OutcomeCounts = { failed: null, changed: null, unreachable: null, warnings: null }

/** In a longer output warnings are not counted: the control plane would read all of it. */
const MAX_COUNTED_BYTES = 16 * 1024 * 1024
/** Warnings of one answer. */
const PAGE = 2_000

/** The results of tasks at hosts. What was ignored afterwards stands in the output as a failure, too. */
export function countsOf(records: JobOutline['records']): OutcomeCounts {
  const sum = (of: (record: JobOutline['records'][number]) => number) => records.reduce((all, one) => all + of(one), 0)
  return {
    failed: sum(({ failed, ignored }) => failed + ignored),
    changed: sum(({ changed }) => changed),
    unreachable: sum(({ unreachable }) => unreachable),
    warnings: null,
  }
}

/** Counts the warnings of an output that is complete; null: it is too long for that. */
export async function countWarnings(source: OutputSource, signal: AbortSignal): Promise<number | null> {
  const { length = 0 } = await source.part(0, 1, signal)
  if (length > MAX_COUNTED_BYTES) return null
  let count = 0
  for (let from: number | null = 0; from !== null;) {
    const found = await source.search(WARNING, { matchCase: true, from, limit: PAGE }, signal)
    count += found.hits.length
    from = found.next
  }
  return count
}
