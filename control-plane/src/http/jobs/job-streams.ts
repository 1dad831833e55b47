import { Readable } from 'node:stream'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { type JobReading, readEvent, readEvents, readPlainOutput, readRawOutput } from '../../jobs/read/reading.js'
import { callerOf } from '../route/guards.js'
import { Event, EventRecord, EventsQuery } from './job-schemas.js'
import { JSON_TYPE, listText, streamOf, streamed } from '../route/long-answer.js'
import { IdParams, answers, idOf, integerText, listOf, textAnswers, wholeNumberOf } from '../route/schemas.js'

const tags = ['job']
const TEXT = 'text/plain; charset=utf-8'

/** Routes for what a job produced: its events and its output. */
export function jobStreamRoutes(reading: JobReading): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/events',
      {
        config: { audit: { action: 'job.events.read', kind: 'job', isRead: true } },
        schema: {
          tags,
          summary: 'Structured events of a playbook job',
          params: IdParams,
          querystring: EventsQuery,
          response: answers(streamed(listOf(EventRecord)), 400, 403, 404),
        },
      },
      async (request, reply) => {
        const after = wholeNumberOf(request.query.after ?? '0', 'after')
        const limit = wholeNumberOf(request.query.limit ?? String(Number.MAX_SAFE_INTEGER), 'limit')
        const { host, task, type, status } = request.query
        const wanted = { after, limit, host, task, type, status }
        const pages = await readEvents(reading, callerOf(request), idOf(request.params), wanted)
        await reply.type(JSON_TYPE).send(await streamOf(listText(pages)))
        return reply
      },
    )

    app.get(
      '/job/:id/events/:order',
      {
        config: { audit: { action: 'job.event.read', kind: 'job', isRead: true } },
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

    await app.register(jobOutputRoutes(reading))
  }
}

/** The output: as it is shown, and as a file. */
function jobOutputRoutes(reading: JobReading): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/output',
      {
        config: { audit: { action: 'job.output.read', kind: 'job', isRead: true } },
        schema: {
          tags,
          summary: 'Output from a byte offset on, as it is, for following a job',
          description: 'At most 1 MiB an answer; X-Next-Offset is where to go on. Empty: nothing more yet.',
          params: IdParams,
          querystring: Type.Object({ offset: Type.Optional(integerText('0 when left out')) }),
          response: textAnswers(
            {
              description: 'The bytes of the output from there on',
              headers: {
                'X-Next-Offset': Type.Integer({ description: 'The offset to ask for next' }),
                // Optional in the document, so that a newer client understands an older service.
                'X-Run-Id': Type.Optional(
                  Type.String({
                    description: 'The run of which the bytes are: a restored database may give a number again',
                  }),
                ),
              },
            },
            ...([400, 403, 404] as const),
          ),
        },
      },
      async (request, reply) => {
        const offset = Math.max(0, wholeNumberOf(request.query.offset ?? '0', 'offset'))
        const { bytes, runId } = await readRawOutput(reading, callerOf(request), idOf(request.params), offset)
        await reply
          .header('x-next-offset', offset + bytes.length)
          .header('x-run-id', runId)
          .type(TEXT)
          .send(bytes)
        return reply
      },
    )

    app.get(
      '/job/:id/download',
      {
        config: { audit: { action: 'job.download', kind: 'job', isRead: true } },
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
            ...([400, 403, 404] as const),
          ),
        },
      },
      async (request, reply) => {
        const id = idOf(request.params)
        const text = await readPlainOutput(reading, callerOf(request), id)
        await reply
          .header('content-disposition', `attachment; filename="holdfast-job-${id}.txt"`)
          .type(TEXT)
          .send(await streamOf(text))
        return reply
      },
    )
  }
}
