import { once } from 'node:events'
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { exportJWK, generateKeyPair } from 'jose'
import Provider from 'oidc-provider'

export const CLIENT = { id: 'holdfast', secret: 'the secret of the client' }

/** A provider of OpenID Connect with everything that real ones have, but for the page where people sign in. */
export interface OpenIdProvider {
  readonly issuer: string
  readonly origin: string
  /** Who sits at the browser: they are signed in without being asked. */
  nobodySignedIn(): void
  sits(sub: string): void
  /** What is known of somebody. */
  know(sub: string, claims: Readonly<Record<string, unknown>>): void
  close(): Promise<void>
}

export interface OpenIdProviderOptions {
  readonly redirectUri: string
  /** Path of the issuer. */
  readonly path?: string
  /** Puts the claims into the ID token, as Entra ID does. */
  readonly claimsInToken?: boolean
  /** The client shows its secret in the body, and not in a header. */
  readonly secretInBody?: boolean
  /** Answers what is not the provider's. */
  readonly beside?: (request: IncomingMessage, response: ServerResponse) => boolean
}

export async function startOpenIdProvider(options: OpenIdProviderOptions): Promise<OpenIdProvider> {
  const { path = '' } = options
  const handling: { handle: ((request: IncomingMessage, response: ServerResponse) => void) | null } = { handle: null }
  const server = createServer((request, response) => handling.handle?.(request, response)).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const issuer = origin + path
  const people = new Map<string, Readonly<Record<string, unknown>>>()
  let sitting = ''

  const { privateKey } = await generateKeyPair('RS256', { extractable: true })
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: CLIENT.id,
        client_secret: CLIENT.secret,
        redirect_uris: [options.redirectUri],
        response_types: ['code'],
        grant_types: ['authorization_code'],
        token_endpoint_auth_method: options.secretInBody ? 'client_secret_post' : 'client_secret_basic',
      },
    ],
    jwks: { keys: [{ ...(await exportJWK(privateKey)), alg: 'RS256', use: 'sig', kid: 'one' }] },
    cookies: { keys: ['only for tests'] },
    claims: {
      openid: ['sub', 'oid'],
      profile: ['preferred_username', 'name', 'groups'],
      email: ['email', 'email_verified'],
    },
    conformIdTokenClaims: options.claimsInToken !== true,
    ttl: { AccessToken: 600, Grant: 600, IdToken: 600, Interaction: 600, Session: 600 },
    pkce: { required: () => true },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_context, interaction) => `${path}/interaction/${interaction.uid}` },
    findAccount: (_context, sub) => ({ accountId: sub, claims: () => ({ sub, ...people.get(sub) }) }),
    // Nobody is asked what the service may know of them.
    async loadExistingGrant(context) {
      const { client, session } = context.oidc
      const grant = new context.oidc.provider.Grant({ clientId: client?.clientId, accountId: session?.accountId })
      grant.addOIDCScope('openid profile email')
      await grant.save()
      return grant
    },
  })
  const callback = provider.callback()

  handling.handle = (request, response) => {
    if (options.beside?.(request, response)) return
    const url = request.url ?? '/'
    if (url.startsWith(`${path}/interaction/`)) {
      const result =
        sitting === ''
          ? { error: 'access_denied', error_description: 'nobody signed in' }
          : { login: { accountId: sitting, remember: false } }
      provider.interactionFinished(request, response, result).catch((error: unknown) => {
        response.writeHead(500).end(String(error))
      })
      return
    }
    // As a framework does that mounts an application below a path.
    Object.assign(request, { originalUrl: url, url: url.slice(path.length) || '/' })
    void callback(request, response)
  }
  return {
    issuer,
    origin,
    nobodySignedIn() {
      sitting = ''
    },
    sits(sub) {
      sitting = sub
    },
    know(sub, claims) {
      people.set(sub, claims)
    },
    close: () => closed(server),
  }
}

async function closed(server: Server): Promise<void> {
  server.closeAllConnections()
  server.close()
  await once(server, 'close')
}
