/** What the service takes at one moment, when nothing is asked of it. */
export interface Figures {
  /** Resident memory of the process, in bytes. */
  readonly memory: number
  /** What is alive in its heap after a full collection, in bytes; null when it cannot be asked. */
  readonly heap: number | null
  /** Open file descriptors, and those of them that are sockets. */
  readonly descriptors: number
  readonly sockets: number
  /** Bytes of the database with its log. */
  readonly database: number
  /** Files in the folder of uploads. */
  readonly uploads: number
}

const MB = 1024 * 1024

/** Growth of a quarter that is nothing to speak of, in bytes. */
const ROOM = { memory: 48 * MB, heap: 6 * MB, database: 24 * MB }
/** Descriptors come and go by a few: connections of the runner, threads, files of the database. */
const DESCRIPTOR_ROOM = 12

/**
 * What grew without bound in a run of four quarters. What is warmed up, cached or kept once grows in one quarter and then
 * no more; so only what grows in each of the last three is a leak. A few requests have bodies of many megabytes: which
 * quarter has them is chance, and none of them alone says anything. Only how much work was done counts, never how long
 * it took.
 * @param samples at the begin and after each quarter
 * @param uploaded files that uploads may have left: a bound of its own
 */
export function judgeGrowth(samples: readonly Figures[], uploaded: number): string[] {
  const [begin, first, second, third, last] = samples
  if (!begin || !first || !second || !third || !last) return []
  const problems: string[] = []
  for (const name of ['memory', 'heap'] as const) {
    const growth = grown(third, last, name)
    const before = Math.min(grown(first, second, name), grown(second, third, name))
    // A leak grows as fast at the end as before.
    if (growth > ROOM[name] && before > ROOM[name] / 2) {
      problems.push(`${name} still grows: by ${text(growth)} in the last quarter`)
    }
  }
  // Jobs and the audit trail are kept, so every quarter may add as much as those before it.
  const stored = grown(third, last, 'database')
  const most = Math.max(
    grown(begin, first, 'database'),
    grown(first, second, 'database'),
    grown(second, third, 'database'),
  )
  if (stored > ROOM.database + 2 * most) {
    problems.push(`the database grows faster and faster: by ${text(stored)} in the last quarter`)
  }
  for (const name of ['descriptors', 'sockets'] as const) {
    if (last[name] > begin[name] + DESCRIPTOR_ROOM) {
      problems.push(`${name} are left open: ${begin[name]} at the begin, ${last[name]} at the end`)
    }
  }
  if (last.uploads > begin.uploads + uploaded) {
    problems.push(`${last.uploads} files are in the folder of uploads, and only ${uploaded} were uploaded`)
  }
  return problems
}

function grown(before: Figures, after: Figures, name: 'memory' | 'heap' | 'database'): number {
  return (after[name] ?? 0) - (before[name] ?? 0)
}

const text = (bytes: number): string => `${(bytes / MB).toFixed(1)} MB`

/** Figures as one line for people. */
export function figuresText({ memory, heap, descriptors, sockets, database, uploads }: Figures): string {
  const live = heap === null ? '' : ` (${text(heap)} alive)`
  return `memory ${text(memory)}${live}, ${descriptors} descriptors (${sockets} sockets), database ${text(database)}, ${uploads} uploads`
}
