import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import { LONGEST_PASSWORD } from '../../auth/account-rules.js'
import type { OpenId } from '../../auth/openid/open-id.js'
import type { Sessions } from '../../auth/sessions.js'
import type { SignIn } from '../../auth/sign-in.js'
import { UnauthenticatedError } from '../../errors.js'
import type { StoredUser } from '../../store/accounts/users.js'
import { type AuditName, noteAudit } from '../route/audit-hook.js'
import { callerOf } from '../route/guards.js'
import { LIMITED } from '../route/rate-limit.js'
import { answers } from '../route/schemas.js'

export interface AuthRoutesDeps {
  readonly signIn: SignIn
  readonly sessions: Sessions
  readonly openId: Pick<OpenId, 'logoutUrl'>
}

const Credentials = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 200 }),
  password: Type.String({ maxLength: LONGEST_PASSWORD }),
})

export const Tokens = Type.Object(
  {
    token: Type.String({ description: 'The bearer of requests' }),
    refreshtoken: Type.String({ description: 'Good once, for the next pair' }),
    passwordMustChange: Type.Optional(
      Type.Boolean({ description: 'There when the password has to be changed before anything else can be done' }),
    ),
  },
  { title: 'Tokens' },
)

const SignedOut = Type.Object(
  {
    message: Type.String(),
    logoutUrl: Type.Optional(
      Type.String({ description: 'Of a user of oidc or azuread: where the session at the provider is ended' }),
    ),
  },
  { title: 'SignedOut' },
)

/** Signing in and out. */
export function authRoutes(deps: AuthRoutesDeps): FastifyPluginAsyncTypebox {
  return async (app) => {
    keepOutOfCaches(app)

    app.post(
      '/auth/login',
      {
        config: { public: true, ...LIMITED, audit: audited('login') },
        schema: {
          tags: ['sign-in'],
          summary: 'Sign in with HTTP Basic or with a JSON body: a local user, or else one of the directory',
          operationId: 'login',
          security: [{}, { basic: [] }],
          body: Credentials,
          response: answers(Tokens, 400, 401, 429),
        },
        preValidation: async (request) => {
          const basic = basicCredentialsOf(request)
          if (basic) request.body = basic
          else if (request.body === undefined || request.body === null) {
            throw new UnauthenticatedError('credentials_missing', 'A username and a password are needed')
          }
        },
      },
      async (request) => {
        const { username, password } = request.body
        // A name that nobody has is not kept: it may be a password in the wrong field.
        const user = await deps.signIn.knownAs(username)
        if (user) noteUser(request, user)
        return deps.signIn.signIn(username, password, request.ip, (signedIn) => noteUser(request, signedIn))
      },
    )

    app.post(
      '/token',
      {
        config: { public: true, ...LIMITED, audit: audited('refresh') },
        schema: {
          tags: ['sign-in'],
          summary: 'A new pair of tokens for a refresh token, which works once',
          operationId: 'refreshTokens',
          security: [],
          body: Type.Object({ refreshtoken: Type.String({ minLength: 1, maxLength: 4096 }) }),
          response: answers(Tokens, 400, 401, 429),
        },
      },
      (request) => deps.sessions.refresh(request.body.refreshtoken, (user) => noteUser(request, user)),
    )

    app.post(
      '/auth/logout',
      {
        config: { ...LIMITED, audit: audited('logout'), beforePasswordChange: true, scope: 'read' },
        schema: {
          tags: ['sign-in'],
          summary: 'End the session; an API token revokes itself',
          operationId: 'logout',
          response: answers(SignedOut, 429),
        },
      },
      async (request) => {
        const { sessionId, type } = callerOf(request)
        await deps.sessions.end(sessionId)
        const logoutUrl = type === 'oidc' || type === 'azuread' ? await deps.openId.logoutUrl(type) : null
        return { message: 'Signed out', ...(logoutUrl === null ? {} : { logoutUrl }) }
      },
    )
  }
}

/** Tokens must not stay in anybody's cache. */
export function keepOutOfCaches(app: FastifyInstance): void {
  app.addHook('onSend', async (_request, reply) => {
    reply.header('cache-control', 'no-store')
  })
}

function audited(verb: string): AuditName {
  return { action: `auth.${verb}`, kind: 'session' }
}

/** Says in the audit trail whose sign-in it is. */
export function noteUser(request: FastifyRequest, user: StoredUser): void {
  noteAudit(request, { user: { name: user.username, type: user.type, id: user.id } })
}

/** Username and password of HTTP Basic; null without such a header. The password may hold colons. */
function basicCredentialsOf(request: FastifyRequest): { username: string; password: string } | null {
  const encoded = /^Basic +([A-Za-z0-9+/_=-]+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) throw new UnauthenticatedError('credentials_missing', 'The Authorization header holds no credentials')
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}
