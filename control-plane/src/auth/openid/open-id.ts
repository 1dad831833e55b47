import { randomBytes } from 'node:crypto'
import type { Configuration } from 'openid-client'
import { HoldfastError, NotFoundError, UnavailableError } from '../../errors.js'
import { foreignText } from '../../secrets/foreign-text.js'
import { within } from '../../time/time-limit.js'
import type { Identity } from '../providers/external-users.js'
import type { OpenIdKind, OpenIdSettings } from '../roles/provider-config.js'
import type { RoleSource } from '../roles/role-source.js'
import { exchangeCode } from './code-exchange.js'
import { type Flow, type FlowCookies, flowTag } from './flow-cookie.js'
import type { Providers } from './providers.js'
import { discoveryFailure, refusalOf } from './refusals.js'

/** How long signing out waits for the provider's configuration, in milliseconds. */
const LOGOUT_MS = 3000

/** A program that opened a browser: where it listens on its own machine, and the challenge that its code has to fit. */
export type FlowClient = NonNullable<Flow['client']>

/** Who began a sign-in: a program, a page (its path below the base URL), or neither. */
export interface FlowOrigin {
  readonly client: FlowClient | null
  readonly page: string | null
}

/**
 * Signing in at a provider of OpenID Connect: the authorization code flow with PKCE, state and nonce. The state of a
 * sign-in is in a cookie of the browser and not here. So any node can end what another one began.
 */
export interface OpenId {
  /** Whether users of a kind can sign in. */
  isOn(kind: OpenIdKind): Promise<boolean>
  /**
   * Begins a sign-in. The browser is sent to `location`, and brings `cookie` when it comes back. `tag` tells it from
   * the cookies of other sign-ins in the same browser.
   * @throws NotFoundError when there is no such sign-in here, UnavailableError
   */
  begin(
    kind: OpenIdKind,
    from: FlowOrigin,
  ): Promise<{ readonly location: string; readonly cookie: string; readonly tag: string }>
  /** The sign-in that a browser began; null when it began none, or began it too long ago. */
  underWay(kind: OpenIdKind, cookie: string | undefined): Promise<Flow | null>
  /**
   * The user that came back from the provider.
   * @param query of the address to which the provider sent the browser
   * @throws UnauthenticatedError, UnavailableError
   */
  finish(flow: Flow, query: string): Promise<Identity>
  /** The address where users sign out at the provider; null when it has none, or does not answer in time. */
  logoutUrl(kind: OpenIdKind): Promise<string | null>
}

/** What signing in at a provider needs of other parts. */
export interface OpenIdDependencies {
  readonly roles: RoleSource
  readonly providers: Providers
  readonly cookies: FlowCookies
  /** PUBLIC_URL, without a slash at its end; null: not set. */
  readonly publicUrl: string | null
  readonly log: { warn(fields: object, text: string): void; error(fields: object, text: string): void }
}

const NAMES: Readonly<Record<OpenIdKind, string>> = { oidc: 'OpenID Connect', azuread: 'Entra ID' }

/** Makes the {@link OpenId} of this control plane. */
export function createOpenId(deps: OpenIdDependencies): OpenId {
  const { log, cookies } = deps

  async function settingsOf(kind: OpenIdKind): Promise<OpenIdSettings> {
    const settings = (await deps.roles.current()).providers?.[kind]
    if (!settings) throw new NotFoundError('sign_in_off', `There is no sign-in by ${NAMES[kind]} here`)
    return settings
  }

  /** The address to which the provider sends browsers back. The provider has to know it before. */
  function redirectUri(kind: OpenIdKind): string {
    if (deps.publicUrl !== null) return `${deps.publicUrl}/api/v2/auth/${kind}/callback`
    log.error({ kind }, 'nobody can sign in at a provider: PUBLIC_URL is not set')
    throw new UnavailableError(
      'public_url_missing',
      `Signing in by ${NAMES[kind]} takes the setting PUBLIC_URL: the address at which browsers reach the service`,
    )
  }

  /**
   * The provider's configuration. An error in it is a mistake of the operator, and does not count as a failed sign-in.
   */
  async function configurationOf(settings: OpenIdSettings): Promise<Configuration> {
    try {
      return await deps.providers.of(settings)
    } catch (error) {
      throw discoveryFailure(settings, error, log)
    }
  }

  async function finish(flow: Flow, query: string): Promise<Identity> {
    const settings = await settingsOf(flow.kind)
    const configuration = await configurationOf(settings)
    const address = new URL(redirectUri(flow.kind))
    address.search = query
    return exchangeCode({ configuration, settings, log }, flow, address)
  }

  return {
    isOn: async (kind) => deps.publicUrl !== null && (await deps.roles.current()).providers?.[kind] !== undefined,
    async begin(kind, origin) {
      const settings = await settingsOf(kind)
      const redirect = redirectUri(kind)
      try {
        const { checks, ...request } = await authorizationRequest(await configurationOf(settings), settings, redirect)
        const { client, page } = origin
        const cookie = await cookies.seal({ kind, ...checks, client, ...(page === null ? {} : { page }) })
        return { ...request, cookie }
      } catch (error) {
        throw refusalOf(kind, error, log)
      }
    },
    async underWay(kind, cookie) {
      const flow = cookie === undefined ? null : await cookies.open(cookie)
      return flow?.kind === kind ? flow : null
    },
    async finish(flow, query) {
      try {
        return await finish(flow, query)
      } catch (error) {
        if (error instanceof HoldfastError) throw error
        const secret = await deps.providers.secretOf(await settingsOf(flow.kind))
        throw refusalOf(flow.kind, error, log, [secret, flow.verifier, new URLSearchParams(query).get('code')])
      }
    },
    async logoutUrl(kind) {
      try {
        const settings = await settingsOf(kind)
        const { buildEndSessionUrl } = await import('openid-client')
        const configuration = await within(LOGOUT_MS, deps.providers.of(settings), () => new Error('no answer in time'))
        if (configuration.serverMetadata().end_session_endpoint === undefined) return null
        return buildEndSessionUrl(configuration).href
      } catch (error) {
        // The user is signed out here, whatever the provider answers.
        log.warn({ kind, reason: foreignText(error, []) }, 'where to sign out at the provider is not known')
        return null
      }
    },
  }
}

/** The address that begins a sign-in, and the values that its answer is checked against. */
async function authorizationRequest(configuration: Configuration, settings: OpenIdSettings, redirect: string) {
  const { buildAuthorizationUrl, calculatePKCECodeChallenge } = await import('openid-client')
  const checks = { state: random(), nonce: random(), verifier: random() }
  const location = buildAuthorizationUrl(configuration, {
    redirect_uri: redirect,
    scope: settings.scopes.join(' '),
    state: checks.state,
    nonce: checks.nonce,
    code_challenge: await calculatePKCECodeChallenge(checks.verifier),
    code_challenge_method: 'S256',
  })
  return { location: location.href, tag: flowTag(checks.state), checks }
}

function random(): string {
  return randomBytes(32).toString('base64url')
}
