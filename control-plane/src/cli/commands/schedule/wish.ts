import type { ScheduleChange } from '@holdfast/client'
import { UsageError } from '../../errors.js'
import { readExtraVars } from '../../extra-vars.js'
import { credentialNames } from '../job/launch/launch.js'
import { setting, text } from '../options.js'

const MISSED = ['run', 'skip'] as const

const texts = (describe: string) => ({ type: 'string', array: true, nargs: 1, describe }) as const

/** The options for what a schedule launches and when. */
export const wishOptions = {
  name: text('What it is for'),
  cron: text('Minute, hour, day of the month, month, day of the week: "30 6 * * 1-5"'),
  at: text('The time of the only start, as ISO 8601: 2030-01-31T06:00:00+01:00'),
  'time-zone': text('The time zone of --cron, such as Europe/Berlin; a new schedule gets the one of this terminal'),
  missed: {
    choices: MISSED,
    describe: 'After starts at whose time no control plane ran: run once, or skip them (default of a new schedule)',
  },
  'extra-vars': { ...texts('Values of the fields, as for job launch; they replace all earlier ones'), alias: 'e' },
  credential: texts('Names of credentials, as for job launch: key=name; they replace all earlier ones'),
  verbose: setting('Run the playbook in verbose mode'),
} as const

interface WishArguments {
  readonly name: string | undefined
  readonly cron: string | undefined
  readonly at: string | undefined
  readonly timeZone: string | undefined
  readonly missed: (typeof MISSED)[number] | undefined
  readonly extraVars: string[] | undefined
  readonly credential: string[] | undefined
  readonly verbose: boolean | undefined
}

/** The fields of a schedule that were given, and no others. @throws UsageError */
export async function wishOf(args: WishArguments): Promise<ScheduleChange> {
  const { name, cron, missed, verbose, extraVars, credential } = args
  if (cron !== undefined && args.at !== undefined) throw new UsageError('Give --cron or --at, not both.')
  const given = {
    name,
    cron,
    missed,
    verbose,
    at: args.at === undefined ? undefined : timeOf(args.at),
    time_zone: args.timeZone,
    values: extraVars && (await readExtraVars(extraVars)),
    credentials: credential && { ...credentialNames(credential) },
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function timeOf(given: string): string {
  const at = new Date(given)
  if (!/^\d{4}-\d\d-\d\dT/.test(given) || Number.isNaN(at.getTime())) {
    throw new UsageError('--at must be a time such as 2030-01-31T06:00:00+01:00.')
  }
  return at.toISOString()
}
