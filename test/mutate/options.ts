import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'

export interface Options {
  readonly seed: number
  readonly count: number
  /** Only mutations of rooms that begin so; null: of all. */
  readonly room: string | null
  readonly nearSeconds: number
  readonly wideSeconds: number
  /** How far the tests stand back behind everything else on the machine. */
  readonly nice: number
  /** Show what is drawn, and run nothing. */
  readonly isList: boolean
  /** Only the changes that are drawn with these numbers; null: as many as `count`. */
  readonly only: readonly number[] | null
  /** The keys of changes that an earlier run printed: these are judged, and nothing is drawn. Null: draw. */
  readonly again: ReadonlySet<string> | null
}

export const USAGE = `Usage: scripts/mutate (--seed S (--count N | --only N,N) | --again FILE) [--room R] [--list]
                      [--near-seconds T] [--wide-seconds T] [--nice N]

Changes the product in small ways, one at a time, and runs the tests: they should notice. Changes are negated conditions,
dropped awaits, && for ||, === for !==, < for <=, + 1 for - 1, true for false, removed calls and removed members of lists.
What is only written to the log is not changed. All is done in a copy; nothing of this clone is touched.

  --seed S          which changes are drawn; the same seed and sources draw the same ones
  --count N         how many of them the tests are run for
  --only N,N        those that were drawn with these numbers, in place of the first N
  --again FILE      those that an earlier run printed with their keys, by its output: what survived or stayed undecided;
                    a change is also found when other lines of its file were changed since
  --room R          only changes of one room, such as control-plane/forms or runner-agent
  --list            prints the changes with their numbers and diffs, and runs no test
  --near-seconds T  for the tests that are nearest to the changed file (180)
  --wide-seconds T  for those of its program, when the near ones pass (300)
  --nice N          how far the tests stand back behind everything else on the machine (19)

Changes that the compiler or the linter refuses are counted and not tested. Those that test/mutate/without-effect.json lists change
nothing that anybody could notice; their reasons stand there. Every change that no test noticed is printed with its diff.
A test that only waited in vain proves nothing on a slow machine: it is run again without the change, and must pass, and with
it, and must fail. A change is undecided when that is not so, or when the near tests need more time than they have.
Exit code 0 if all were noticed, 1 if some were not, 2 for wrong arguments.
`

export class UsageError extends Error {
  override readonly name = 'UsageError'
}

/** @returns null when help was asked for @throws UsageError */
export function readOptions(args: readonly string[]): Options | null {
  const text = { type: 'string' } as const
  const names = {
    seed: text,
    count: text,
    room: text,
    only: text,
    again: text,
    'near-seconds': text,
    'wide-seconds': text,
    nice: text,
  }
  let values: Partial<Record<keyof typeof names, string>> & { help?: boolean; list?: boolean }
  try {
    const flags = { help: { type: 'boolean', short: 'h' }, list: { type: 'boolean' } } as const
    values = parseArgs({ args: [...args], options: { ...names, ...flags } }).values
  } catch (error) {
    throw new UsageError(error instanceof Error ? error.message : String(error))
  }
  if (values.help) return null
  const number = (name: keyof typeof names, usual: number | null): number => {
    const value = values[name] === undefined ? usual : Number(values[name])
    if (value === null || !Number.isSafeInteger(value) || value < 0) throw new UsageError(`--${name} must be a number`)
    return value
  }
  const only = values.only?.split(',').map(Number) ?? null
  if (only?.some((one) => !Number.isSafeInteger(one) || one < 1)) throw new UsageError('--only must be numbers')
  const again = values.again === undefined ? null : keysIn(values.again)
  return {
    seed: number('seed', again ? 0 : null),
    count: again ? Number.MAX_SAFE_INTEGER : number('count', only?.length ?? null),
    room: values.room ?? null,
    nearSeconds: number('near-seconds', 180),
    wideSeconds: number('wide-seconds', 300),
    nice: number('nice', 19),
    isList: values.list ?? false,
    only,
    again,
  }
}

/** The keys in the output of an earlier run. @throws UsageError */
function keysIn(path: string): ReadonlySet<string> {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    throw new UsageError(`--again: ${error instanceof Error ? error.message : String(error)}`)
  }
  const keys = [...text.matchAll(/^key: (.+)$/gm)].map(([, key]) => key ?? '')
  if (keys.length === 0) throw new UsageError(`--again: ${path} names no change`)
  return new Set(keys)
}
