import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { Courses } from '../../jobs/course/courses.js'
import { readEvents } from '../../jobs/read/event-list.js'
import { type JobReading, readEvent, readPlainOutput } from '../../jobs/read/reading.js'
import { callerOf } from '../route/guards.js'
import { EventsQuery, eventsRequestOf } from './job-events-query.js'
import { Event, EventRecord } from './job-schemas.js'
import { JSON_TYPE, listText, streamOf, streamed } from '../route/long-answer.js'
import type { AnswerTurns } from '../route/answer-turns.js'
import { IdParams, answers, idOf, integerText, listOf, textAnswers } from '../route/schemas.js'

const tags = ['job']
const TEXT = 'text/plain; charset=utf-8'

/** What these routes need of other parts. */
export interface JobStreamDependencies {
  readonly reading: JobReading
  readonly courses: Courses
  readonly answerTurns: AnswerTurns
}

/** Routes for the events and the output of a job. */
export function jobStreamRoutes(deps: JobStreamDependencies): FastifyPluginAsyncTypebox {
  const { reading } = deps
  return async (app) => {
    app.get(
      '/job/:id/events',
      {
        config: { audit: { action: 'job.events.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'Structured events of a playbook job',
          description:
            'With after=order one follows them. The header X-Run-Id names the run of which they are: a restored database may ' +
            'give the number of a job again.',
          params: IdParams,
          querystring: EventsQuery,
          response: answers(streamed(listOf(EventRecord)), 400, 403, 404),
        },
      },
      async (request, reply) => {
        const wanted = eventsRequestOf(request.query)
        const { runId, pages } = await readEvents(deps, callerOf(request), idOf(request.params), wanted)
        await reply
          .header('x-run-id', runId)
          .type(JSON_TYPE)
          .send(await streamOf(listText(pages), deps.answerTurns(request)))
        return reply
      },
    )

    app.get(
      '/job/:id/events/:order',
      {
        config: { audit: { action: 'job.event.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'One event with its whole result',
          operationId: 'getJobEvent',
          params: Type.Object({ ...IdParams.properties, order: integerText('A whole number') }),
          response: answers(streamed(Event), 400, 403, 404),
        },
      },
      async (request, reply) => {
        const text = await readEvent(reading, callerOf(request), idOf(request.params), request.params.order)
        await reply.type(JSON_TYPE).send(Readable.from([text]))
        return reply
      },
    )

    await app.register(jobDownloadRoute(deps))
  }
}

/** The output as a file. */
function jobDownloadRoute({ reading, answerTurns }: JobStreamDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/download',
      {
        config: { audit: { action: 'job.download', kind: 'job' } },
        schema: {
          tags,
          summary: 'Output as a file',
          operationId: 'downloadJobOutput',
          params: IdParams,
          response: textAnswers(
            {
              description: 'The output as plain text, named holdfast-job-<id>.txt',
              headers: { 'Content-Disposition': Type.String() },
            },
            400,
            403,
            404,
          ),
        },
      },
      async (request, reply) => {
        const id = idOf(request.params)
        const text = await readPlainOutput(reading, callerOf(request), id)
        await reply
          .header('content-disposition', `attachment; filename="holdfast-job-${id}.txt"`)
          .type(TEXT)
          .send(await streamOf(text, answerTurns(request)))
        return reply
      },
    )
  }
}
