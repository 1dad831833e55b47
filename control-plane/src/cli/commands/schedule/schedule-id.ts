import type { Argv } from 'yargs'
import { UsageError } from '../../errors.js'

/** Adds the positional argument for the number of a schedule. */
export const idPosition = <Given>(yargs: Argv<Given>) =>
  yargs.positional('id', { type: 'string', demandOption: true, describe: 'Number of the schedule' })

/** Reads the number of a schedule that somebody typed. @throws UsageError */
export function scheduleId(text: string): number {
  if (!/^\d{1,15}$/.test(text)) {
    throw new UsageError(`${text} is not the number of a schedule; see holdfast schedule list.`)
  }
  return Number(text)
}
