import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { SessionRecords } from '../../auth/sessions/session-records.js'
import { isoTime } from '../../time/clock.js'
import type { SessionRecord } from '../../store/accounts/sessions.js'
import { noteAudit } from '../route/audit-hook.js'
import { callerOf, requireAdmin } from '../route/guards.js'
import { Message, answers, asList, integerText, listOf, wholeNumberOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const time = Type.String({ format: 'date-time' })
const fields = {
  id: Type.String(),
  kind: Type.Enum(['login', 'api'], { description: 'A sign-in, or an API token' }),
  name: nullable(Type.String({ description: 'Of an API token: what it is for' })),
  network: nullable(Type.String({ description: 'From where the sign-in came' })),
  created_at: time,
  expires_at: time,
  last_used_at: nullable(time),
}
const OwnSession = Type.Object(
  { ...fields, current: Type.Boolean({ description: 'The session of this request' }) },
  { title: 'OwnSession' },
)
const UserSession = Type.Object(
  { ...fields, user_id: Type.Integer(), user: Type.String(), user_type: Type.String() },
  { title: 'UserSession' },
)
const Id = Type.Object({ id: Type.String() })
const audited = (action: string) => ({ audit: { action, kind: 'session' } })

/** Who is signed in where: the caller's own sign-ins, and for admins the sign-ins and API tokens of everybody. */
export function sessionRoutes({ sessions }: { readonly sessions: SessionRecords }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/profile/sessions',
      {
        schema: {
          tags: ['profile'],
          summary: 'The open sessions of the caller, the newest first',
          operationId: 'listOwnSessions',
          response: answers(listOf(OwnSession)),
        },
      },
      async (request) => {
        const caller = callerOf(request)
        const records = await sessions.listOwn(caller)
        return asList(records.map((record) => ({ ...show(record), current: record.id === caller.sessionId })))
      },
    )

    app.delete(
      '/profile/sessions/:id',
      {
        config: audited('session.end-own'),
        schema: {
          tags: ['profile'],
          summary: 'End an own sign-in, its event streams too',
          operationId: 'endOwnSession',
          params: Id,
          response: answers(Message, 404),
        },
      },
      async (request) => {
        const ended = await sessions.endOwn(request.params.id, callerOf(request))
        noteAudit(request, { id: ended.id })
        return { message: 'The session was ended' }
      },
    )

    await app.register(everySessionRoutes({ sessions }))
  }
}

/** The sign-ins and API tokens of everybody, for admins. */
function everySessionRoutes({ sessions }: { readonly sessions: SessionRecords }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/session',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['users'],
          summary: 'Open sessions and valid API tokens of all users, the newest first (admin)',
          operationId: 'listSessions',
          querystring: Type.Object({
            user_id: Type.Optional(integerText('Only those of this user')),
          }),
          response: answers(listOf(UserSession), 400, 403),
        },
      },
      async (request) => {
        const records = await sessions.list(
          request.query.user_id === undefined ? null : wholeNumberOf(request.query.user_id, 'user_id'),
        )
        return asList(records.map((record) => ({ ...show(record), ...ownerOf(record) })))
      },
    )

    app.delete(
      '/session/:id',
      {
        onRequest: requireAdmin,
        config: audited('session.end'),
        schema: {
          tags: ['users'],
          summary: 'End a session or an API token of any user (admin)',
          operationId: 'endSession',
          params: Id,
          response: answers(Message, 403, 404),
        },
      },
      async (request) => {
        const ended = await sessions.end(request.params.id)
        noteAudit(request, { id: ended.id, name: ended.username })
        return { message: 'The session was ended' }
      },
    )
  }
}

function show(record: SessionRecord) {
  return {
    id: record.id,
    kind: record.kind,
    name: record.name,
    network: record.network,
    created_at: isoTime(record.createdAt),
    expires_at: isoTime(record.expiresAt),
    last_used_at: isoTime(record.lastUsedAt),
  }
}

function ownerOf({ userId, username, userType }: SessionRecord) {
  return { user_id: userId, user: username, user_type: userType }
}
