import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { isoTime } from '../clock.js'
import { NotFoundError } from '../errors.js'
import { JOIN_TOKEN_MINUTES, type JoinTokens } from '../runners/join-tokens.js'
import { adminOf } from './guards.js'
import { JoinTokenBody, JoinTokenRecord, NewJoinToken, joinTokenRecordOf } from './runner-schemas.js'
import { IdParams, Message, answers, asList, idOf, listOf } from './schemas.js'

export interface JoinTokenRouteDeps {
  readonly joinTokens: JoinTokens
}

const tags = ['runner']

/** Join tokens: made, listed and taken back by admins; the token itself leaves once, with its creation. */
export function joinTokenRoutes({ joinTokens }: JoinTokenRouteDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/runner/join-tokens',
      { schema: { tags, summary: 'List join tokens', response: answers(listOf(JoinTokenRecord), 403) } },
      async (request) => {
        adminOf(request)
        return asList((await joinTokens.list()).map(joinTokenRecordOf))
      },
    )

    app.post(
      '/runner/join-tokens',
      {
        schema: {
          tags,
          summary: 'Make a join token, shown once, good for one runner',
          body: JoinTokenBody,
          response: answers(NewJoinToken, 400, 403),
        },
      },
      async (request) => {
        const admin = adminOf(request)
        const name = request.body?.name ?? null
        const ttlMinutes = request.body?.ttl_minutes ?? JOIN_TOKEN_MINUTES.default
        const { token, record } = await joinTokens.create({ name, ttlMinutes }, admin.username)
        return { id: record.id, token, expires_at: isoTime(record.expiresAt) }
      },
    )

    app.delete(
      '/runner/join-tokens/:id',
      {
        schema: {
          tags,
          summary: 'Take a join token back',
          params: IdParams,
          response: answers(Message, 400, 403, 404),
        },
      },
      async (request) => {
        const id = idOf(request.params)
        if (!(await joinTokens.exists(id)))
          throw new NotFoundError('no_such_join_token', `There is no join token ${id}`)
        const admin = adminOf(request)
        await joinTokens.remove(id, admin.username)
        return { message: 'The join token was removed' }
      },
    )
  }
}
