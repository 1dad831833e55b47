import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { ApiTokens } from '../../auth/sessions/api-tokens.js'
import { isoTime } from '../../time/clock.js'
import type { ApiToken } from '../../store/accounts/api-tokens.js'
import { TOKEN_SCOPES } from '../../auth/roles/token-scopes.js'
import { noteAudit } from '../route/audit-hook.js'
import { callerOf } from '../route/guards.js'
import { LIMITED } from '../route/rate-limit.js'
import { Message, answers, asList, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const time = Type.String({ format: 'date-time' })

const tokenFields = {
  sid: Type.String({ description: 'Names the token; it is no secret' }),
  name: nullable(Type.String()),
  created_at: time,
  expires_at: time,
  last_used_at: nullable(time),
  scopes: Type.Optional(
    nullable(
      Type.Array(Type.Enum([...TOKEN_SCOPES]), {
        description:
          'What it may be used for: read, launch (which includes all about jobs), admin; null: everything that its owner ' +
          'may do',
      }),
    ),
  ),
}

const TokenRecord = Type.Object(tokenFields, { title: 'ApiToken' })

const NewToken = Type.Object(
  {
    ...tokenFields,
    token: Type.String({ description: 'The bearer of requests; shown only now' }),
  },
  { title: 'NewApiToken' },
)

const TokenBody = nullable(
  Type.Object({
    name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'What it is for' })),
    expiryDays: Type.Optional(Type.Integer({ minimum: 1, description: 'Default 30; at most API_TOKEN_MAX_DAYS' })),
    scopes: Type.Optional(
      Type.Array(Type.Enum([...TOKEN_SCOPES]), {
        minItems: 1,
        description:
          'What it may be used for; by default everything that the roles allow. launch includes read, and admin includes ' +
          'everything',
      }),
    ),
  }),
)

const tags = ['profile']
const audited = (verb: string) => ({ action: `token.${verb}`, kind: 'token' })

/**
 * The caller's API tokens: bearer tokens for scripts. To make one, the caller needs the role option `allowApiTokens`
 * and a sign-in.
 */
export function profileTokenRoutes(deps: { readonly apiTokens: ApiTokens }): FastifyPluginAsyncTypebox {
  const { apiTokens } = deps
  return async (app) => {
    app.get(
      '/profile/tokens',
      {
        schema: {
          tags,
          summary: 'The own API tokens, newest first',
          operationId: 'listApiTokens',
          response: answers(listOf(TokenRecord)),
        },
      },
      async (request) => asList((await apiTokens.list(callerOf(request))).map(show)),
    )

    app.post(
      '/profile/tokens',
      {
        config: { ...LIMITED, audit: audited('create') },
        schema: {
          tags,
          summary:
            'Make an API token, which is shown only once (needs the role option allowApiTokens; not possible with an API token)',
          operationId: 'createApiToken',
          body: TokenBody,
          response: answers(NewToken, 400, 403, 409, 429),
        },
        onRequest: async (request) => apiTokens.requireAllowed(callerOf(request)),
      },
      async (request) => {
        const { name = null, expiryDays: days = null, scopes = null } = request.body ?? {}
        const { token, record } = await apiTokens.create(callerOf(request), { name, days, scopes })
        noteAudit(request, { id: record.sid, ...(name === null ? {} : { name }) })
        return { ...show(record), token }
      },
    )

    app.delete(
      '/profile/tokens/:sid',
      {
        config: { ...LIMITED, audit: audited('revoke') },
        schema: {
          tags,
          summary: 'Revoke an own API token',
          operationId: 'revokeApiToken',
          params: Type.Object({ sid: Type.String() }),
          response: answers(Message, 404, 429),
        },
      },
      async (request) => {
        const { sid, name } = await apiTokens.revoke(callerOf(request), request.params.sid)
        noteAudit(request, { id: sid, ...(name === null ? {} : { name }) })
        return { message: 'The API token was revoked' }
      },
    )
  }
}

function show(token: ApiToken) {
  return {
    sid: token.sid,
    name: token.name,
    created_at: isoTime(token.createdAt),
    expires_at: isoTime(token.expiresAt),
    last_used_at: isoTime(token.lastUsedAt),
    scopes: token.scopes && [...token.scopes],
  }
}
