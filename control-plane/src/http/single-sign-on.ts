import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyReply, FastifyRequest } from 'fastify'
import { Type } from 'typebox'
import type { ExternalSignIn } from '../auth/external-sign-in.js'
import type { Flow } from '../auth/openid/flow-cookie.js'
import type { FlowClient } from '../auth/openid/open-id.js'
import type { OpenIdKind } from '../auth/provider-config.js'
import type { Sessions } from '../auth/sessions.js'
import { HoldfastError, InvalidInputError, UnauthenticatedError } from '../errors.js'
import { Tokens, keepOutOfCaches, noteUser } from './auth.js'
import { clearedFlowCookie, flowCookie, flowCookieOf } from './flow-cookie.js'
import { LIMITED } from './rate-limit.js'
import { answers } from './schemas.js'

export interface SingleSignOnDeps {
  readonly signIn: ExternalSignIn
  readonly sessions: Pick<Sessions, 'begin'>
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
      Type.String({ description: 'PUBLIC_URL: where a browser has to begin, since it comes back there' }),
    ),
  },
  { title: 'SignInKinds' },
)

/** Where a browser is sent on to; programs find it in the body, too. */
const SentOn = Type.Object({ location: Type.String() }, { title: 'SentOn' })

const BeginQuery = Type.Object({
  redirect: Type.Optional(
    Type.String({ maxLength: 500, description: 'Of a client that opened the browser: http://127.0.0.1:<port>/<path>' }),
  ),
  challenge: Type.Optional(
    Type.String({ maxLength: 500, description: 'With redirect: SHA-256 of the verifier of the client, base64url' }),
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

/** Signing in at a provider with a browser, for browsers and for programs that open one. */
export function singleSignOnRoutes(deps: SingleSignOnDeps): FastifyPluginAsyncTypebox {
  const { signIn } = deps

  /** What the browser gets when its user is known: tokens, or the way back to the program that opened it. */
  async function finish(request: FastifyRequest, flow: Flow) {
    const identity = await signIn.openId.finish(flow, queryOf(request))
    const user = await signIn.admit(identity, (known) => noteUser(request, known))
    if (!flow.client) return { tokens: await deps.sessions.begin(user, request.ip) }
    const code = await signIn.codes.give(user, flow.client.challenge)
    return { location: withQuery(flow.client.redirect, { code }) }
  }

  function sendOn(reply: FastifyReply, location: string) {
    return reply.code(302).header('location', location).send({ location })
  }

  return async (app) => {
    keepOutOfCaches(app)

    app.get(
      '/auth/settings',
      {
        config: { public: true, ...LIMITED },
        schema: {
          tags: ['sign-in'],
          summary: 'The kinds of users that can sign in beside local ones',
          operationId: 'getSignInKinds',
          security: [],
          response: answers(Kinds, 429),
        },
      },
      async () => {
        const [ldapEnabled, azureAdEnabled, oidcEnabled] = await Promise.all([
          signIn.directory.isOn(),
          signIn.openId.isOn('azuread'),
          signIn.openId.isOn('oidc'),
        ])
        const { publicUrl } = deps
        return { ldapEnabled, azureAdEnabled, oidcEnabled, ...(publicUrl === null ? {} : { publicUrl }) }
      },
    )

    for (const kind of ['oidc', 'azuread'] as const) {
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
          const { location, cookie } = await signIn.openId.begin(kind, clientOf(request.query))
          reply.header('set-cookie', flowCookie(cookie, deps.publicUrl))
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
            response: { ...answers(Tokens, 400, 401, 404, 429), 302: SentOn },
          },
        },
        async (request, reply) => {
          reply.header('set-cookie', clearedFlowCookie(deps.publicUrl))
          const flow = await signIn.openId.underWay(kind, flowCookieOf(request.headers.cookie, deps.publicUrl))
          try {
            if (!flow) throw noFlow(deps.publicUrl)
            const { tokens, location } = await finish(request, flow)
            return location === undefined ? await reply.send(tokens) : await sendOn(reply, location)
          } catch (error) {
            if (error instanceof UnauthenticatedError) deps.meters.signInFailed()
            // The program that opened the browser hears of the failure; it would wait in vain.
            if (!flow?.client || !(error instanceof HoldfastError)) throw error
            request.audit?.finish(error instanceof UnauthenticatedError ? 401 : 503)
            const { code, message } = error
            return sendOn(reply, withQuery(flow.client.redirect, { error: code, error_description: message }))
          }
        },
      )
    }

    app.post(
      '/auth/exchange',
      {
        config: { public: true, ...LIMITED, audit: { action: 'auth.exchange', kind: 'session' } },
        schema: {
          tags: ['sign-in'],
          summary: 'Tokens for the code that a browser brought back to the program that opened it; works once',
          operationId: 'exchangeSignInCode',
          security: [],
          body: Exchange,
          response: answers(Tokens, 400, 401, 429),
        },
      },
      (request) => {
        const { code, verifier } = request.body
        return signIn.codes.redeem(code, verifier, request.ip, (user) => noteUser(request, user))
      },
    )
  }
}

/** The `response` schemas of a route that only sends browsers on. */
function sendsOn(...refusals: Parameters<typeof answers>[1][]) {
  const { 200: _, ...others } = answers(Type.Null(), ...refusals)
  return { ...others, 302: SentOn }
}

/**
 * The program that opened the browser. It can only be on the machine of the browser: whoever listens elsewhere could
 * have sent the link to somebody.
 * @throws InvalidInputError
 */
function clientOf(query: { readonly redirect?: string; readonly challenge?: string }): FlowClient | null {
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
  return { redirect: url.href, challenge }
}

function noFlow(publicUrl: string | null): UnauthenticatedError {
  const where = publicUrl === null ? '' : ` at ${publicUrl}`
  return new UnauthenticatedError(
    'sign_in_not_begun',
    `This browser began no sign-in${where}, or too long ago; begin it again there`,
  )
}

/** As it came: the provider's words are for the library that checks them. */
function queryOf(request: FastifyRequest): string {
  const at = request.url.indexOf('?')
  return at === -1 ? '' : request.url.slice(at)
}

function withQuery(address: string, values: Readonly<Record<string, string>>): string {
  const url = new URL(address)
  for (const [name, value] of Object.entries(values)) url.searchParams.set(name, value)
  return url.href
}
