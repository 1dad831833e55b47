import type { OpenCredential } from '../credentials/stored/credential.js'
import { parseAnswer } from './exact-json.js'
import type { FormRequest, FormResponse, RequestTls } from './http-request.js'
import { SourceProblem } from './question.js'

/** What the functions that ask REST services need of other parts. */
export interface RestNeeds {
  send(request: FormRequest): Promise<FormResponse>
  /** Finds a credential that the form names. @throws SourceProblem */
  credential(name: string): Promise<OpenCredential>
  /** Whether the author wrote this name into the expression. */
  isWritten(name: string): boolean
  jq(value: unknown, filter: string): Promise<unknown>
  readonly signal: AbortSignal
}

type Given = readonly unknown[]

/**
 * `fn.fnRestBasic` and the other functions that ask REST services, by name. Their arguments: method, URL, body, who asks
 * (a credential, a token or headers), jq filter, and whether large numbers become texts. The sort order is not one of them:
 * the sandbox sorts the answer. Secrets are put in here, so no script sees them.
 * @throws SourceProblem
 */
export const REST_FUNCTIONS: Readonly<Record<string, (given: Given, needs: RestNeeds) => Promise<unknown>>> = {
  async fnRestBasic(given, needs) {
    const name = given[3]
    if (isNothing(name)) return ask(given, {}, needs)
    const used = await credentialFor(given, textOf(name, 'the name of the credential'), needs)
    // A client certificate proves who asks. The request needs no header for it.
    const headers: Record<string, string> = used.type === 'certificate' ? {} : { authorization: `Basic ${basic(used)}` }
    return ask(given, headers, needs, tlsOf([used]))
  },
  async fnRestJwt(given, needs) {
    const token = given[3]
    if (isNothing(token)) return ask(given, {}, needs)
    const used: OpenCredential[] = []
    const text = await withSecrets(textOf(token, 'the token'), given, needs, used)
    return ask(given, { authorization: `${prefixOf(given)} ${text}` }, needs, tlsOf(used))
  },
  async fnRestJwtSecure(given, needs) {
    const name = given[3]
    if (isNothing(name)) return ask(given, {}, needs)
    // Some forms give the whole result of fn.fnCredentials.
    const named = typeof name === 'object' && name !== null && 'name' in name ? name.name : name
    const used = await credentialFor(given, textOf(named, 'the name of the credential'), needs)
    return ask(given, { authorization: `${prefixOf(given)} ${secretOf(used)}` }, needs, tlsOf([used]))
  },
  /** The text of a page. Arguments: URL and credential. Its pattern is applied in the sandbox, where no pattern runs long. */
  async fnParseHtmlWithRegex([url, credential], needs) {
    const page = await REST_FUNCTIONS.fnRestBasic?.(['get', url, '', credential], needs)
    return typeof page === 'string' ? page : JSON.stringify(page ?? '')
  },
  async fnRestAdvanced(given, needs) {
    const headers: Record<string, string> = {}
    const used: OpenCredential[] = []
    const asked = given[3]
    if (!isNothing(asked) && (typeof asked !== 'object' || Array.isArray(asked))) {
      throw new SourceProblem('the headers must be an object')
    }
    for (const [name, value] of Object.entries(asked ?? {})) {
      if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) throw new SourceProblem(`${name} is no name of a header`)
      headers[name.toLowerCase()] = await withSecrets(String(value), given, needs, used)
    }
    return ask(given, headers, needs, tlsOf(used), given[6] === true)
  },
}

async function ask(
  given: Given,
  headers: Readonly<Record<string, string>>,
  needs: RestNeeds,
  tls: RequestTls = {},
  isRaw = false,
) {
  const [method, url, body, , filter, hasBigNumbers] = given
  for (const value of Object.values(headers)) {
    // A line break would end the header.
    if (/[\x00-\x08\x0a-\x1f\x7f]/.test(value)) throw new SourceProblem('a header must not hold line breaks')
  }
  const response = await needs.send({
    method: textOf(method, 'the method'),
    url: textOf(url, 'the URL'),
    ...(isNothing(body) ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    headers,
    tls,
    signal: needs.signal,
  })
  const data = dataOf(response, hasBigNumbers === true)
  if (isRaw) return { data, response_headers: response.headers }
  return isNothing(filter) ? data : needs.jq(data, textOf(filter, 'the jq filter'))
}

/** The answer as a value: null when it is empty, else its JSON, or its text when it is no JSON. @throws SourceProblem */
function dataOf({ text, headers }: FormResponse, hasBigNumbers: boolean): unknown {
  if (text.trim() === '') return null
  try {
    return parseAnswer(text, hasBigNumbers)
  } catch {
    if (/\bjson\b/.test(headers['content-type'] ?? ''))
      throw new SourceProblem('the content type of the answer is JSON, but the answer is not valid JSON')
    return text
  }
}

/** `base64(name)`, `username(name)` and `password(name)` in a header stand for parts of a credential. */
const SECRET = /\b(base64|username|password)\(([^()]+)\)/gi

/**
 * Replaces each {@link SECRET} in a text.
 * @param used each credential that was put in is added to it
 */
async function withSecrets(text: string, given: Given, needs: RestNeeds, used: OpenCredential[]): Promise<string> {
  let filled = ''
  let end = 0
  for (const found of text.matchAll(SECRET)) {
    const [all, part = '', name = ''] = found
    // Only the form may write such a text. A person who types it into a field must not get a secret for it.
    if (!needs.isWritten(name.trim())) {
      throw new SourceProblem(`the credential ${name} is not named by the expression of the form`)
    }
    const credential = await credentialFor(given, name.trim(), needs)
    used.push(credential)
    filled += text.slice(end, found.index)
    const kind = part.toLowerCase()
    filled +=
      kind === 'base64' ? basic(credential) : kind === 'username' ? (credential.user ?? '') : secretOf(credential)
    end = found.index + all.length
  }
  return filled + text.slice(end)
}

/** Opens a credential. One that names a host is for that host only, so that no value in a URL sends it somewhere else. */
async function credentialFor(given: Given, name: string, { credential }: RestNeeds): Promise<OpenCredential> {
  const found = await credential(name)
  const url = textOf(given[1], 'the URL')
  const host = URL.canParse(url) ? new URL(url).hostname : null
  if (found.host !== null && found.host.toLowerCase() !== host) {
    throw new SourceProblem(`the credential '${found.name}' is for the host ${found.host} only`)
  }
  return found
}

function basic(credential: OpenCredential): string {
  return Buffer.from(`${credential.user ?? ''}:${secretOf(credential)}`, 'utf8').toString('base64')
}

/** The password or token of a credential. A private key is refused, because it must never be sent. @throws SourceProblem */
function secretOf({ name, type, password }: OpenCredential): string {
  if (type !== 'certificate' && type !== 'ssh') return password
  throw new SourceProblem(`the credential '${name}' is of type ${type} and is no password`)
}

/** What the credentials of a request say about TLS. */
function tlsOf(used: readonly OpenCredential[]): RequestTls {
  const ca = used.map(({ options }) => options.ca).find((one) => one !== undefined)
  const own = used.find(({ type }) => type === 'certificate')
  return {
    ...(ca === undefined ? {} : { ca }),
    ...(own?.options.certificate === undefined ? {} : { cert: own.options.certificate, key: own.password }),
  }
}

function prefixOf(given: Given): string {
  return isNothing(given[6]) ? 'Bearer' : textOf(given[6], 'the prefix of the token')
}

function isNothing(value: unknown): value is null | undefined | '' {
  return value === undefined || value === null || value === ''
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new SourceProblem(`${what} must be a text`)
}
