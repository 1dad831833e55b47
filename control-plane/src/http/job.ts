import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type ActionDependencies, abort, remove } from '../jobs/actions.js'
import { type LaunchDependencies, launchJob } from '../jobs/launch.js'
import { type JobReading, readJob, readJobs } from '../jobs/reading.js'
import { callerOf } from './guards.js'
import { Job, JobRecord, LaunchBody, ListQuery } from './job-schemas.js'
import { IdParams, Message, answers, idOf, listOf } from './schemas.js'

export interface JobRouteDeps {
  readonly reading: JobReading
  readonly launching: LaunchDependencies
  readonly actions: ActionDependencies
}

const tags = ['job']

/** Launching, reading, listing, aborting and deleting jobs. */
export function jobRoutes({ reading, launching, actions }: JobRouteDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/job',
      {
        schema: {
          tags,
          summary: 'Launch a form',
          body: LaunchBody,
          response: answers(Type.Object({ id: Type.Integer() }), 400, 403, 404, 413, 422),
        },
      },
      async (request) => {
        const { formName, extravars, payload, rawFormData, files } = request.body
        const launch = {
          formName,
          extravars: extravars ?? payload ?? {},
          rawFormData: rawFormData ?? null,
          files: files ?? {},
        }
        return { id: await launchJob(launching, callerOf(request), launch) }
      },
    )

    app.get(
      '/job',
      {
        schema: {
          tags,
          summary: 'List jobs, newest first',
          querystring: ListQuery,
          response: answers(listOf(JobRecord), 400),
        },
      },
      async (request) => {
        const { records, user, user_type: userType, runner } = request.query
        return readJobs(reading, callerOf(request), { records, user, userType, runner })
      },
    )

    app.get(
      '/job/:id',
      {
        schema: {
          tags,
          summary: 'One job with its output',
          params: IdParams,
          querystring: Type.Object({
            text: Type.Optional(Type.String({ description: 'true for plain text, else HTML' })),
            output: Type.Optional(Type.String({ description: 'false leaves the output out: it is then empty' })),
          }),
          response: answers(Job, 400, 403, 404),
        },
      },
      async (request) => {
        const { text, output } = request.query
        const form = output === 'false' ? 'none' : text === 'true' ? 'text' : 'html'
        return readJob(reading, callerOf(request), idOf(request.params), form)
      },
    )

    app.post(
      '/job/:id/abort',
      {
        schema: {
          tags,
          summary: 'Abort a running job',
          params: IdParams,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => ({ message: await abort(actions, callerOf(request), idOf(request.params)) }),
    )

    app.delete(
      '/job/:id',
      {
        schema: {
          tags,
          summary: 'Delete an ended job',
          params: IdParams,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => ({ message: await remove(actions, callerOf(request), idOf(request.params)) }),
    )
  }
}
