import type { Argv } from 'yargs'
import { numbered } from './act.js'
import { jobIdOf } from './common.js'

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

/** The job that a command is about. */
export const JOB = numbered('id', 'Id of the job', jobIdOf)

/** The position of a job's id. */
export function jobIdPosition<T>(yargs: Argv<T>) {
  return yargs.positional('id', { type: 'string', demandOption: true, describe: JOB.describe })
}

/** The option of commands that start a playbook. */
export const VERBOSE = { type: 'boolean' as const, default: false, describe: 'Run the playbook in verbose mode' }

/** An option that takes one text. */
export const text = (describe: string) => ({ type: 'string', requiresArg: true, describe }) as const

/** An option for something that is on or off. It is off when it is not given. */
export const flag = (describe: string) => ({ type: 'boolean', default: false, describe }) as const

/** An option for something that stays as it is when the option is not given. */
export const setting = (describe: string) => ({ type: 'boolean', describe }) as const

/** The option for a number that is told as text. */
export const numberOption = (describe: string, defaultDescription: string) =>
  ({ ...text(describe), defaultDescription }) as const
