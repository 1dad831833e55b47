import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type ActionDependencies, abort, removeJob } from '../../jobs/end/actions.js'
import { type LaunchDependencies, launchJob } from '../../jobs/launch/launch.js'
import { type JobDetailDependencies, readJobDetail } from '../../jobs/detail/detail.js'
import { readJobsWithPlaces } from '../../jobs/detail/list-places.js'
import { readJobs } from '../../jobs/read/reading.js'
import { launchColumns } from '../../store/jobs/job-fields.js'
import { noteAudit } from '../route/audit-hook.js'
import { clientGone } from '../route/client-gone.js'
import { callerOf } from '../route/guards.js'
import { relaunchRoutes } from './job-relaunch.js'
import { AbortQuery, Job, JobList, LaunchBody, LaunchAnswer } from './job-schemas.js'
import { ListQuery, listRequestOf } from './job-list-query.js'
import { JSON_TYPE, listText, streamOf, streamed, withText } from '../route/long-answer.js'
import { linkNextPage } from '../route/next-page.js'
import type { AnswerTurns } from '../route/answer-turns.js'
import { IdParams, Message, answers, booleanText, idOf } from '../route/schemas.js'

/** What these routes need of other rooms. */
export interface JobRouteDependencies {
  readonly detail: JobDetailDependencies
  readonly launching: LaunchDependencies
  readonly actions: ActionDependencies
  readonly answerTurns: AnswerTurns
}

const tags = ['job']

const LAUNCH_RULES =
  'Under LAUNCH_VALIDATION=enforce the values of rawFormData are checked against the fields of the form, and the extra ' +
  'variables are built from them; of extravars only __verbose__ counts. A field that is not named in rawFormData gets its ' +
  'default; one that is null or empty has no value. Refused values answer 422 with details: missing, invalid, waiting, ' +
  'validationErrors, rowErrors, uploads. Nothing is created then.'

/** Routes that launch, show, list, abort and delete jobs. */
export function jobRoutes({
  detail,
  launching,
  actions,
  answerTurns,
}: JobRouteDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    await app.register(relaunchRoutes({ launching }))

    app.post(
      '/job',
      {
        config: { audit: { action: 'job.launch', kind: 'job' }, longBody: true },
        schema: {
          tags,
          summary: 'Launch a form',
          description: LAUNCH_RULES,
          operationId: 'launchJob',
          body: LaunchBody,
          response: answers(LaunchAnswer, 400, 403, 404, 409, 413, 422, 429),
        },
      },
      async (request, reply) => {
        const { formName, extravars, payload, rawFormData, credentials, files } = request.body
        noteAudit(request, { name: formName })
        const launch = {
          formName,
          extravars: extravars ?? payload ?? {},
          rawFormData: rawFormData ?? null,
          credentials: credentials ?? {},
          files: files ?? {},
          columns: launchColumns(request.body),
          signal: clientGone(reply),
        }
        const { id, unknownFields } = await launchJob(launching, callerOf(request), launch)
        return unknownFields.length === 0 ? { id } : { id, unknown_fields: [...unknownFields] }
      },
    )

    await app.register(jobReadRoutes({ detail, answerTurns }))
    await app.register(jobEndRoutes({ actions }))
  }
}

/** A list of jobs, and one job. */
function jobReadRoutes({
  detail,
  answerTurns,
}: Pick<JobRouteDependencies, 'detail' | 'answerTurns'>): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job',
      {
        schema: {
          tags,
          summary: 'List jobs, newest first',
          description:
            'If there may be more jobs, the header Link has the address of the next page (rel="next", RFC 8288), relative to ' +
            'that of the request. With If-None-Match and the ETag of an earlier answer, a list that has not changed is ' +
            'answered with 304 and without a body.',
          operationId: 'listJobs',
          querystring: ListQuery,
          response: {
            ...answers(streamed(JobList), 400),
            304: Type.Null({ description: 'The list is as it was: the ETag is the one that was sent' }),
          },
        },
      },
      async (request, reply) => {
        const asked = listRequestOf(request.query)
        const caller = callerOf(request)
        const { portions, next, tag } =
          request.query.place === 'true'
            ? await readJobsWithPlaces(detail, caller, asked)
            : await readJobs(detail.reading, caller, asked)
        if (next !== null) linkNextPage(reply, next)
        if (tag !== null) {
          const mark = `"${tag}-${next ?? ''}"`
          reply.header('etag', mark)
          if (request.headers['if-none-match'] === mark) return reply.status(304).send(null)
        }
        await reply.type(JSON_TYPE).send(await streamOf(listText(portions), answerTurns(request)))
        return reply
      },
    )

    app.get(
      '/job/:id',
      {
        config: { audit: { action: 'job.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'One job with its output',
          params: IdParams,
          querystring: Type.Object({
            text: Type.Optional(booleanText('true for plain text, else HTML')),
            output: Type.Optional(booleanText('false leaves the output out: it is then empty')),
          }),
          description:
            'With output=false the answer also has can, began, place, runs_on, estimate, history, stages, streams and integrity, ' +
            'which the page of a job shows.',
          response: answers(streamed(Job), 400, 403, 404),
        },
      },
      async (request, reply) => {
        const { text, output: wanted } = request.query
        const form = wanted === 'false' ? 'none' : text === 'true' ? 'text' : 'html'
        const { job, output } = await readJobDetail(detail, callerOf(request), idOf(request.params), form)
        await reply.type(JSON_TYPE).send(await streamOf(withText(job, 'output', output), answerTurns(request)))
        return reply
      },
    )
  }
}

/** Aborting and deleting. */
function jobEndRoutes({ actions }: Pick<JobRouteDependencies, 'actions'>): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/job/:id/abort',
      {
        schema: {
          tags,
          summary: 'Abort a running job',
          description:
            'An abandoned job is aborted only with abandoned=true. The request is stored until its runner is connected, ' +
            'which then ends the job. If the job has ended by itself before that, its real outcome counts.',
          params: IdParams,
          querystring: AbortQuery,
          response: answers(Message, 400, 403, 404, 409),
        },
      },
      async (request) => {
        const alsoAbandoned = request.query.abandoned === 'true'
        if (alsoAbandoned) noteAudit(request, { detail: 'abandoned' })
        return { message: await abort(actions, callerOf(request), idOf(request.params), alsoAbandoned) }
      },
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
      async (request) => ({ message: await removeJob(actions, callerOf(request), idOf(request.params)) }),
    )
  }
}
