import type { Client, Schedule } from '@holdfast/client'
import { UsageError } from '../../errors.js'
import type { Column } from '../../show/table.js'
import { localTime } from '../../show/time.js'
import { act, type Command, named, numbered } from '../act.js'
import { text } from '../options.js'
import { list, numberOf, resource, sayWhatToChange, show, tell } from '../resource.js'
import { wishOf, wishOptions } from './wish.js'

const COLUMNS: readonly Column<Schedule>[] = [
  { title: 'id', value: (schedule) => schedule.id, align: 'right' },
  { title: 'name', value: (schedule) => schedule.name },
  { title: 'form', value: (schedule) => schedule.form },
  { title: 'when', value: (schedule) => whenText(schedule) },
  {
    title: 'next run',
    value: (schedule) => (schedule.paused ? 'paused' : localTime(schedule.next_run)),
    isWhole: true,
  },
  { title: 'last job', value: (schedule) => schedule.last_job, align: 'right' },
  { title: 'user', value: (schedule) => schedule.user },
  { title: 'problem', value: (schedule) => schedule.last_problem },
]

function whenText({ cron, at, time_zone: timeZone }: Schedule): string {
  return cron === null ? `once at ${localTime(at) ?? ''}` : `${cron} ${timeZone}`
}

function nextText(schedule: Schedule): string {
  const next = localTime(schedule.next_run)
  return next === null ? 'It starts no jobs now.\n' : `Its next run: ${next}.\n`
}

/** How many starts are shown. */
const COUNT = { ...text('How many, up to 100'), default: '5' } as const

/** @throws UsageError */
function countOf({ count }: { readonly count: string }): number {
  if (!/^([1-9]\d?|100)$/.test(count)) throw new UsageError('--count must be a number from 1 to 100.')
  return Number(count)
}

const linesOf = (starts: readonly string[]) => starts.map((start) => `${localTime(start) ?? ''}\n`).join('')

/** The time zone of this terminal. */
const ownZone = () => Intl.DateTimeFormat().resolvedOptions().timeZone

const scheduleId = (typed: string) => numberOf(typed, 'the number of a schedule', 'schedule list')
const SCHEDULE = numbered('id', 'Number of the schedule', scheduleId)
/** The same, but the number is read after the sign-in was found. */
const SIGNED_IN_SCHEDULE = named('id', SCHEDULE.describe, (_, typed) => scheduleId(typed))

/** A command that turns a schedule on or off. */
const turn = (describe: string, ask: (client: Client, id: number) => Promise<Schedule>, done: string): Command =>
  act({
    describe,
    on: SCHEDULE,
    ask: ({ client, on: id }) => ask(client, id),
    text: ({ name }, { on: id }) => `The schedule ${id} (${name}) ${done}.\n`,
  })

/** `holdfast schedule …` */
export const scheduleCommands = resource('schedules', {
  list: list({
    describe: 'List your schedules (admins: all schedules)',
    columns: COLUMNS,
    none: 'No schedules.',
    read: (client) => client.listSchedules(),
  }),
  show: show({
    describe: 'Show one schedule with its next runs',
    on: SIGNED_IN_SCHEDULE,
    read: (client, id) => client.getSchedule({ id }),
  }),
  create: act({
    describe: 'Launch a form at given times, with your rights',
    positions: { form: 'Name of the form' },
    options: wishOptions,
    examples: [
      ['$0 schedule create Report --cron "0 6 * * 1-5" --time-zone Europe/Berlin', 'each working day at six'],
      ['$0 schedule create Report --at 2030-01-31T06:00:00Z -e size=3', 'once'],
    ],
    given: (args) => {
      if (args.cron === undefined && args.at === undefined) {
        throw new UsageError('Say when to launch: give --cron or --at.')
      }
      return wishOf(args)
    },
    ask: ({ client, args: { form }, given }) =>
      client.createSchedule({ body: { name: form, time_zone: ownZone(), ...given, form } }),
    text: (made) => `The schedule ${made.id} (${made.name}) was made. ${nextText(made)}`,
  }),
  change: act({
    describe: 'Change your schedule; what is not given stays',
    on: SIGNED_IN_SCHEDULE,
    options: wishOptions,
    given: async (args) => {
      const body = await wishOf(args)
      if (Object.keys(body).length === 0) throw sayWhatToChange('schedule change')
      return body
    },
    ask: ({ client, on: id, given: body }) => client.changeSchedule({ id, body }),
    text: (changed) => `The schedule ${changed.id} (${changed.name}) was changed. ${nextText(changed)}`,
  }),
  pause: turn(
    'Pause a schedule: it starts no jobs until it is resumed',
    (client, id) => client.pauseSchedule({ id }),
    'starts no jobs now',
  ),
  resume: turn(
    'Resume a schedule: it starts jobs again, from its next time on',
    (client, id) => client.resumeSchedule({ id }),
    'starts jobs again',
  ),
  times: act({
    describe: 'Show when a schedule with these times would start jobs; nothing is made',
    options: { cron: { ...wishOptions.cron, demandOption: true }, 'time-zone': wishOptions['time-zone'], count: COUNT },
    examples: [['$0 schedule times --cron "0 0 L * *" --time-zone Europe/Berlin', 'at the end of each month']],
    given: countOf,
    ask: ({ client, args: { cron, timeZone = ownZone() }, given: count }) =>
      client.nextRunsOfTimes({ cron, time_zone: timeZone, count }),
    text: ({ next_runs: starts }) => linesOf(starts),
  }),
  next: act({
    describe: 'Show when a schedule starts its next jobs',
    on: SIGNED_IN_SCHEDULE,
    options: { count: COUNT },
    given: countOf,
    ask: ({ client, on: id, given: count }) => client.nextRunsOfSchedule({ id, count }),
    text: ({ next_runs: starts }) => {
      if (starts.length === 0) return 'The schedule is paused, or it has no further starts.\n'
      return linesOf(starts)
    },
  }),
  delete: tell({
    describe: 'Delete a schedule; its jobs stay',
    on: SCHEDULE,
    ask: (client, id) => client.deleteSchedule({ id }),
  }),
})
