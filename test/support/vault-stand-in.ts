import { type IncomingMessage, type ServerResponse } from 'node:http'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { TEST_CERTIFICATE } from './test-certificate.js'

/** A server that speaks the part of the API of HashiCorp Vault that reads secrets: KV version 2, tokens, AppRole. */
export interface VaultStandIn {
  /** https, with the certificate of the tests. */
  readonly url: string
  /** Values by mount and path (`secret/db`); null: deleted. A test may change them. */
  readonly secrets: Map<string, Record<string, unknown> | null>
  /** The tokens that are valid now, with the seconds they live. */
  readonly tokens: Map<string, { readonly ttl: number; readonly renewable: boolean }>
  /** `METHOD path` of every request. */
  readonly asked: string[]
  /** The headers of the last request. */
  lastHeaders: IncomingMessage['headers']
  isSealed: boolean
  close(): Promise<void>
}

/** The login that it accepts. */
export const VAULT_ROLE = { role_id: 'role-of-test', secret_id: 'secret-id-canary' }

/** Starts it on a port of its own. */
export async function startVaultStandIn(): Promise<VaultStandIn> {
  let made = 0
  const answer = (response: ServerResponse, status: number, body: object) =>
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
  const server = createServer(TEST_CERTIFICATE, (request, response) => {
    void (async () => {
      const parts: Buffer[] = []
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part)
      const path = (request.url ?? '').replace(/^\/v1\//, '')
      standIn.asked.push(`${request.method} ${path}`)
      standIn.lastHeaders = request.headers
      if (standIn.isSealed) return answer(response, 503, { errors: ['Vault is sealed'] })
      if (path === 'auth/approle/login') {
        const body = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>
        if (body.role_id !== VAULT_ROLE.role_id || body.secret_id !== VAULT_ROLE.secret_id) {
          return answer(response, 400, { errors: ['invalid role or secret ID'] })
        }
        const token = `hvs.${(made += 1)}`
        standIn.tokens.set(token, { ttl: 600, renewable: true })
        return answer(response, 200, { auth: { client_token: token, lease_duration: 600, renewable: true } })
      }
      const token = standIn.tokens.get(String(request.headers['x-vault-token']))
      if (!token) return answer(response, 403, { errors: ['permission denied'] })
      const { ttl, renewable } = token
      if (path === 'auth/token/lookup-self') return answer(response, 200, { data: { ttl, renewable } })
      if (path === 'auth/token/renew-self') return answer(response, 200, { auth: { lease_duration: ttl, renewable } })
      const [, mount, below] = /^(.+?)\/data\/(.+)$/.exec(path) ?? []
      const secret = standIn.secrets.get(decodeURIComponent(`${mount}/${below}`))
      if (secret === undefined) return answer(response, 404, { errors: [] })
      const metadata = { version: 1, deletion_time: secret === null ? '2026-01-01T00:00:00Z' : '' }
      return answer(response, secret === null ? 404 : 200, { data: { data: secret, metadata } })
    })()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const standIn: VaultStandIn = {
    url: `https://localhost:${(server.address() as AddressInfo).port}`,
    secrets: new Map(),
    tokens: new Map(),
    asked: [],
    lastHeaders: {},
    isSealed: false,
    async close() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
  return standIn
}
