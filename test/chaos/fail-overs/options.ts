import { parseArgs } from 'node:util'

/** What was asked for. */
export interface FailOverOptions {
  readonly count: number
  readonly seed: number
  /** Most seconds that the standby is behind. */
  readonly behind: number
  readonly keep: boolean
}

export const USAGE = `Usage: scripts/chaos --fail-overs [--count N] [--behind SECONDS] [--seed S] [--keep]

Runs jobs on a PostgreSQL server with an asynchronous standby. At a drawn moment the standby is cut off, some seconds later
the server is killed, and the standby takes over without the last commits. This is done again and again. Every job must
come to its real end, and what is stored of it is compared with what was written.

  --count N     how many fail-overs (default 200, at most 10000)
  --behind N    the standby is 0 to N seconds behind (default 30, at most 600)
  --seed S      which moments and jobs (default: drawn and printed); the same seed gives the same ones
  --keep        keep the folder with spool and logs; it is always kept when something is wrong

The last line says how many jobs ran, how much was compared, and how much was lost, doubled or wrong. Exit code 0 only
when all of that is 0; 2 for wrong arguments.
`

/** @throws Error with one line that says what is wrong; null: only the help was asked for */
export function readFailOverOptions(args: readonly string[], random: () => number): FailOverOptions | null {
  const { values } = parseArgs({
    args: [...args],
    options: {
      'fail-overs': { type: 'boolean' },
      count: { type: 'string', default: '200' },
      behind: { type: 'string', default: '30' },
      seed: { type: 'string' },
      keep: { type: 'boolean', default: false },
      help: { type: 'boolean', short: 'h', default: false },
    },
  })
  if (values.help) return null
  const count = wholeNumber('--count', values.count, 1, 10_000)
  const behind = wholeNumber('--behind', values.behind, 0, 600)
  const seed =
    values.seed === undefined ? Math.floor(random() * 2 ** 31) : wholeNumber('--seed', values.seed, 0, 2 ** 53 - 1)
  return { count, seed, behind, keep: values.keep }
}

function wholeNumber(name: string, text: string, least: number, most: number): number {
  const number = Number(text)
  if (Number.isSafeInteger(number) && number >= least && number <= most) return number
  throw new Error(`${name} must be a whole number from ${least} to ${most}`)
}
