import { once } from 'node:events'
import { type ServerResponse, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { SignJWT, UnsecuredJWT, exportJWK, generateKeyPair } from 'jose'

/** What a provider says when it is asked for tokens. */
export interface Forgery {
  readonly claims: Readonly<Record<string, unknown>>
  /** By whom the token is signed: by the key that the provider shows, by another one, or by none. */
  readonly signedBy?: 'own' | 'another' | 'nobody'
  /** An answer in the place of tokens. */
  readonly answer?: { readonly status: number; readonly body: string }
  /** Who the provider says it is when it is asked for that. */
  readonly userinfo?: Readonly<Record<string, unknown>>
}

/** A provider of OpenID Connect that says what a test wants it to say, right or wrong. */
export interface ForgingProvider {
  readonly issuer: string
  /** What it says next. */
  forge(forgery: Forgery): void
  close(): Promise<void>
}

export async function startForgingProvider(): Promise<ForgingProvider> {
  const [own, another] = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')])
  const jwk = { ...(await exportJWK(own.publicKey)), alg: 'RS256', use: 'sig', kid: 'one' }
  let forgery: Forgery = { claims: {} }

  async function idToken(): Promise<string> {
    if (forgery.signedBy === 'nobody') return new UnsecuredJWT({ ...forgery.claims }).encode()
    const { privateKey } = forgery.signedBy === 'another' ? another : own
    return new SignJWT({ ...forgery.claims }).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(privateKey)
  }
  async function answer(path: string, response: ServerResponse): Promise<void> {
    const say = (value: unknown, status = 200) =>
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    if (path.startsWith('/.well-known/')) {
      say({
        issuer,
        authorization_endpoint: `${issuer}/auth`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        ...(forgery.userinfo ? { userinfo_endpoint: `${issuer}/userinfo` } : {}),
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      })
    } else if (path === '/keys') say({ keys: [jwk] })
    else if (path === '/userinfo') say(forgery.userinfo)
    else if (forgery.answer) {
      response.writeHead(forgery.answer.status, { 'content-type': 'application/json' }).end(forgery.answer.body)
    } else say({ access_token: 'an access token', token_type: 'Bearer', expires_in: 60, id_token: await idToken() })
  }

  const server = createServer((request, response) => {
    request.resume()
    answer(request.url ?? '/', response).catch((error: unknown) => response.destroy(error as Error))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    issuer,
    forge(next) {
      forgery = next
    },
    async close() {
      server.closeAllConnections()
      server.close()
      await once(server, 'close')
    },
  }
}
