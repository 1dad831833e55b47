import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { JOB_STATUSES } from '../../words/job-status.js'
import { LETTERS, type TaskOutcome } from '../../jobs/course/outcomes.js'
import { type CompareDependencies, readComparison } from '../../jobs/detail/compare.js'
import { NODE_STATUSES } from '../../words/node-status.js'
import { callerOf } from '../route/guards.js'
import { IdParams, answers, idOf, integerText, wholeNumberOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const OUTCOMES = Object.keys(LETTERS) as TaskOutcome[]
const idOrNull = (description: string) => nullable(Type.Integer({ description }))
const seconds = () => nullable(Type.Number())
const outcome = (description: string) => Type.Enum(OUTCOMES, { description })

/** One of the two jobs. */
const Compared = Type.Object({
  id: Type.Integer(),
  form: Type.String(),
  target: Type.String(),
  status: Type.Enum(JOB_STATUSES),
  start: Type.String({ format: 'date-time' }),
  end: nullable(Type.String({ format: 'date-time' })),
  user: Type.String(),
  user_type: Type.String(),
  runner: nullable(Type.String()),
})

const Value = Type.Object({
  path: Type.Array(Type.String(), { description: 'The keys that lead to it' }),
  change: Type.Enum(['added', 'removed', 'changed'], { description: 'added: only the job has it' }),
  value: Type.Unknown(),
  with_value: Type.Unknown(),
})

const Result = Type.Object({
  task: Type.Integer({ description: 'Its id in the outline of the job' }),
  name: nullable(Type.String()),
  host: Type.String(),
  outcome: outcome('In the job'),
  with_outcome: outcome('In the other job'),
})

const Task = Type.Object({
  id: idOrNull('In the outline of the job; null: only the other job had it'),
  with_id: idOrNull('In the outline of the other job; null: only the job had it'),
  name: nullable(Type.String()),
  role: nullable(Type.String()),
  play: nullable(Type.String()),
  seconds: seconds(),
  with_seconds: seconds(),
  changed: Type.Integer({ description: 'At how many hosts its result differs' }),
})

const Step = Type.Object({
  identifier: Type.String(),
  status: nullable(Type.Enum(NODE_STATUSES)),
  with_status: nullable(Type.Enum(NODE_STATUSES)),
  job: idOrNull('The job of the step or node'),
  with_job: idOrNull('The same of the other job'),
  seconds: seconds(),
  with_seconds: seconds(),
})

const counted = (description: string) => ({ description: `${description}; count may be more than the records` })

const Comparison = Type.Object(
  {
    job: Compared,
    with: Compared,
    extravars: Type.Object(
      { count: Type.Integer(), records: Type.Array(Value) },
      counted('The extra variables that differ, masked before they were compared'),
    ),
    results: Type.Object(
      { count: Type.Integer(), records: Type.Array(Result) },
      counted('Where the result of a task at a host differs, for tasks and hosts that both had'),
    ),
    tasks: Type.Object(
      { count: Type.Integer(), records: Type.Array(Task) },
      counted('All tasks of the job with how long each took, then those that only the other job had'),
    ),
    hosts: Type.Object(
      { added: Type.Array(Type.String()), removed: Type.Array(Type.String()) },
      { description: 'Hosts that only one of the jobs had, 2000 at most; added: only the job' },
    ),
    steps: Type.Array(Step, { description: 'Of jobs that consist of other jobs' }),
    complete: Type.Boolean({ description: 'false: a run had more hosts and tasks than are kept' }),
  },
  { title: 'JobComparison' },
)

/** The route that compares two jobs. */
export function jobCompareRoutes(dependencies: CompareDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/compare',
      {
        config: { audit: { action: 'job.compare.read', kind: 'job' } },
        schema: {
          tags: ['job'],
          summary: 'What differs between a job and the last good run of its form, or another job',
          description:
            'The last good run is the newest job before this one that ran the same, ended as success, and is in the lists ' +
            'of the caller. 404 no_run_to_compare: there is none. The caller must have the right to read both jobs. ' +
            'Properties of the other job begin with with_.',
          operationId: 'compareJob',
          params: IdParams,
          querystring: Type.Object({ with: Type.Optional(integerText('The id of the other job')) }),
          response: answers(Comparison, 400, 403, 404),
        },
      },
      async (request) => {
        const { with: other } = request.query
        const withId = other === undefined ? null : wholeNumberOf(other, 'with')
        return readComparison(dependencies, callerOf(request), idOf(request.params), withId)
      },
    )
  }
}
