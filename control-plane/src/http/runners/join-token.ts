import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { shownName } from '../../auth/sessions/shown-name.js'
import { isoTime } from '../../time/clock.js'
import { NotFoundError } from '../../errors.js'
import { JOIN_TOKEN_MINUTES, type JoinTokens } from '../../runners/registration/join/tokens.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin, requireAdminFor } from '../route/guards.js'
import { JoinTokenBody, JoinTokenRecord, NewJoinToken, joinTokenRecordOf } from './runner-schemas.js'
import { IdParams, Message, answers, asList, idOf, listOf } from '../route/schemas.js'

/** What these routes need of other rooms. */
export interface JoinTokenRouteDependencies {
  readonly joinTokens: JoinTokens
}

const tags = ['runner']

/** Routes for join tokens: admins make, list and delete them. The token itself is shown only when it is made. */
export function joinTokenRoutes({ joinTokens }: JoinTokenRouteDependencies): FastifyPluginAsyncTypebox {
  const requireAdminForToken = requireAdminFor(async (id) => {
    if (!(await joinTokens.exists(id))) throw new NotFoundError('no_such_join_token', `There is no join token ${id}`)
  })
  return async (app) => {
    app.get(
      '/runner/join-tokens',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'List join tokens',
          operationId: 'listJoinTokens',
          response: answers(listOf(JoinTokenRecord), 403),
        },
      },
      async () => asList((await joinTokens.list()).map(joinTokenRecordOf)),
    )

    app.post(
      '/runner/join-tokens',
      {
        onRequest: requireAdmin,
        config: { audit: { action: 'join-token.create', kind: 'join-token' } },
        schema: {
          tags,
          summary: 'Make a join token for one runner, which is shown only once',
          operationId: 'createJoinToken',
          body: JoinTokenBody,
          response: answers(NewJoinToken, 400, 403),
        },
      },
      async (request) => {
        const admin = adminOf(request)
        const name = request.body?.name ?? null
        if (name !== null) noteAudit(request, { name })
        const ttlMinutes = request.body?.ttl_minutes ?? JOIN_TOKEN_MINUTES.default
        const { token, record } = await joinTokens.create({ name, ttlMinutes }, shownName(admin))
        return { id: record.id, token, expires_at: isoTime(record.expiresAt) }
      },
    )

    app.delete(
      '/runner/join-tokens/:id',
      {
        onRequest: requireAdminForToken,
        config: { audit: { action: 'join-token.delete', kind: 'join-token' } },
        schema: {
          tags,
          summary: 'Take a join token back',
          operationId: 'removeJoinToken',
          params: IdParams,
          response: answers(Message, 400, 403, 404),
        },
      },
      async (request) => {
        await joinTokens.remove(idOf(request.params), shownName(adminOf(request)))
        return { message: 'The join token was removed' }
      },
    )
  }
}
