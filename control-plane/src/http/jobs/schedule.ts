import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { definedOnly } from '../../defined-only.js'
import { isoTime } from '../../time/clock.js'
import { InvalidInputError } from '../../errors.js'
import type { Schedules } from '../../schedules/schedules.js'
import { MISSED_RUNS, type Schedule as StoredSchedule, type ScheduleWish } from '../../store/service/schedules.js'
import { noteAudit } from '../route/audit-hook.js'
import { callerOf } from '../route/guards.js'
import { IdParams, Message, answers, asList, idOf, integerText, listOf, wholeNumberOf } from '../route/schemas.js'
import { JOB_STATUSES, type JobStatus } from '../../words/job-status.js'
import { nullable } from '../../words/nullable.js'

const FIVE_PARTS = 'Five parts: minute, hour, day of the month, month, day of the week'

const bodyFields = {
  name: Type.String({ minLength: 1, maxLength: 200, description: 'For people; need not be unique' }),
  form: Type.String({ description: 'Name of the form that is launched' }),
  cron: nullable(
    Type.String({
      maxLength: 100,
      description: `${FIVE_PARTS}. Null: it starts once`,
    }),
  ),
  at: nullable(Type.String({ format: 'date-time', description: 'The one start. Null: it starts as cron says' })),
  time_zone: Type.String({
    maxLength: 100,
    description: 'Time zone of cron, such as Europe/Berlin; default UTC',
  }),
  missed: Type.Enum([...MISSED_RUNS], {
    description: 'For starts at whose time no control plane worked: run (start once afterwards) or skip (the default)',
  }),
  paused: Type.Boolean({ description: 'Nothing is started' }),
  values: Type.Record(Type.String(), Type.Unknown(), { description: 'The field values; never a password' }),
  credentials: Type.Record(Type.String(), Type.String(), { description: 'Names of credentials, as for a launch' }),
  verbose: Type.Boolean({ description: 'Runs the playbook in verbose mode' }),
}

const { name, form } = bodyFields
const ChangeBody = Type.Partial(Type.Object(bodyFields), { title: 'ScheduleChange' })
const NewBody = Type.Object(
  { ...Type.Partial(Type.Object(bodyFields)).properties, name, form },
  { title: 'NewSchedule' },
)

const time = (description: string) => nullable(Type.String({ format: 'date-time', description }))

const Schedule = Type.Object(
  {
    id: Type.Integer(),
    ...bodyFields,
    user: Type.String({ description: 'Who made it: its launches have the rights of this account' }),
    user_type: Type.String(),
    next_run: time('Null: it starts nothing any more, or it is paused'),
    next_runs: Type.Array(Type.String({ format: 'date-time' }), { description: 'Up to five' }),
    last_run: time('The last start, or the last one that was refused'),
    last_job: nullable(Type.Integer({ description: 'The last job that it started' })),
    // Optional in the document, so that a newer client understands an older service.
    last_status: Type.Optional(
      nullable(Type.Enum(JOB_STATUSES, { description: 'Of the last job; null: there is none, or not any more' })),
    ),
    last_problem: nullable(Type.String({ description: 'Why the last start made no job' })),
    created_at: Type.String({ format: 'date-time' }),
  },
  { title: 'Schedule' },
)

const NextRuns = Type.Object({ next_runs: Type.Array(Type.String({ format: 'date-time' })) }, { title: 'NextRuns' })

const tags = ['schedule']
const SHOWN_RUNS = 5
const MAX_RUNS = 100
const RunCount = Type.Optional(integerText(`1 to ${MAX_RUNS}; ${SHOWN_RUNS} if left out`))

/** Routes of schedules: launches at given times. */
export function scheduleRoutes({ schedules }: { readonly schedules: Schedules }): FastifyPluginAsyncTypebox {
  const shownWith = (schedule: StoredSchedule, statuses: ReadonlyMap<number, JobStatus>) =>
    shown(schedule, schedules.nextStarts(schedule, SHOWN_RUNS), statuses.get(schedule.lastJobId ?? -1) ?? null)
  const show = async (schedule: StoredSchedule) => shownWith(schedule, await schedules.lastStatuses(schedule))
  return async (app) => {
    app.get(
      '/schedule',
      {
        schema: {
          tags,
          summary: 'The own schedules; for an admin all',
          operationId: 'listSchedules',
          response: answers(listOf(Schedule)),
        },
      },
      async (request) => {
        const caller = callerOf(request)
        const [all, statuses] = await Promise.all([schedules.list(caller), schedules.lastStatuses(caller)])
        return asList(all.map((schedule) => shownWith(schedule, statuses)))
      },
    )

    app.get(
      '/schedule/next-runs',
      {
        schema: {
          tags,
          summary: 'The next starts that a schedule with these times would have',
          operationId: 'nextRunsOfTimes',
          querystring: Type.Object({
            cron: Type.String({ maxLength: 100, description: FIVE_PARTS }),
            time_zone: Type.Optional(bodyFields.time_zone),
            count: RunCount,
          }),
          response: answers(NextRuns, 400),
        },
      },
      async ({ query: { cron, time_zone: timeZone = DEFAULTS.timeZone, count } }) => {
        const starts = schedules.startsOf({ cron, timeZone }, runCountOf(count))
        return { next_runs: starts.map((start) => isoTime(start)) }
      },
    )

    app.post(
      '/schedule',
      {
        schema: {
          tags,
          summary: 'Launch a form at given times',
          description:
            'The launches have the rights that the account of the caller has when they start, and are checked like any ' +
            'other launch. Values of password fields are refused.',
          body: NewBody,
          response: answers(Schedule, 400, 403, 404, 409, 413, 422),
        },
      },
      async (request) => {
        noteAudit(request, { name: request.body.name, detail: request.body.form })
        const wish = { ...DEFAULTS, ...wishOf(request.body), name: request.body.name, form: request.body.form }
        return show(await schedules.create(callerOf(request), wish))
      },
    )

    await app.register(oneScheduleRoutes({ schedules }, show))
  }
}

/** One schedule. */
function oneScheduleRoutes(
  { schedules }: { readonly schedules: Schedules },
  show: (schedule: StoredSchedule) => Promise<Static<typeof Schedule>>,
): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/schedule/:id',
      { schema: { tags, summary: 'One schedule', params: IdParams, response: answers(Schedule, 400, 403, 404) } },
      async (request) => show(await schedules.find(callerOf(request), idOf(request.params))),
    )

    app.get(
      '/schedule/:id/next-runs',
      {
        schema: {
          tags,
          summary: 'The next starts of a schedule',
          operationId: 'nextRunsOfSchedule',
          params: IdParams,
          querystring: Type.Object({ count: RunCount }),
          response: answers(NextRuns, 400, 403, 404),
        },
      },
      async (request) => {
        const count = runCountOf(request.query.count)
        const schedule = await schedules.find(callerOf(request), idOf(request.params))
        return { next_runs: schedules.nextStarts(schedule, count).map((start) => isoTime(start)) }
      },
    )

    app.put(
      '/schedule/:id',
      {
        schema: {
          tags,
          summary: 'Change the given properties of a schedule (only its owner)',
          params: IdParams,
          body: ChangeBody,
          response: answers(Schedule, 400, 403, 404, 409, 413, 422),
        },
      },
      async (request) => show(await schedules.change(callerOf(request), idOf(request.params), wishOf(request.body))),
    )

    app.delete(
      '/schedule/:id',
      {
        schema: {
          tags,
          summary: 'Delete a schedule (its owner, or an admin)',
          params: IdParams,
          response: answers(Message, 400, 403, 404),
        },
      },
      async (request) => {
        await schedules.remove(callerOf(request), idOf(request.params))
        return { message: 'The schedule was deleted' }
      },
    )

    for (const [verb, isPaused, summary] of PAUSES) {
      app.post(
        `/schedule/:id/${verb}`,
        { schema: { tags, summary, params: IdParams, response: answers(Schedule, 400, 403, 404, 409) } },
        async (request) => show(await schedules.pause(callerOf(request), idOf(request.params), isPaused)),
      )
    }
  }
}

const PAUSES = [
  ['pause', true, 'Start nothing until it is resumed (its owner, or an admin)'],
  ['resume', false, 'Start again from the next time on (its owner, or an admin)'],
] as const

const DEFAULTS = {
  cron: null,
  timeZone: 'UTC',
  onceAt: null,
  missed: 'skip',
  isPaused: false,
  values: {},
  credentials: {},
  isVerbose: false,
} as const

/** @throws InvalidInputError */
function runCountOf(text: string | undefined): number {
  const count = text === undefined ? SHOWN_RUNS : wholeNumberOf(text, 'count')
  if (count >= 1 && count <= MAX_RUNS) return count
  throw new InvalidInputError('invalid_count', `count must be a number from 1 to ${MAX_RUNS}`)
}

/** The properties of a schedule in a body. `cron` and `at` replace each other. */
function wishOf(body: Static<typeof ChangeBody>): Partial<ScheduleWish> {
  const { cron, at, time_zone: timeZone, paused: isPaused, verbose: isVerbose, ...same } = body
  const onceAt = at === undefined || at === null ? at : Date.parse(at)
  const timing = {
    ...(typeof cron === 'string' && at === undefined ? { cron, onceAt: null } : { cron, onceAt }),
    ...(typeof at === 'string' && cron === undefined ? { cron: null } : {}),
  }
  return definedOnly({ ...same, ...timing, timeZone, isPaused, isVerbose })
}

/** Field by field, so that no other field gets into the answer by mistake. */
function shown(
  schedule: StoredSchedule,
  starts: readonly number[],
  lastStatus: JobStatus | null,
): Static<typeof Schedule> {
  const { id, name, form, cron, missed, credentials } = schedule
  return {
    id,
    name,
    form,
    cron,
    missed,
    at: isoTime(schedule.onceAt),
    time_zone: schedule.timeZone,
    paused: schedule.isPaused,
    values: { ...schedule.values },
    credentials: { ...credentials },
    verbose: schedule.isVerbose,
    user: schedule.owner.name,
    user_type: schedule.owner.type,
    next_run: isoTime(starts[0] ?? null),
    next_runs: starts.map((start) => isoTime(start)),
    last_run: isoTime(schedule.lastAt),
    last_job: schedule.lastJobId,
    last_status: lastStatus,
    last_problem: schedule.lastProblem,
    created_at: isoTime(schedule.createdAt),
  }
}
