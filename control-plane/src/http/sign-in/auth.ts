import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { Type, type Static } from 'typebox'
import { definedOnly } from '../../defined-only.js'
import type { ApiTokens } from '../../auth/sessions/api-tokens.js'
import { MAX_PASSWORD_LENGTH } from '../../words/password-length.js'
import type { OpenId } from '../../auth/openid/open-id.js'
import type { Sessions } from '../../auth/sessions/sessions.js'
import type { SignIn } from '../../auth/sign-in/sign-in.js'
import type { TokenPair } from '../../auth/sessions/tokens.js'
import { UnauthenticatedError } from '../../errors.js'
import type { StoredUser } from '../../store/accounts/users.js'
import { type AuditName, noteAudit } from '../route/audit-hook.js'
import { callerOf } from '../route/guards.js'
import { LIMITED } from '../route/rate-limit.js'
import { answers } from '../route/schemas.js'

/** What these routes need of other rooms. */
export interface AuthRoutesDependencies {
  readonly signIn: SignIn
  readonly sessions: Sessions
  readonly apiTokens: Pick<ApiTokens, 'create' | 'mostDays'>
  readonly openId: Pick<OpenId, 'logoutUrl'>
}

/** What a sign-in may say about the API token that it asks for instead of a short-lived token. */
const longToken = {
  expiryDays: Type.Optional(
    Type.Union([Type.Integer(), Type.String({ maxLength: 20 })], {
      description:
        'If given, token is an API token for so many days (at most API_TOKEN_MAX_DAYS), if the user may have one',
    }),
  ),
  name: Type.Optional(Type.String({ minLength: 1, maxLength: 100, description: 'What that API token is for' })),
}

const Credentials = Type.Object({
  username: Type.String({ minLength: 1, maxLength: 200 }),
  password: Type.String({ maxLength: MAX_PASSWORD_LENGTH }),
  ...longToken,
})

/** The tokens of a session. */
export const TokensAnswer = Type.Object(
  {
    token: Type.String({ description: 'The bearer of requests' }),
    refreshtoken: Type.String({ description: 'Good once, for the next pair' }),
    passwordMustChange: Type.Optional(
      Type.Boolean({ description: 'Present when the user has to change the password before doing anything else' }),
    ),
  },
  { title: 'Tokens' },
)

/** The answer of signing out. */
export const SignedOut = Type.Object(
  {
    message: Type.String(),
    logoutUrl: Type.Optional(
      Type.String({
        description: 'For users of oidc or azuread: the address at which the session at the provider is ended',
      }),
    ),
  },
  { title: 'SignedOut' },
)

/** Signing in and out. */
export function authRoutes(deps: AuthRoutesDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.post(
      '/auth/login',
      {
        config: { public: true, ...LIMITED, audit: audited('login') },
        schema: {
          tags: ['sign-in'],
          summary: 'Sign in with HTTP Basic or with a JSON body: a local user, or else a user of the directory',
          operationId: 'login',
          security: [{}, { basic: [] }],
          querystring: Type.Object(longToken),
          body: Credentials,
          response: answers(TokensAnswer, 400, 401, 409, 429),
        },
        preValidation: async (request) => {
          const basic = basicCredentialsOf(request)
          const { expiryDays, name } = (request.body ?? {}) as Partial<Static<typeof Credentials>>
          if (basic) request.body = { ...basic, ...definedOnly({ expiryDays, name }) }
          else if (request.body === undefined || request.body === null) {
            throw new UnauthenticatedError('credentials_missing', 'A username and a password are needed')
          }
        },
      },
      async (request) => {
        const { username, password } = request.body
        // An unknown name is not stored, because it may be a password in the wrong field.
        const user = await deps.signIn.knownAs(username)
        if (user) noteUser(request, user)
        const pair = await deps.signIn.signIn(username, password, request.ip, (signedIn) => noteUser(request, signedIn))
        return withLongToken(deps, request, pair, { ...request.body, ...request.query })
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
          response: answers(TokensAnswer, 400, 401, 429),
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
        return { message: 'Signed out', logoutUrl: logoutUrl ?? undefined }
      },
    )
  }
}

/**
 * The pair of tokens. If the sign-in asks for it and the roles allow it, an API token replaces the short-lived token.
 * Otherwise it is the ordinary pair, as in the product family.
 * @throws ConflictError when the user has too many
 */
async function withLongToken(
  { sessions, apiTokens }: AuthRoutesDependencies,
  request: FastifyRequest,
  pair: TokenPair,
  { expiryDays, name = null }: Pick<Static<typeof Credentials>, 'expiryDays'> & { readonly name?: string | null },
): Promise<TokenPair> {
  const wanted = expiryDays === 'never' ? apiTokens.mostDays : Math.floor(Number(expiryDays ?? Number.NaN))
  if (!(wanted >= 1) || pair.passwordMustChange) return pair
  const caller = await sessions.authenticate(pair.token)
  if (!caller.options.allowApiTokens) return pair
  const days = Math.min(wanted, apiTokens.mostDays)
  const { token, record } = await apiTokens.create(caller, { name, days, scopes: null })
  noteAudit(request, { detail: `API token ${record.sid}` })
  return { ...pair, token }
}

function audited(verb: string): AuditName {
  return { action: `auth.${verb}`, kind: 'session' }
}

/** Names the user of the sign-in in the audit trail. */
export function noteUser(request: FastifyRequest, user: StoredUser): void {
  noteAudit(request, { user: { name: user.username, type: user.type, id: user.id } })
}

/** Username and password of HTTP Basic; null without such a header. The password may contain colons. */
function basicCredentialsOf(request: FastifyRequest): { username: string; password: string } | null {
  const encoded = /^Basic +([A-Za-z0-9+/_=-]+) *$/i.exec(request.headers.authorization ?? '')?.[1]
  if (encoded === undefined) return null
  const text = Buffer.from(encoded, 'base64').toString('utf8')
  const colon = text.indexOf(':')
  if (colon < 1) throw new UnauthenticatedError('credentials_missing', 'The Authorization header holds no credentials')
  return { username: text.slice(0, colon), password: text.slice(colon + 1) }
}
