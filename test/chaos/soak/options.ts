import { parseArgs } from 'node:util'

/** What the soak was asked for. */
export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  /** Keep the folder with databases, spool and logs also when all went well. */
  readonly keep: boolean
  readonly database: 'sqlite' | 'postgres'
  /** Control planes; more than one are on PostgreSQL. */
  readonly nodes: 1 | 2 | 3
}

export const USAGE = `Usage: scripts/chaos [--minutes N] [--seed S] [--database D] [--nodes N] [--keep]
       scripts/chaos --one-fault [--help]
       scripts/chaos --fail-overs [--help]

Runs many jobs, emitted ones and real playbooks, through control planes and a runner agent while everything around them
fails: processes are killed, stopped and frozen, the network is cut, slowed and made deaf, disks fill up, refuse to sync
and cannot be read, the spool is away for a moment, the database is locked or its server is killed, clocks jump by hours,
agents start in PID namespaces of their own (as root), the runner is revoked, removed and let in again, jobs are aborted.
Then everything is mended, every job must come to its real end, and what is stored is compared with what was written.
With --one-fault one call after the other fails instead. With --fail-overs an asynchronous standby of the database takes
over, again and again.

  --minutes N   how long faults are injected (default 2, fractions allowed, at most 600)
  --seed S      which faults and jobs (default: drawn and printed); the same seed gives the same ones
  --database D  sqlite or postgres, a server of its own (default sqlite; postgres when there are several nodes)
  --nodes N     how many control planes share the work, 1 to 3 (default 1)
  --keep        keep the folder with databases, spool and logs; it is always kept when something is wrong

The last line says how many jobs ran, which faults were injected, how much was compared, and how much was lost, doubled
or wrong; then jobs with a false end, jobs whose playbook was ended by Holdfast, and jobs that never ended. Exit code 0
only when all of these are 0; 2 for wrong arguments.
`

const MAX_MINUTES = 600
const NODE_COUNTS = [1, 2, 3] as const

/** @throws Error with one line that says what is wrong; null: only the help was asked for */
export function readOptions(args: readonly string[], random: () => number): SoakOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '2' },
      seed: { type: 'string' },
      keep: { type: 'boolean', default: false },
      database: { type: 'string' },
      nodes: { type: 'string', default: '1' },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const minutes = Number(values.minutes)
  if (!(minutes > 0 && minutes <= MAX_MINUTES)) throw new Error(`--minutes must be above 0 and at most ${MAX_MINUTES}`)
  const seed = values.seed === undefined ? Math.floor(random() * 2 ** 31) : Number(values.seed)
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error('--seed must be a whole number')
  const nodes = NODE_COUNTS.find((count) => String(count) === values.nodes)
  if (nodes === undefined) throw new Error('--nodes must be 1, 2 or 3')
  const database = values.database ?? (nodes > 1 ? 'postgres' : 'sqlite')
  if (database !== 'sqlite' && database !== 'postgres') throw new Error('--database must be sqlite or postgres')
  if (nodes > 1 && database === 'sqlite') throw new Error('several nodes need --database postgres')
  return { minutes, seed, keep: values.keep, database, nodes }
}
