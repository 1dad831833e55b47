import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply } from 'fastify'
import { Type } from 'typebox'
import type { Sessions } from '../../auth/sessions/sessions.js'
import { InvalidInputError } from '../../errors.js'
import type { OutputFeeds } from '../../jobs/read/output-feed.js'
import type { OutputIndexes } from '../../jobs/read/output-index.js'
import {
  type ByteRange,
  MAX_OUTPUT_BYTES,
  type OutputPart,
  readOutputFrom,
  readOutputRange,
  readOutputState,
} from '../../jobs/read/output-part.js'
import type { JobReading } from '../../jobs/read/reading.js'
import { requireVisible } from '../../jobs/record/visibility.js'
import { createOpenStreams } from '../../live/open-streams.js'
import { createPings } from '../../live/pings.js'
import { OUTPUT_BLOCK_BYTES } from '../../store/jobs/output-lines.js'
import type { Timers } from '../../time/timers.js'
import { callerOf } from '../route/guards.js'
import {
  type HeaderSchemas,
  IdParams,
  answers,
  booleanText,
  idOf,
  integerText,
  textAnswers,
  wholeNumberOf,
} from '../route/schemas.js'

/** What these routes need of other rooms. */
export interface JobOutputDependencies {
  readonly reading: JobReading
  readonly feeds: OutputFeeds
  readonly indexes: OutputIndexes
  readonly sessions: Pick<Sessions, 'aliveOf'>
  readonly timers: Timers
  /** EVENT_STREAMS_PER_SESSION; 0: no limit. */
  readonly streamsPerSession: number
}

const tags = ['job']
const TEXT = 'text/plain; charset=utf-8'

const STATE_HEADERS: HeaderSchemas = {
  'X-Output-Length': Type.Integer({ description: 'Bytes of the whole output now' }),
  'X-Output-Open': Type.Enum(['true', 'false'], { description: 'true: more may come' }),
  'X-Output-Generation': Type.Integer({
    description: 'Goes up when the output begins again; bytes of different generations do not belong together',
  }),
  // Optional in the document, so that a newer client understands an older service.
  'X-Run-Id': Type.Optional(
    Type.String({
      description:
        'The run to which the bytes belong: after a restore of the database a number may belong to another job',
    }),
  ),
}

const RULES =
  'At most 1 MiB an answer; X-Next-Offset is where to go on. Empty: nothing more yet. With the header Range: bytes= the ' +
  'answer is 206 with at most 1 MiB of that range. With follow=true the answer stays open, and bytes come as they are ' +
  'stored. It ends when the job has ended, when the output begins anew, and after five minutes: then go on from the byte ' +
  'that was reached. A session may have as many open as EVENT_STREAMS_PER_SESSION.'

const OutputQuery = Type.Object({
  offset: Type.Optional(integerText('0 when left out')),
  limit: Type.Optional(integerText('Most bytes of the answer, at most 1048576')),
  follow: Type.Optional(booleanText('true: the answer stays open, and bytes come as they are stored')),
})

const Index = Type.Object(
  {
    bytes: Type.Integer(),
    lines: Type.Integer({ description: 'Number of line ends' }),
    step: Type.Integer({ description: 'Bytes between two points' }),
    generation: Type.Integer(),
    run_id: Type.Optional(Type.String({ description: 'As the header X-Run-Id of the output' })),
    points: Type.Array(Type.Array(Type.Integer()), {
      description: 'For each multiple of step: the byte, and the number of line ends before it',
    }),
  },
  { title: 'OutputIndex' },
)

/** Routes for the unchanged output of a job: its parts, its live stream, and the numbers of its lines. */
export function jobOutputRoutes(deps: JobOutputDependencies): FastifyPluginAsyncTypebox {
  const { reading } = deps
  return async (app) => {
    const follow = followerOf(deps, (error) => app.log.warn({ err: error }, 'sessions could not be checked'))
    app.addHook('preClose', async () => deps.feeds.close())

    app.get(
      '/job/:id/output',
      {
        config: { audit: { action: 'job.output.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'Output from a byte offset on, as it is, for following a job',
          description: RULES,
          params: IdParams,
          querystring: OutputQuery,
          response: {
            ...textAnswers(
              {
                description: 'The bytes of the output from there on',
                headers: {
                  'X-Next-Offset': Type.Integer({
                    description: 'The offset to ask for next; with follow where it begins',
                  }),
                  ...STATE_HEADERS,
                },
              },
              400,
              403,
              404,
              416,
              429,
            ),
            206: {
              description: 'The bytes of the range that was asked for',
              headers: { 'Content-Range': Type.String(), ...STATE_HEADERS },
              content: { 'text/plain': { schema: Type.String() } },
            },
          },
        },
      },
      async (request, reply) => {
        const caller = callerOf(request)
        const id = idOf(request.params)
        const offset = Math.max(0, wholeNumberOf(request.query.offset ?? '0', 'offset'))
        // A HEAD request for an answer that stays open would never end.
        if (request.query.follow === 'true' && request.method === 'GET') {
          const state = await readOutputState(reading, caller, id)
          const stream = follow(caller, id, offset)
          // The headers are sent as soon as the answer reads from the stream, also while there are no bytes.
          stream.once('resume', () => reply.raw.flushHeaders())
          return shown(reply, { ...state, offset, bytes: Buffer.alloc(0) })
            .header('x-accel-buffering', 'no')
            .send(stream)
        }
        const range = rangeOf(request.headers.range)
        if (range) {
          const part = await readOutputRange(reading, caller, id, range)
          const last = part.offset + part.bytes.length - 1
          shown(reply, part).header('content-range', `bytes ${part.offset}-${last}/${part.length}`)
          return reply.status(206).send(part.bytes as never)
        }
        const limit = limitOf(request.query.limit)
        const part = await readOutputFrom(reading, caller, id, { offset, limit })
        return shown(reply, part).send(part.bytes)
      },
    )

    await app.register(jobIndexRoute(deps))
  }
}

/** The numbers of lines. */
function jobIndexRoute({ reading, indexes }: JobOutputDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/job/:id/output/index',
      {
        config: { audit: { action: 'job.output.index.read', kind: 'job' } },
        schema: {
          tags,
          summary: 'Which line is where in the output',
          params: IdParams,
          querystring: Type.Object({ after: Type.Optional(integerText('Only points behind this byte')) }),
          response: answers(Index, 400, 403, 404),
        },
      },
      async (request) => {
        const id = idOf(request.params)
        const { run_id } = await requireVisible(reading.queries, callerOf(request), id)
        const after = request.query.after === undefined ? -1 : wholeNumberOf(request.query.after, 'after')
        const { points, ...index } = await indexes.of(id, after)
        return { ...index, run_id, step: OUTPUT_BLOCK_BYTES, points: points.map((point) => [...point]) }
      },
    )
  }
}

/** Opens streams of output, counts them, and ends them with their session. */
function followerOf(deps: JobOutputDependencies, onFailure: (error: unknown) => void) {
  const counted = createOpenStreams(deps.streamsPerSession)
  const { timers, sessions, feeds } = deps
  const pings = createPings({ timers, aliveOf: (sessionIds) => sessions.aliveOf(sessionIds), onFailure })
  return (caller: ReturnType<typeof callerOf>, id: number, offset: number) => {
    const { sessionId, type, username } = caller
    const leave = counted.add({ sessionId, user: `${type}/${username}` })
    const stream = feeds.follow(id, offset)
    const leavePings = pings.join({ sessionId, ping: () => undefined, close: () => void stream.destroy() })
    stream.once('close', () => {
      leave()
      leavePings()
    })
    return stream
  }
}

function shown(reply: FastifyReply, part: OutputPart): FastifyReply {
  return reply
    .header('x-next-offset', part.offset + part.bytes.length)
    .header('x-output-length', part.length)
    .header('x-output-open', String(part.isOpen))
    .header('x-output-generation', part.generation)
    .header('x-run-id', part.runId)
    .header('accept-ranges', 'bytes')
    .type(TEXT)
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return MAX_OUTPUT_BYTES
  const limit = wholeNumberOf(text, 'limit')
  if (limit < 1) throw new InvalidInputError('invalid_limit', 'limit must be 1 or more', { limit: text })
  return limit
}

/** The one range of a header. Null: there is no range, or it cannot be parsed, which counts as no range. */
function rangeOf(header: string | undefined): ByteRange | null {
  const [, first = '', last = ''] = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? []
  if (first === '') return last === '' ? null : { suffix: Number(last) }
  if (last !== '' && Number(last) < Number(first)) return null
  return { first: Number(first), last: last === '' ? null : Number(last) }
}
