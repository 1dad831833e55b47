import { parseArgs } from 'node:util'

/** What the soak was asked for. */
export interface SoakOptions {
  readonly minutes: number
  readonly seed: number
  /** Keep the folder with databases, spool and logs also when all went well. */
  readonly keep: boolean
}

export const USAGE = `Usage: scripts/chaos [--minutes N] [--seed S] [--keep]

Runs many jobs, emitted ones and real playbooks, through a control plane and a runner agent while everything around them
fails: processes are killed, stopped and frozen, the network is cut, slowed and made deaf, disks fill up and refuse to
sync, the database is locked, clocks jump, jobs are aborted. Then everything is mended, every job must come to its real
end, and what is stored is compared with what was written.

  --minutes N   how long faults are injected (default 2, fractions allowed, at most 600)
  --seed S      which faults and jobs (default: drawn and printed); the same seed gives the same ones
  --keep        keep the folder with databases, spool and logs; it is always kept when something is wrong

The last line says how many jobs ran, which faults were injected, how much was compared, and how much was lost, doubled
or wrong. Exit code 0 only when all three are 0 and every job ended as it should; 2 for wrong arguments.
`

const MOST_MINUTES = 600

/** @throws Error with one line that says what is wrong; null: only the help was asked for */
export function readOptions(args: readonly string[], random: () => number): SoakOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      minutes: { type: 'string', default: '2' },
      seed: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const minutes = Number(values.minutes)
  if (!(minutes > 0 && minutes <= MOST_MINUTES))
    throw new Error(`--minutes must be above 0 and at most ${MOST_MINUTES}`)
  const seed = values.seed === undefined ? Math.floor(random() * 2 ** 31) : Number(values.seed)
  if (!Number.isSafeInteger(seed) || seed < 0) throw new Error('--seed must be a whole number')
  return { minutes, seed, keep: values.keep }
}
