import { Type } from 'typebox'
import { JOB_STATUSES } from '../../words/job-status.js'
import { JOB_ACTIONS } from '../../jobs/detail/can.js'
import { PLACE_STATES } from '../../words/job-stage.js'
import { nullable } from '../../words/nullable.js'

const time = () => Type.String({ format: 'date-time' })
const allowed = Type.Unsafe<boolean | string>({ type: ['boolean', 'string'] })

/** The actions that the caller may take. */
const Can = Type.Object(Object.fromEntries(JOB_ACTIONS.map((action) => [action, Type.Optional(allowed)])), {
  title: 'JobActions',
  description:
    'By action: true, or the code of the refusal. abort_abandoned is the abort with abandoned=true, of an abandoned job',
})

/** Where a job is. */
const Place = Type.Object({
  state: Type.Enum(PLACE_STATES),
  since: time(),
  until: nullable(
    Type.String({
      format: 'date-time',
      description:
        'The earliest time at which it fails because it waited too long; time counts only while a control plane works',
    }),
  ),
  before: nullable(Type.Integer({ description: 'Jobs that wait for the same runner and come first' })),
  runner: nullable(
    Type.Object({
      name: Type.String(),
      online: Type.Boolean(),
      last_seen: nullable(time()),
    }),
  ),
  tasks: Type.Array(
    Type.Object({
      id: Type.Integer({ description: 'Of the outline' }),
      task: nullable(Type.String()),
      hosts: Type.Array(Type.String(), { description: 'The first of those that are at it' }),
      count: Type.Integer({ description: 'How many hosts are at it' }),
      since: Type.String({ description: 'By the clock of the runner' }),
    }),
  ),
  group: Type.Optional(
    nullable(
      Type.Object(
        {
          name: Type.String(),
          limit: Type.Integer({ description: 'How many jobs of the group may run at once' }),
          running: Type.Array(Type.Integer(), { description: 'The jobs that have a place in it' }),
          before: Type.Integer({ description: 'Jobs that wait for a place in it and come first' }),
        },
        { description: 'The group in which it waits for a place, as its form says under concurrency' },
      ),
    ),
  ),
})

const Estimate = Type.Object(
  {
    progress: Type.Number({ description: 'From 0 to 1. It never falls while the job runs' }),
    left_seconds: Type.Integer({
      description: 'By the median of earlier runs. 0: it already takes longer than they did',
    }),
    shortest_seconds: Type.Integer({ description: 'What is left by the quickest of them' }),
    longest_seconds: Type.Integer({ description: 'What is left by the slowest of them' }),
    runs: Type.Integer({ description: 'The number of earlier runs of the form that the estimate uses, five at most' }),
  },
  { description: 'Null: no playbook runs now, or there is no earlier run to estimate from' },
)

/**
 * The fields that `output=false` adds to a job. All of them are optional in the document, because other answers leave
 * them out.
 */
export const detailFields = {
  can: Type.Optional(Can),
  began: Type.Optional(
    nullable(
      Type.String({
        format: 'date-time',
        description:
          'When a runner took it for the first time; of a parent job, when it began with its steps. Null: it has not ' +
          'begun, or it ended before that. Its status is running already while it waits',
      }),
    ),
  ),
  place: Type.Optional(nullable(Place)),
  runs_on: Type.Optional(
    nullable(
      Type.Array(
        Type.Object({
          runner: nullable(Type.String({ description: 'Null: there is no default runner' })),
          by_default: Type.Boolean({
            description:
              'No runner is named. Each step or node gets the runner that is the default one when it starts; runner ' +
              'is the default one of now',
          }),
          nodes: Type.Array(Type.String(), {
            description: 'The steps or nodes that run there. A job with one playbook has none',
          }),
        }),
        { description: 'Where it will run after its approval. Null: it waits for none' },
      ),
    ),
  ),
  time_limit: Type.Optional(
    nullable(
      Type.Object(
        {
          seconds: Type.Number({ description: 'timeout of its form: it is aborted after this time' }),
          used_seconds: Type.Integer({ description: 'Counted every few seconds while a connected runner has it' }),
        },
        { description: 'null: it may run for ever' },
      ),
    ),
  ),
  estimate: Type.Optional(nullable(Estimate)),
  history: Type.Optional(
    Type.Array(
      Type.Object({
        time: time(),
        from: Type.Enum(JOB_STATUSES),
        to: Type.Enum(JOB_STATUSES),
        reason: nullable(Type.String()),
      }),
      { description: 'Every move of the status, oldest first' },
    ),
  ),
  stages: Type.Optional(
    Type.Array(
      Type.Object({
        state: Type.Enum(PLACE_STATES),
        since: time(),
        until: nullable(time()),
      }),
      {
        description:
          'Where it was, as place says it, in order of time. claimed: from then on its runner had it. lost: the runner ' +
          'was not connected, from the last sign of life that was stored, for a second or longer, and at most 200 times.',
      },
    ),
  ),
  streams: Type.Optional(
    Type.Object({
      output: Type.Object({
        bytes: Type.Integer(),
        lines: Type.Integer({ description: 'Number of line ends' }),
        generation: Type.Integer({ description: 'Goes up when the output begins anew' }),
      }),
      events: Type.Object({ count: Type.Integer() }),
    }),
  ),
  integrity: Type.Optional(
    nullable(
      Type.Object(
        {
          state: nullable(
            Type.Enum(['growing', 'verified', 'incomplete'], {
              description:
                'verified: the stored streams have the length and SHA-256 that the runner recorded; null: this was not compared',
            }),
          ),
          output_sha256: nullable(Type.String()),
          events_sha256: nullable(Type.String()),
          verified_at: nullable(time()),
        },
        { description: 'null for a job that consists of other jobs' },
      ),
    ),
  ),
}

/**
 * The fields that `place=true` adds to the records of a list. A place or an estimate is null when the job has ended, or
 * is not among the newest ones.
 */
export const listedFields = { began: detailFields.began, place: detailFields.place, estimate: detailFields.estimate }
