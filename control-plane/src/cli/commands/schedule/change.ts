import type { Argv } from 'yargs'
import type { Schedule, ScheduleChange } from '@holdfast/client'
import { UsageError } from '../../errors.js'
import { readExtraVars } from '../../extra-vars.js'
import { writeAnswer } from '../../show/answer.js'
import { localTime } from '../../show/time.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { credentialNames } from '../job/launch/launch.js'
import { idPosition, scheduleId } from './schedule-id.js'

const MISSED = ['run', 'skip'] as const

const text = (describe: string) => ({ type: 'string', requiresArg: true, describe }) as const
const texts = (describe: string) => ({ type: 'string', array: true, nargs: 1, describe }) as const

const wishOptions = <Given>(yargs: Argv<Given>) =>
  clientOptions(yargs)
    .option('name', text('What it is for'))
    .option('cron', text('Minute, hour, day of the month, month, day of the week: "30 6 * * 1-5"'))
    .option('at', text('The time of the only start, as ISO 8601: 2030-01-31T06:00:00+01:00'))
    .option(
      'time-zone',
      text('The time zone of --cron, such as Europe/Berlin; a new schedule gets the one of this terminal'),
    )
    .option('missed', {
      choices: MISSED,
      describe: 'After starts at whose time no control plane ran: run once, or skip them (default of a new schedule)',
    })
    .option('extra-vars', {
      ...texts('Values of the fields, as for job launch; they replace all earlier ones'),
      alias: 'e',
    })
    .option('credential', texts('Names of credentials, as for job launch: key=name; they replace all earlier ones'))
    .option('verbose', { type: 'boolean', describe: 'Run the playbook in verbose mode' })

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
async function wishOf(args: WishArguments): Promise<ScheduleChange> {
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

function nextText(schedule: Schedule): string {
  const next = localTime(schedule.next_run)
  return next === null ? 'It starts no jobs now.\n' : `Its next run: ${next}.\n`
}

/** `holdfast schedule create` */
export const createCommand = (run: Run) =>
  command({
    command: 'create <form>',
    describe: 'Launch a form at given times, with your rights',
    builder: (yargs) =>
      wishOptions(yargs)
        .positional('form', { type: 'string', demandOption: true, describe: 'Name of the form' })
        .example('$0 schedule create Report --cron "0 6 * * 1-5" --time-zone Europe/Berlin', 'each working day at six')
        .example('$0 schedule create Report --at 2030-01-31T06:00:00Z -e size=3', 'once'),
    handler: async (args) => {
      if (args.cron === undefined && args.at === undefined)
        throw new UsageError('Say when to launch: give --cron or --at.')
      const here = Intl.DateTimeFormat().resolvedOptions().timeZone
      const wish = { name: args.form, time_zone: here, ...(await wishOf(args)) }
      const client = await clientOf(run, args)
      const made = await client.createSchedule({ body: { ...wish, form: args.form } })
      await writeAnswer(
        run.terminal.stdout,
        args.json,
        made,
        () => `The schedule ${made.id} (${made.name}) was made. ${nextText(made)}`,
      )
    },
  })

/** `holdfast schedule change` */
export const changeCommand = (run: Run) =>
  command({
    command: 'change <id>',
    describe: 'Change your schedule; what is not given stays',
    builder: (yargs) => idPosition(wishOptions(yargs)),
    handler: async (args) => {
      const body = await wishOf(args)
      if (Object.keys(body).length === 0)
        throw new UsageError('Say what to change: holdfast schedule change --help lists the options.')
      const client = await clientOf(run, args)
      const changed = await client.changeSchedule({ id: scheduleId(args.id), body })
      await writeAnswer(
        run.terminal.stdout,
        args.json,
        changed,
        () => `The schedule ${changed.id} (${changed.name}) was changed. ${nextText(changed)}`,
      )
    },
  })
