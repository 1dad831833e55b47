import type { Argv } from 'yargs'

/**
 * An option that may be given several times. Each `--option` takes one value. Otherwise `-e a=1 "Hello world"` would take
 * the name of the form as a value, too.
 */
export const SEVERAL = {
  type: 'string' as const,
  array: true as const,
  nargs: 1,
  default: [] as string[],
  defaultDescription: 'none',
}

/** The position of a job's id. */
export function jobIdPosition<T>(yargs: Argv<T>) {
  return yargs.positional('id', { type: 'string', demandOption: true, describe: 'Id of the job' })
}

/** The option of commands that start a playbook. */
export const VERBOSE = { type: 'boolean' as const, default: false, describe: 'Run the playbook in verbose mode' }

/** The option for a number that is told as text. */
export const numberOption = (describe: string, defaultDescription: string) =>
  ({ type: 'string', requiresArg: true, describe, defaultDescription }) as const
