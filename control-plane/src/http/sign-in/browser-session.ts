import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { MAX_PASSWORD_LENGTH } from '../../words/password-length.js'
import type { BrowserSessions } from '../../auth/sessions/browser-sessions.js'
import type { OpenId } from '../../auth/openid/open-id.js'
import type { Sessions } from '../../auth/sessions/sessions.js'
import type { SignIn } from '../../auth/sign-in/sign-in.js'
import { ForbiddenError } from '../../errors.js'
import { callerOf } from '../route/guards.js'
import { LIMITED } from '../route/rate-limit.js'
import { answers } from '../route/schemas.js'
import { isOfOurPage, sessionCookie } from '../route/session-cookie.js'
import { SignedOut, noteUser } from './auth.js'

const SignedIn = Type.Object(
  {
    username: Type.String(),
    passwordMustChange: Type.Optional(
      Type.Boolean({ description: 'Present when the user has to change the password before doing anything else' }),
    ),
  },
  { title: 'SignedIn' },
)

const RULES = `For pages of this service only: the answer has no token, the browser gets a cookie that no script can read. The request
has to say that a page asks (X-Holdfast-Page: 1) and, as browsers do by themselves, that it is of the same origin
(Sec-Fetch-Site or Origin). Programs use POST /auth/login.`

/** Routes that sign a browser in and out. */
export function browserSessionRoutes(deps: {
  readonly signIn: Pick<SignIn, 'identify' | 'knownAs'>
  readonly browserSessions: BrowserSessions
  readonly sessions: Pick<Sessions, 'end'>
  readonly openId: Pick<OpenId, 'logoutUrl'>
  /** PUBLIC_URL; null: not set. */
  readonly publicUrl: string | null
}): FastifyPluginAsyncTypebox {
  const { signIn, browserSessions, publicUrl } = deps
  return async (app) => {
    app.post(
      '/auth/session',
      {
        config: { public: true, ...LIMITED, audit: { action: 'auth.session', kind: 'session' } },
        // Otherwise another site could sign a user in with another account.
        onRequest: async (request) => {
          if (isOfOurPage(request, publicUrl)) return
          throw new ForbiddenError(
            'not_our_page',
            'Only a page of this service may do this; programs use POST /auth/login',
          )
        },
        schema: {
          tags: ['sign-in'],
          summary: 'Sign this browser in, by a cookie',
          description: RULES,
          operationId: 'beginBrowserSession',
          security: [],
          body: Type.Object({
            username: Type.String({ minLength: 1, maxLength: 200 }),
            password: Type.String({ maxLength: MAX_PASSWORD_LENGTH }),
          }),
          response: answers(SignedIn, 400, 401, 403, 429),
        },
      },
      async (request, reply) => {
        const { username, password } = request.body
        const known = await signIn.knownAs(username)
        if (known) noteUser(request, known)
        const user = await signIn.identify(username, password, request.ip)
        noteUser(request, user)
        const value = await browserSessions.begin(user, request.ip)
        const seconds = Math.floor(browserSessions.mostMs / 1000)
        reply.header('set-cookie', sessionCookie(value, { request, publicUrl, seconds }))
        return { username: user.username, passwordMustChange: user.passwordMustChange || undefined }
      },
    )

    app.delete(
      '/auth/session',
      {
        config: {
          ...LIMITED,
          audit: { action: 'auth.session-end', kind: 'session' },
          beforePasswordChange: true,
          scope: 'read',
        },
        schema: {
          tags: ['sign-in'],
          summary: 'Sign this browser out; ends the session of the request, whatever kind it is of',
          operationId: 'endBrowserSession',
          response: answers(SignedOut, 429),
        },
      },
      async (request, reply) => {
        const { sessionId, type } = callerOf(request)
        await deps.sessions.end(sessionId)
        const logoutUrl = type === 'oidc' || type === 'azuread' ? await deps.openId.logoutUrl(type) : null
        reply.header('set-cookie', sessionCookie('', { request, publicUrl, seconds: 0 }))
        reply.header('clear-site-data', '"cache", "storage"')
        return { message: 'Signed out', logoutUrl: logoutUrl ?? undefined }
      },
    )
  }
}
