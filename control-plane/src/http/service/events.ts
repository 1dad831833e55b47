import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { Sessions } from '../../auth/sessions/sessions.js'
import type { LiveEvents } from '../../live/live-events.js'
import { createOpenStreams } from '../../live/open-streams.js'
import { createPings } from '../../live/pings.js'
import { type Hello, type LiveStream, createLiveStream } from '../../live/stream.js'
import type { Timers } from '../../time/timers.js'
import { callerOf } from '../route/guards.js'
import { textAnswers } from '../route/schemas.js'

/** What these routes need of other rooms. */
export interface EventRoutesDependencies {
  readonly live: LiveEvents
  readonly sessions: Pick<Sessions, 'aliveOf'>
  readonly timers: Timers
  readonly hello: () => Promise<Hello>
  /** Calls the listener when the database went back to an earlier state. */
  readonly onWentBack: (listener: () => void) => void
  /** EVENT_STREAMS_PER_SESSION; 0: no limit. */
  readonly streamsPerSession: number
  readonly meters?: { streamOpened(): void; streamClosed(): void }
}

const STREAM_RULES = `\`hello\` comes at once, with \`retry: 3000\`. Its data has \`version\`. Its
id names the database: another id than before says that a database was restored, and numbers may have been given again. \`changed\` has the data {"name": …}, where the name is jobs,
appearance, designer or runners; it comes at most once a second for each name. Every 15 seconds there is a comment line. What
changed while the stream was down is not sent again: read again what is shown, after each \`changed\` and each reconnect.
A session has at most EVENT_STREAMS_PER_SESSION streams (429); a stream ends within a second of its session.`

/** `GET /events`: the stream of changes. Streams end with the session and with the service. */
export function eventRoutes(deps: EventRoutesDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    const open = new Set<LiveStream>()
    const counted = createOpenStreams(deps.streamsPerSession)
    const pings = createPings({
      timers: deps.timers,
      aliveOf: (sessionIds) => deps.sessions.aliveOf(sessionIds),
      onFailure: (error) =>
        app.log.warn(
          { err: error },
          'sessions could not be checked; their event streams stay open until the next time',
        ),
    })
    let isClosing = false
    app.addHook('preClose', async () => {
      isClosing = true
      for (const stream of open) stream.close()
    })
    // Clients come back, and the next hello names the database by its new id.
    deps.onWentBack(() => {
      for (const stream of open) stream.close()
    })

    app.get(
      '/events',
      {
        // A HEAD request for this stream would never end.
        exposeHeadRoute: false,
        schema: {
          tags: ['events'],
          summary: 'Server-sent events: hello, then changed with the name of what changed',
          description: STREAM_RULES,
          operationId: 'watchEvents',
          response: textAnswers({ type: 'text/event-stream', description: 'A stream that stays open' }, 429),
        },
      },
      async (request, reply) => {
        const { sessionId, type, username } = callerOf(request)
        const hello = await deps.hello()
        const leave = counted.add({ sessionId, user: `${type}/${username}` })
        reply.hijack()
        const { raw } = reply
        // Meanwhile the reader may have gone, or the service may have begun to stop.
        if (raw.destroyed || isClosing) {
          leave()
          raw.destroy()
          return
        }
        reply.headers({
          'content-type': 'text/event-stream',
          'cache-control': 'no-store',
          'x-accel-buffering': 'no',
        })
        for (const [name, value] of Object.entries(reply.getHeaders()))
          if (value !== undefined) raw.setHeader(name, value)
        raw.writeHead(200)
        const end = () => {
          // A client that does not read would keep the connection open for ever, and the service could not stop.
          if (raw.writableLength > 0) raw.destroy()
          else raw.end()
        }
        const reader = { write: (text: string) => raw.write(text), end, sessionId }
        const stream = createLiveStream(reader, { timers: deps.timers, pings, hello })
        const unsubscribe = deps.live.subscribe((name) => stream.changed(name))
        open.add(stream)
        deps.meters?.streamOpened()
        raw.on('drain', () => stream.drained())
        raw.on('error', (error) => request.log.debug({ err: error }, 'event stream broke'))
        raw.on('close', () => {
          leave()
          unsubscribe()
          open.delete(stream)
          deps.meters?.streamClosed()
          stream.close()
        })
      },
    )
  }
}
