import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { BrowserSessions } from '../../auth/sessions/browser-sessions.js'
import type { ExternalSignIn } from '../../auth/sign-in/external-sign-in.js'
import { type Flow, flowTag } from '../../auth/openid/flow-cookie.js'
import type { FlowClient } from '../../auth/openid/open-id.js'
import type { OpenIdKind } from '../../auth/roles/provider-config.js'
import type { Sessions } from '../../auth/sessions/sessions.js'
import { HoldfastError, InvalidInputError, UnauthenticatedError } from '../../errors.js'
import { readAppearance } from '../../store/service/appearance.js'
import type { Store } from '../../store/store.js'
import { TokensAnswer, noteUser } from './auth.js'
import { confirmRoutes } from './confirm-sign-in.js'
import { clearedFlowCookie, flowCookieOf, flowCookies } from './flow-cookie.js'
import { API_PREFIX } from '../route/paths.js'
import { LIMITED } from '../route/rate-limit.js'
import { answers } from '../route/schemas.js'
import { sessionCookie } from '../route/session-cookie.js'
import { SentOn, sendsOn, withQuery } from './sent-on.js'

/** What single sign-on needs of other parts. */
export interface SingleSignOnDependencies {
  readonly store: Pick<Store, 'read'>
  readonly signIn: ExternalSignIn
  readonly sessions: Pick<Sessions, 'begin'>
  readonly browserSessions: BrowserSessions
  /** PUBLIC_URL; null: not set. */
  readonly publicUrl: string | null
  readonly meters: { signInFailed(): void }
}

const Kinds = Type.Object(
  {
    ldapEnabled: Type.Boolean({ description: 'POST /auth/login also takes names and passwords of a directory' }),
    azureAdEnabled: Type.Boolean({ description: 'GET /auth/azuread begins a sign-in at Entra ID' }),
    oidcEnabled: Type.Boolean({ description: 'GET /auth/oidc begins a sign-in at a provider of OpenID Connect' }),
    publicUrl: Type.Optional(
      Type.String({
        description:
          'PUBLIC_URL: a browser has to begin the sign-in at this address, because the provider sends it back there',
      }),
    ),
    announcement: Type.Optional(
      Type.String({
        description: 'What admins want everybody to read, also before the sign-in. Left out: there is nothing',
      }),
    ),
  },
  { title: 'SignInKinds' },
)

const BeginQuery = Type.Object({
  to: Type.Optional(
    Type.String({
      maxLength: 500,
      pattern: '^/([^/\\\\]|$)[^\\\\]*$',
      description: 'Of a page: its path below the base URL. The browser is signed in by a cookie and goes on there',
    }),
  ),
  redirect: Type.Optional(
    Type.String({ maxLength: 500, description: 'Of a client that opened the browser: http://127.0.0.1:<port>/<path>' }),
  ),
  challenge: Type.Optional(
    Type.String({ maxLength: 500, description: 'With redirect: SHA-256 of the verifier of the client, base64url' }),
  ),
  machine: Type.Optional(
    Type.String({
      maxLength: 200,
      description: 'With redirect: the name of the machine, which the confirmation page shows',
    }),
  ),
})

const CallbackQuery = Type.Object({
  code: Type.Optional(Type.String()),
  state: Type.Optional(Type.String()),
  error: Type.Optional(Type.String()),
})

const Exchange = Type.Object({
  code: Type.String({ minLength: 1, maxLength: 200 }),
  verifier: Type.String({ minLength: 43, maxLength: 128, description: 'Whose SHA-256 was the challenge' }),
})

const NAMES: Readonly<Record<OpenIdKind, string>> = { oidc: 'OpenID Connect', azuread: 'Entra ID' }

/** Routes for signing in at a provider with a browser, for browsers and for programs that open one. */
export function singleSignOnRoutes(deps: SingleSignOnDependencies): FastifyPluginAsyncTypebox {
  const { signIn } = deps

  return async (app) => {
    app.get(
      '/auth/settings',
      {
        config: { public: true, ...LIMITED },
        schema: {
          tags: ['sign-in'],
          summary: 'The kinds of users that can sign in besides local ones',
          operationId: 'getSignInKinds',
          security: [],
          response: answers(Kinds, 429),
        },
      },
      async () => {
        const [ldapEnabled, azureAdEnabled, oidcEnabled, { announcement }] = await Promise.all([
          signIn.directory.isOn(),
          signIn.openId.isOn('azuread'),
          signIn.openId.isOn('oidc'),
          readAppearance(deps.store.read),
        ])
        const { publicUrl } = deps
        return {
          ldapEnabled,
          azureAdEnabled,
          oidcEnabled,
          // Without one the answer is as it was before there were announcements.
          announcement: announcement || undefined,
          publicUrl: publicUrl ?? undefined,
        }
      },
    )

    for (const kind of ['oidc', 'azuread'] as const) await app.register(providerRoutes(deps, kind))

    // The name that pages of the product family use for it.
    app.get(
      '/auth/azureadoauth2',
      {
        config: { public: true, ...LIMITED },
        schema: {
          tags: ['sign-in'],
          summary: 'The same as GET /auth/azuread, where the browser is sent',
          operationId: 'beginAzureadSignInByOtherName',
          security: [],
          response: sendsOn(404, 429),
        },
      },
      async (_request, reply) => sendOn(reply, `${deps.publicUrl ?? ''}${API_PREFIX}/auth/azuread`),
    )

    await app.register(confirmRoutes(deps))

    app.post(
      '/auth/exchange',
      {
        config: { public: true, ...LIMITED, audit: { action: 'auth.exchange', kind: 'session' } },
        schema: {
          tags: ['sign-in'],
          summary:
            'Exchange a code for tokens: the browser brought the code back to the program that opened it; works once',
          operationId: 'exchangeSignInCode',
          security: [],
          body: Exchange,
          response: answers(TokensAnswer, 400, 401, 429),
        },
      },
      (request) => {
        const { code, verifier } = request.body
        return signIn.codes.redeem(code, verifier, request.ip, (user) => noteUser(request, user))
      },
    )
  }
}

/** The routes for one provider: the way to it, and the way back. */
function providerRoutes(deps: SingleSignOnDependencies, kind: OpenIdKind): FastifyPluginAsyncTypebox {
  const { signIn } = deps
  return async (app) => {
    app.get(
      `/auth/${kind}`,
      {
        config: { public: true, ...LIMITED },
        schema: {
          tags: ['sign-in'],
          summary: `Begin a sign-in by ${NAMES[kind]}: sends the browser to the provider`,
          operationId: `begin${kind === 'oidc' ? 'Oidc' : 'Azuread'}SignIn`,
          security: [],
          querystring: BeginQuery,
          response: sendsOn(400, 404, 429),
        },
      },
      async (request, reply) => {
        const { location, cookie, tag } = await signIn.openId.begin(kind, {
          client: clientOf(request.query),
          page: request.query.to ?? null,
        })
        const begun = { kind: 'sign_in' as const, tag, value: cookie }
        reply.header('set-cookie', flowCookies(begun, request.headers.cookie, deps.publicUrl))
        return sendOn(reply, location)
      },
    )

    app.get(
      `/auth/${kind}/callback`,
      {
        config: { public: true, ...LIMITED, audit: { action: 'auth.login', kind: 'session' } },
        schema: {
          tags: ['sign-in'],
          summary: `End a sign-in by ${NAMES[kind]}: the provider sends the browser here`,
          operationId: `finish${kind === 'oidc' ? 'Oidc' : 'Azuread'}SignIn`,
          security: [],
          querystring: CallbackQuery,
          response: { ...answers(TokensAnswer, 400, 401, 404, 429), 302: SentOn },
        },
      },
      async (request, reply) => {
        const begun = { kind: 'sign_in' as const, tag: flowTag(request.query.state ?? '') }
        reply.header('set-cookie', clearedFlowCookie(begun.kind, begun.tag, deps.publicUrl))
        const cookie = flowCookieOf(request.headers.cookie, begun, deps.publicUrl)
        const flow = await signIn.openId.underWay(kind, cookie)
        try {
          if (!flow) throw noFlow(deps.publicUrl)
          const { tokens, location, cookies } = await finish(deps, request, flow)
          if (location === undefined) return await reply.send(tokens)
          // This header is sent in addition to the one that removes the first cookie.
          reply.header('set-cookie', cookies)
          return await sendOn(reply, location)
        } catch (error) {
          if (error instanceof UnauthenticatedError) deps.meters.signInFailed()
          // The program that opened the browser has to learn of the failure. Otherwise it would wait in vain.
          const waiting = flow?.client?.redirect ?? null
          const page = flow?.page === undefined ? null : `${deps.publicUrl ?? ''}/sign-in`
          if (!flow || (waiting ?? page) === null || !(error instanceof HoldfastError)) throw error
          request.audit?.finish(error instanceof UnauthenticatedError ? 401 : 503)
          const { code, message } = error
          // The page has its own text for each code, because the text in an address may come from anybody.
          if (waiting === null) return sendOn(reply, withQuery(page ?? '', { refused: code, to: flow.page ?? '/' }))
          return sendOn(reply, withQuery(waiting, { error: code, error_description: message }))
        }
      },
    )
  }
}

/** The answer for the browser when its user is known: tokens, or the way back to the program that opened it. */
async function finish(deps: SingleSignOnDependencies, request: FastifyRequest, flow: Flow) {
  const { signIn } = deps
  const identity = await signIn.openId.finish(flow, queryOf(request))
  const user = await signIn.admit(identity, (known) => noteUser(request, known))
  if (flow.page !== undefined) {
    const value = await deps.browserSessions.begin(user, request.ip)
    const seconds = Math.floor(deps.browserSessions.mostMs / 1000)
    const { publicUrl } = deps
    return {
      location: `${publicUrl ?? ''}${flow.page}`,
      cookies: [sessionCookie(value, { request, publicUrl, seconds })],
    }
  }
  if (!flow.client) return { tokens: await deps.sessions.begin(user, request.ip) }
  // The user is asked first, because anybody may have sent them the link that began this sign-in.
  const tag = flowTag(flow.state)
  const cookie = { kind: 'question' as const, tag, value: await signIn.questions.ask(user, flow.client) }
  const cookies = flowCookies(cookie, request.headers.cookie, deps.publicUrl)
  return { location: `${deps.publicUrl ?? ''}${API_PREFIX}/auth/confirm?sign_in=${tag}`, cookies }
}

function sendOn(reply: FastifyReply, location: string) {
  return reply.code(302).header('location', location).send({ location })
}

/**
 * The program that opened the browser. It must be on the machine of the browser. Otherwise an attacker who listens
 * elsewhere could send the link to a user.
 * @throws InvalidInputError
 */
function clientOf(query: {
  readonly redirect?: string
  readonly challenge?: string
  readonly machine?: string
}): FlowClient | null {
  const { redirect, challenge } = query
  if (redirect === undefined && challenge === undefined) return null
  const url = redirect !== undefined && URL.canParse(redirect) ? new URL(redirect) : null
  const isOnThisMachine = url?.protocol === 'http:' && (url.hostname === '127.0.0.1' || url.hostname === '[::1]')
  if (!isOnThisMachine || url.port === '' || url.username !== '' || url.password !== '' || url.hash !== '') {
    throw new InvalidInputError('invalid_redirect', 'redirect must be http://127.0.0.1:<port>/<path> or http://[::1]:…')
  }
  if (challenge === undefined || !/^[A-Za-z0-9_-]{43}$/.test(challenge)) {
    throw new InvalidInputError('invalid_challenge', 'challenge must be the SHA-256 of the verifier, in base64url')
  }
  const machine = query.machine?.replace(/[\p{C}]/gu, '').trim() ?? ''
  return { redirect: url.href, challenge, machine: machine === '' ? null : machine }
}

function noFlow(publicUrl: string | null): UnauthenticatedError {
  const where = publicUrl === null ? '' : ` at ${publicUrl}`
  return new UnauthenticatedError(
    'sign_in_not_begun',
    `This browser began no sign-in${where}, or too long ago; begin it again there`,
  )
}

/** The unchanged query, because the library has to check the words of the provider. */
function queryOf(request: FastifyRequest): string {
  const at = request.url.indexOf('?')
  return at === -1 ? '' : request.url.slice(at)
}
