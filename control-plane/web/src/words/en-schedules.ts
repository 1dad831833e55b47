import { many } from './count.js'

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const

const MONTHS = 'January,February,March,April,May,June,July,August,September,October,November,December'.split(',')

const joined = (type: 'conjunction' | 'disjunction') => {
  const format = new Intl.ListFormat('en-GB', { type })
  return (parts: readonly string[]) => format.format(parts)
}

/** `Monday, Tuesday and Friday`. */
export const listed = joined('conjunction')

/** `the 1st or a Monday`. */
export const either = joined('disjunction')

/** Texts of schedules, and of the dialogs that make them. They are loaded with these pages only. */
export const scheduleWords = {
  caption: 'Schedules, the next start first',
  columns: {
    name: 'Name',
    form: 'Form',
    times: 'When',
    next: 'Next start',
    last: 'Last result',
    active: 'Active',
    user: 'User',
  },
  actions: 'Actions',
  how: 'To make one: open a form, fill it in, and press Regularly… or Later… in place of Launch.',
  empty: 'You have no schedule. A schedule launches a form at times that you choose, also while nobody is signed in.',
  toForms: 'Choose a form',
  back: 'All schedules',
  active: (name: string) => `Starts jobs: ${name}`,
  isOn: 'On',
  isPaused: 'Paused',
  isOver: 'Ended',
  paused: (name: string) => `${name} is paused. It starts no jobs.`,
  resumed: (name: string) => `${name} goes on with its next time.`,
  job: (id: number) => `Job ${id}`,
  neverRan: 'none yet',
  noJob: 'No job',
  remove: 'Delete',
  removeTitle: (name: string) => `Delete the schedule ${name}?`,
  removeText: 'It starts no more jobs. The jobs that it has started stay.',
  removed: (name: string) => `The schedule ${name} was deleted.`,
  runNow: 'Run now',
  runNowTitle: (name: string) => `Run ${name} now?`,
  runNowText:
    'This launches the form once with the values of the schedule. The times of the schedule stay as they are.',
  change: 'Change the times',
  changeTitle: (name: string) => `Change ${name}`,
  changeValues: 'Change the values',
  ofAnother: (name: string) => `Only ${name} may do this, because the jobs are launched as that user.`,

  facts: {
    form: 'Form',
    times: 'When',
    active: 'Active',
    last: 'Last result',
    started: 'Last start',
    missed: 'Missed starts',
    user: 'Launches as',
    made: 'Made',
    verbose: 'Output',
  },
  verbose: 'verbose',
  missed: { skip: 'are left out', run: 'are made up for once' } as Readonly<Record<string, string>>,
  nextRuns: (zone: string) => `Next starts (${zone})`,
  noNextRuns: 'It starts nothing now.',
  values: 'Values',
  valuesText: 'A field that is not here has the default of the form.',
  noValues: 'This schedule has no values of its own. The form uses its defaults.',
  credentials: 'Credentials',

  dialog: {
    later: 'Later…',
    regularly: 'Regularly…',
    laterTitle: (form: string) => `Launch ${form} later`,
    regularlyTitle: (form: string) => `Launch ${form} regularly`,
    make: 'Make the schedule',
    made: (name: string) => `The schedule ${name} was made.`,
    save: 'Save',
    saved: 'The schedule was changed.',
    saveValues: 'Save the values',
    valuesOf: (name: string) => `These are the values of the schedule ${name}. Its next starts use what you save here.`,
    name: 'Name',
    date: 'Date and time',
    zone: 'Time zone',
    noDate: 'Choose a date and a time.',
    often: 'How often',
    often_: {
      minutes: 'Every few minutes',
      day: 'Every day',
      weekdays: 'Every weekday (Monday to Friday)',
      week: 'Every week',
      month: 'Every month',
      cron: 'By a cron expression',
    },
    every: 'Every',
    minutes: (count: number) => many(count, 'minute', 'minutes'),
    hour: 'hour',
    time: 'Time',
    days: 'Days',
    noDays: 'Choose at least one day.',
    day: 'Day of the month',
    lastDay: 'the last day',
    cron: 'Cron expression',
    cronHint: 'Five parts: minute, hour, day of the month, month, day of the week. For example 0 6 1 * *',
    missed: 'If nothing could start it at its time',
    missed_: { skip: 'Leave this start out', run: 'Start once afterwards' } as Readonly<Record<string, string>>,
    noFiles: 'A schedule keeps no files. Launch the form now, or take the file out.',
  },

  /** What times mean. */
  times: {
    once: (time: string) => `once, ${time}`,
    minutes: (count: number) => (count === 1 ? 'every minute' : `every ${count} minutes`),
    hour: 'every hour, on the hour',
    day: (time: string) => `every day at ${time}`,
    weekdays: (time: string) => `every weekday at ${time}`,
    week: (days: readonly number[], time: string) => `every ${listed(days.map((day) => DAYS[day] ?? ''))} at ${time}`,
    month: (day: number, time: string) =>
      `on day ${day} of every month at ${time}${day > 28 ? ', in the months that have this day' : ''}`,
    lastDay: (time: string) => `on the last day of every month at ${time}`,
    /** What an expression limits, part by part. */
    when: (limits: readonly string[]) => `when ${listed(limits)}`,
    part: {
      minute: (value: string) => `the minute is ${value}`,
      hour: (value: string) => `the hour is ${value}`,
      day: (value: string) => `the day of the month is ${value}`,
      month: (value: string) => `the month is ${value}`,
      weekday: (value: string) => `the day of the week is ${value}`,
    },
    range: (from: string, to: string) => `${from} to ${to}`,
    names: {
      minute: {} as Readonly<Record<number, string>>,
      hour: {},
      day: {},
      month: Object.fromEntries(MONTHS.map((name, at) => [at + 1, name])),
      weekday: Object.fromEntries([...DAYS, DAYS[0]].map((name, at) => [at, name])),
    },
    in: (times: string, zone: string) => `${times}, ${zone}`,
  },
  dayNames: DAYS,
} as const
