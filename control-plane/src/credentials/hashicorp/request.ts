import { readFile } from 'node:fs/promises'
import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import { readJson } from '../../texts/json-text.js'
import { foreignText } from '../../secrets/foreign-text.js'

/** A secret of HashiCorp Vault cannot be read. The message is a sentence for people, without secrets. */
export class VaultProblem extends Error {
  override readonly name = 'VaultProblem'
}

/** A request to the API of Vault. */
export interface VaultRequest {
  readonly method: 'GET' | 'POST'
  readonly url: string
  readonly token: string | null
  readonly namespace: string | null
  /** A file with the certificates that are trusted; null: those of the system. */
  readonly caPath: string | null
  readonly body: object | null
}

/** What Vault answered. */
export interface VaultAnswer {
  readonly status: number
  readonly body: Readonly<Record<string, unknown>>
}

const LIMIT_MS = 10_000
const MAX_BYTES = 4 * 1024 * 1024

/** Asks Vault. Redirects are not followed, because only this server may get the token. @throws VaultProblem */
export async function sendToVault(asked: VaultRequest): Promise<VaultAnswer> {
  const url = new URL(asked.url)
  try {
    // The file is read each time, so that a new one is used at once.
    const ca = asked.caPath === null ? {} : { ca: await readFile(asked.caPath) }
    const response = await exchange(url, asked, ca)
    return { status: response.statusCode ?? 0, body: bodyOf(await textOf(response)) }
  } catch (error) {
    throw new VaultProblem(
      `Vault at ${url.origin} cannot be asked: ${foreignText(error, sentSecrets(asked)) || 'no answer'}`,
    )
  }
}

function exchange(url: URL, asked: VaultRequest, ca: { ca?: Buffer }): Promise<IncomingMessage> {
  const body = asked.body === null ? null : JSON.stringify(asked.body)
  const headers = {
    'x-vault-request': 'true',
    ...(asked.token === null ? {} : { 'x-vault-token': asked.token }),
    ...(asked.namespace === null ? {} : { 'x-vault-namespace': asked.namespace }),
    ...(body === null ? {} : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(body)) }),
  }
  const options = { method: asked.method, headers, agent: false, signal: AbortSignal.timeout(LIMIT_MS), ...ca }
  return new Promise((resolve, reject) => {
    const request = url.protocol === 'https:' ? requestHttps(url, options, resolve) : requestHttp(url, options, resolve)
    request.on('error', reject)
    request.end(body ?? undefined)
  })
}

async function textOf(response: IncomingMessage): Promise<string> {
  const parts: Buffer[] = []
  let length = 0
  for await (const part of response as AsyncIterable<Buffer>) {
    length += part.length
    if (length > MAX_BYTES) throw new Error('its answer is too long')
    parts.push(part)
  }
  return Buffer.concat(parts).toString('utf8')
}

/** An answer that is not JSON comes from a proxy or the like. Then its status is enough. */
function bodyOf(text: string): Record<string, unknown> {
  try {
    const value = readJson(text)
    return typeof value === 'object' && value !== null ? { ...value } : {}
  } catch {
    return {}
  }
}

/** The secrets of a request. */
export function sentSecrets({ token, body }: Pick<VaultRequest, 'token' | 'body'>): (string | null)[] {
  return [token, ...Object.values(body ?? {}).map(String)]
}

/** Why Vault refused, in its own words if it sends any. @param secrets those of the request */
export function reasonOf(
  status: number,
  body: Readonly<Record<string, unknown>>,
  secrets: readonly (string | null)[],
): string {
  const errors = Array.isArray(body.errors) ? body.errors.filter((one) => typeof one === 'string') : []
  if (status === 503) return 'it is sealed (503)'
  if (status === 403) return 'permission denied (403)'
  return `${foreignText(errors.join('; '), secrets) || 'it gives no reason'} (${status})`
}

/** Whether this is an object of JSON. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

/** This object, or an empty one when it is not an object. */
export function objectOf(value: unknown): Record<string, unknown> {
  return isObject(value) ? value : {}
}
