import type { JobOutline, OutputSource } from '../live/output-source.js'
import { logWords } from '../words/en-log.js'
import type { OutlineEntry } from './folds.js'
import { type OutcomeCounts, countsOf } from './outcome-counts.js'

type OutlineRecord = JobOutline['records'][number]

/** The recap is no section; this id is not of any. */
const RECAP_ID = 0
/** Between two readings, in milliseconds. */
const PAUSE_MS = 1_000

/** Reads the plays and tasks of a job, and what is new of them. */
export interface OutlineReader {
  /** There may be more: reads on, unless it reads already. */
  look(): void
  stop(): void
}

/**
 * @param source undefined `whole`: its lines are those of the outline. Of a part only the counts are of use
 * @param onRead gets all entries whose place in the output is known, and how often there was which outcome
 * @param after calls back after milliseconds, and gives what cancels that
 */
export function createOutlineReader(
  source: Pick<OutputSource, 'outline' | 'whole'>,
  after: (ms: number, callback: () => void) => () => void,
  onRead: (entries: readonly OutlineEntry[], counts: OutcomeCounts) => void,
): OutlineReader {
  const known = new Map<number, OutlineRecord>()
  const stopping = new AbortController()
  let [isReading, isWanted, last] = [false, false, 0]
  let cancel: (() => void) | null = null

  function look(): void {
    isWanted = true
    if (isReading || stopping.signal.aborted) return
    isReading = true
    isWanted = false
    const { whole = source } = source
    whole
      .outline(last, stopping.signal)
      .then(take, () => undefined) // The output view already says that nothing can be read now.
      .finally(() => {
        cancel = after(PAUSE_MS, () => {
          isReading = false
          if (isWanted) look()
        })
      })
  }

  function take(outline: JobOutline): void {
    for (const record of outline.records) known.set(record.id, record)
    const records = [...known.values()]
    // The place in the output may be known later than the event. No other event says when it is known.
    const isPart = source.whole !== undefined
    const open = records.filter(({ line }) => !isPart && (line === undefined || line === null))
    last = open.reduce((least, { order }) => Math.min(least, order - 1), outline.last)
    const entries = isPart ? [] : entriesOf(records)
    const counts = countsOf(records)
    if (entries.length === 0) return onRead([], counts)
    const line = outline.recap?.line
    const recap = { kind: 'play', name: '', summary: '', isDull: false, hasFailed: false } as const
    onRead(
      line === undefined || line === null
        ? entries
        : [...entries, { ...recap, id: RECAP_ID, line: line + 1, isRecap: true }],
      counts,
    )
  }

  return {
    look,
    stop() {
      stopping.abort()
      cancel?.()
    },
  }
}

/**
 * In a play in which each host goes on by itself (the strategies `free` and `host_pinned`), the lines of all tasks stand
 * among each other. There only the whole play can be folded: lines of a failed task could stand below another one.
 */
function entriesOf(records: readonly OutlineRecord[]): OutlineEntry[] {
  const mixed = mixedPlays(records)
  const failed = new Set(records.filter(hasFailed).map(({ play }) => play))
  return records
    .filter(({ kind, play }) => kind === 'play' || !mixed.has(play))
    .flatMap(entryOf)
    .map((entry) => (mixed.has(entry.id) && failed.has(entry.id) ? { ...entry, hasFailed: true } : entry))
}

/** The plays in which a task began before an earlier one had ended at all its hosts. */
function mixedPlays(records: readonly OutlineRecord[]): ReadonlySet<number | null> {
  const ends = new Map<number | null, number>()
  const mixed = new Set<number | null>()
  for (const { kind, play, started, ended, hosts } of records.toSorted((one, other) => one.order - other.order)) {
    if (kind === 'play') continue
    if (Date.parse(started) < (ends.get(play) ?? 0)) mixed.add(play)
    const end = ended === null ? (hosts === 0 ? 0 : Infinity) : Date.parse(ended)
    ends.set(play, Math.max(ends.get(play) ?? 0, end))
  }
  return mixed
}

const hasFailed = ({ failed, unreachable }: OutlineRecord) => failed + unreachable > 0

/** Ansible prints an empty line before each heading. */
function entryOf(record: OutlineRecord): OutlineEntry[] {
  const { id, kind, name, line, ended, ok, changed, failed, unreachable } = record
  if (line === undefined || line === null) return []
  return [
    {
      id,
      kind: kind === 'play' ? 'play' : 'task',
      line: line + 1,
      name: name ?? '',
      summary: kind === 'play' ? '' : logWords.outcome({ ok, changed, failed, unreachable }, secondsOf(record)),
      isDull: kind !== 'play' && ended !== null && changed + failed + unreachable === 0,
      hasFailed: hasFailed(record),
    },
  ]
}

function secondsOf({ started, ended }: OutlineRecord): number | null {
  return ended === null ? null : Math.max(0, (Date.parse(ended) - Date.parse(started)) / 1000)
}
