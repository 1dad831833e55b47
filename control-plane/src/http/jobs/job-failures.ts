import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Courses } from '../../jobs/course/courses.js'
import { readFailures } from '../../jobs/read/failures.js'
import type { JobReading } from '../../jobs/read/reading.js'
import { callerOf } from '../route/guards.js'
import { IdParams, answers, idOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const Failures = Type.Object(
  {
    count: Type.Integer({ description: 'May be more than the records' }),
    records: Type.Array(
      Type.Object({
        task_id: nullable(Type.Integer({ description: 'In the outline of the job' })),
        play: nullable(Type.String()),
        task: nullable(Type.String()),
        role: nullable(Type.String()),
        path: nullable(Type.String()),
        action: nullable(Type.String()),
        outcome: Type.Enum(['failed', 'unreachable']),
        message: nullable(Type.String({ description: 'The line of the result that says what went wrong' })),
        order: Type.Integer({ description: 'Of the event of the first of these results' }),
        hosts: Type.Array(Type.String(), { description: 'At which the task failed so; the first hundred' }),
        count: Type.Integer({ description: 'Number of these hosts' }),
        task_hosts: nullable(Type.Integer({ description: 'Number of all hosts of the task' })),
        from: nullable(Type.Integer({ description: 'The byte of the output at which the first of them begins' })),
        line: nullable(Type.Integer({ description: 'Number of line ends before it' })),
      }),
    ),
  },
  { title: 'JobFailures' },
)

/** The route that tells why a job failed. */
export function jobFailuresRoute(deps: {
  readonly reading: JobReading
  readonly courses: Courses
}): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/failures',
      {
        config: { audit: { action: 'job.failures.read', kind: 'job' } },
        schema: {
          tags: ['job'],
          summary: 'Why a playbook job failed: tasks, hosts and messages, equal ones together',
          description: 'Failures that were ignored or rescued are left out. A job of steps has none of its own.',
          params: IdParams,
          response: answers(Failures, 400, 403, 404),
        },
      },
      async (request) => readFailures(deps, callerOf(request), idOf(request.params)),
    )
  }
}
