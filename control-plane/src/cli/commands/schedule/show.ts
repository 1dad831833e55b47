import type { Schedule } from '@holdfast/client'
import { UsageError } from '../../errors.js'
import { writeAnswer } from '../../show/answer.js'
import { type Column, fieldsText } from '../../show/table.js'
import { localTime } from '../../show/time.js'
import { clientOf, clientOptions, command, type Run } from '../common.js'
import { listCommandOf } from '../list-command.js'
import { idPosition, scheduleId } from './schedule-id.js'

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

/** `holdfast schedule list` */
export const listCommand = (run: Run) =>
  listCommandOf(run, {
    command: 'list',
    describe: 'List your schedules (admins: all schedules)',
    columns: COLUMNS,
    none: 'No schedules.',
    read: (client) => client.listSchedules(),
  })

/** `holdfast schedule show` */
export const showCommand = (run: Run) =>
  command({
    command: 'show <id>',
    describe: 'Show one schedule with its next runs',
    builder: (yargs) => idPosition(clientOptions(yargs)),
    handler: async (args) => {
      const client = await clientOf(run, args)
      const schedule = await client.getSchedule({ id: scheduleId(args.id) })
      await writeAnswer(run.terminal.stdout, args.json, schedule, () =>
        fieldsText(run.terminal.stdout, Object.entries(schedule)),
      )
    },
  })

/** `holdfast schedule next` */
export const nextCommand = (run: Run) =>
  command({
    command: 'next <id>',
    describe: 'Show when a schedule starts its next jobs',
    builder: (yargs) =>
      idPosition(clientOptions(yargs)).option('count', {
        type: 'string',
        requiresArg: true,
        default: '5',
        describe: 'How many, up to 100',
      }),
    handler: async (args) => {
      if (!/^([1-9]\d?|100)$/.test(args.count)) throw new UsageError('--count must be a number from 1 to 100.')
      const client = await clientOf(run, args)
      const answer = await client.nextRunsOfSchedule({ id: scheduleId(args.id), count: Number(args.count) })
      await writeAnswer(run.terminal.stdout, args.json, answer, () => {
        if (answer.next_runs.length === 0) return 'The schedule is paused, or it has no further starts.\n'
        return answer.next_runs.map((start) => `${localTime(start) ?? ''}\n`).join('')
      })
    },
  })
