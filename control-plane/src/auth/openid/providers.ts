import type * as OpenIdClient from 'openid-client'
import type { Clock } from '../../time/clock.js'
import { isLoopback } from '../roles/provider-checks.js'
import type { OpenIdSettings } from '../roles/provider-config.js'
import type { ProviderSecrets } from '../providers/provider-secrets.js'

/** How long the configuration of a provider is kept, in milliseconds. */
const KNOWN_MS = 60 * 60_000
/** How long a provider may take for one answer, in seconds. */
const ANSWER_SECONDS = 10

/** The providers of OpenID Connect and their configuration. */
export type Providers = ReturnType<typeof createProviders>

interface Known {
  readonly key: string
  readonly since: number
  readonly configuration: Promise<OpenIdClient.Configuration>
}

/** Makes the {@link Providers}. Their configurations are read when they are needed. */
export function createProviders(deps: { readonly secrets: ProviderSecrets; readonly clock: Clock }) {
  const { secrets, clock } = deps
  const known = new Map<string, Known>()

  async function discover(settings: OpenIdSettings, secret: string | null): Promise<OpenIdClient.Configuration> {
    // Loaded when it is needed, because most services start without it.
    const client = await import('openid-client')
    const issuer = new URL(settings.issuer)
    const authentication = secret === null ? client.None() : bySecret(client, secret, settings.kind)
    const isInsecure = issuer.protocol === 'http:' && isLoopback(issuer)
    return client.discovery(issuer, settings.clientId, undefined, authentication, {
      timeout: ANSWER_SECONDS,
      execute: [
        // Without it, the signature of a token would not be checked, because the token comes directly from the
        // provider.
        client.enableNonRepudiationChecks,
        // The settings allow an address without TLS only if it never leaves the machine.
        ...(isInsecure ? [client.allowInsecureRequests] : []),
      ],
    })
  }

  /** The secret of this service there; null: it has none. @throws UnavailableError */
  async function secretOf({ clientCredential }: OpenIdSettings): Promise<string | null> {
    return clientCredential === null ? null : (await secrets.open(clientCredential)).password
  }

  return {
    secretOf,
    /** @throws UnavailableError for the client's secret, the errors of openid-client for the provider */
    async of(settings: OpenIdSettings): Promise<OpenIdClient.Configuration> {
      const { kind } = settings
      const secret = await secretOf(settings)
      const key = JSON.stringify([settings.issuer, settings.clientId, secret])
      const before = known.get(kind)
      const age = clock.now() - (before?.since ?? 0)
      if (before && before.key === key && age >= 0 && age < KNOWN_MS) return before.configuration
      const next: Known = { key, since: clock.now(), configuration: discover(settings, secret) }
      known.set(kind, next)
      try {
        return await next.configuration
      } catch (error) {
        if (known.get(kind) === next) known.delete(kind)
        throw error
      }
    },
  }
}

/**
 * The secret is sent in the header, which is the standard's default, unless the provider names other ways only. Entra
 * ID accepts both ways, and documents the other one.
 */
function bySecret(client: typeof OpenIdClient, secret: string, kind: OpenIdSettings['kind']): OpenIdClient.ClientAuth {
  const [inBody, inHeader] = [client.ClientSecretPost(secret), client.ClientSecretBasic(secret)]
  if (kind === 'azuread') return inBody
  return (server, ...request) => {
    const ways = server.token_endpoint_auth_methods_supported ?? ['client_secret_basic']
    const show = ways.includes('client_secret_basic') ? inHeader : inBody
    show(server, ...request)
  }
}
