import type { OpenCredential } from '../credentials/stored/credential.js'
import { HoldfastError } from '../errors.js'
import { type AskedName, namesAt, secretPlaces } from './credential-names.js'
import { parseAnswer } from './exact-json.js'
import type { FormRequest, FormResponse, RequestTls } from './http-request.js'
import { type Origins, type SourcedText, pointerOf, sourcedText, untypedLength } from './origins.js'
import { SourceProblem } from './question.js'

/** A call of a function that asks a REST service. */
export interface RestCall {
  readonly given: readonly unknown[]
  /** Who made the texts in `given`. */
  readonly origins: Origins
}

/** What the functions that ask REST services need of other parts. */
export interface RestNeeds {
  send(request: FormRequest): Promise<FormResponse>
  /** Opens the first credential that exists. @throws SourceProblem */
  credential(names: readonly AskedName[]): Promise<OpenCredential>
  jq(value: unknown, filter: SourcedText): Promise<unknown>
  readonly signal: AbortSignal
}

/**
 * `fn.fnRestBasic` and the other functions that ask REST services, by name. Their arguments: method, URL, body, who asks
 * (a credential, a token or headers), jq filter, and whether large numbers become texts. The sort order is not one of them:
 * the sandbox sorts the answer. Secrets are put in here, so no script sees them.
 * @throws SourceProblem
 */
export const REST_FUNCTIONS: Readonly<Record<string, (call: RestCall, needs: RestNeeds) => Promise<unknown>>> = {
  async fnRestBasic(call, needs) {
    if (isNothing(call.given[3])) return ask(call, {}, needs)
    const used = await namedCredential(call, needs)
    // A client certificate proves who asks. The request needs no header for it.
    const headers: Record<string, string> = used.type === 'certificate' ? {} : { authorization: `Basic ${basic(used)}` }
    return ask(call, headers, needs, tlsOf([used]))
  },
  async fnRestJwt(call, needs) {
    if (isNothing(call.given[3])) return ask(call, {}, needs)
    const token = sourcedText(textOf(call.given[3], 'the token'), call.origins, '/3')
    const { text, used } = await withSecrets(token, call, needs)
    return ask(call, { authorization: `${prefixOf(call)} ${text}` }, needs, tlsOf(used))
  },
  async fnRestJwtSecure(call, needs) {
    if (isNothing(call.given[3])) return ask(call, {}, needs)
    const used = await namedCredential(call, needs)
    return ask(call, { authorization: `${prefixOf(call)} ${secretOf(used)}` }, needs, tlsOf([used]))
  },
  /** The text of a page. Arguments: URL and credential. Its pattern is applied in the sandbox, where no pattern runs long. */
  async fnParseHtmlWithRegex({ given: [url, credential], origins }, needs) {
    const { '/0': ofUrl = [], '/1': ofCredential = [] } = origins.parts
    const asked = {
      given: ['get', url, '', credential],
      origins: { ...origins, parts: { '/1': ofUrl, '/3': ofCredential } },
    }
    const page = await REST_FUNCTIONS.fnRestBasic?.(asked, needs)
    return typeof page === 'string' ? page : JSON.stringify(page ?? '')
  },
  async fnRestAdvanced(call, needs) {
    const headers: Record<string, string> = {}
    const allUsed: OpenCredential[] = []
    const asked = call.given[3]
    if (!isNothing(asked) && (typeof asked !== 'object' || Array.isArray(asked))) {
      throw new SourceProblem('the headers must be an object')
    }
    for (const [name, value] of Object.entries(asked ?? {})) {
      if (!/^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/.test(name)) throw new SourceProblem(`${name} is no name of a header`)
      const header = sourcedText(String(value), call.origins, pointerOf([3, name]))
      const { text, used } = await withSecrets(header, call, needs)
      headers[name.toLowerCase()] = text
      allUsed.push(...used)
    }
    return ask(call, headers, needs, tlsOf(allUsed), call.given[6] === true)
  },
}

async function ask(
  { given, origins }: RestCall,
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
  return isNothing(filter) ? data : needs.jq(data, sourcedText(textOf(filter, 'the jq filter'), origins, '/4'))
}

/** The answer as a value: null when it is empty, else its JSON, or its text when it is no JSON. @throws SourceProblem */
function dataOf({ text, headers }: FormResponse, hasBigNumbers: boolean): unknown {
  if (text.trim() === '') return null
  try {
    return parseAnswer(text, hasBigNumbers)
  } catch (error) {
    if (error instanceof HoldfastError) throw new SourceProblem(`the answer cannot be used: ${error.message}`)
    if (/\bjson\b/.test(headers['content-type'] ?? ''))
      throw new SourceProblem('the content type of the answer is JSON, but the answer is not valid JSON')
    return text
  }
}

/** Puts the parts of credentials into a text, at the places that its author wrote. */
async function withSecrets(
  given: SourcedText,
  call: RestCall,
  needs: RestNeeds,
): Promise<{ readonly text: string; readonly used: readonly OpenCredential[] }> {
  const used: OpenCredential[] = []
  let text = ''
  let end = 0
  for (const place of secretPlaces(given)) {
    const credential = await credentialFor(call, [place], needs)
    used.push(credential)
    text += given.text.slice(end, place.from)
    if (place.kind === 'base64') text += basic(credential)
    else text += place.kind === 'username' ? (credential.user ?? '') : secretOf(credential)
    end = place.to
  }
  return { text: text + given.text.slice(end), used }
}

/** The credential that the fourth argument names: its name, or the whole result of `fn.fnCredentials`. */
function namedCredential(call: RestCall, needs: RestNeeds): Promise<OpenCredential> {
  const [, , , named] = call.given
  const names = namesAt(named, call.origins, '/3')
  if (typeof named !== 'string' && names.length === 0) textOf(null, 'the name of the credential')
  return credentialFor(call, names, needs)
}

/**
 * Opens a credential for a request. One that names a host is for that host only. One without a host goes only where no
 * person could choose: a value that somebody typed may not decide which server gets a secret.
 */
async function credentialFor(call: RestCall, names: readonly AskedName[], needs: RestNeeds): Promise<OpenCredential> {
  const found = await needs.credential(names)
  const url = sourcedText(textOf(call.given[1], 'the URL'), call.origins, '/1')
  const asked = URL.canParse(url.text) ? new URL(url.text) : null
  if (found.host !== null && found.host.toLowerCase() !== asked?.hostname) {
    throw new SourceProblem(`the credential '${found.name}' is for the host ${found.host} only`)
  }
  if (asked === null || isServerUntyped(url, asked)) return found
  if (found.host !== null && isOwnPort(asked, found.port)) return found
  throw new SourceProblem(
    `a value that somebody typed decides which server gets the credential '${found.name}': write the server into the expression, offer it as a choice, or set the host and port of the credential`,
  )
}

/** Whether nobody typed the beginning of a URL, up to the end of its server. */
function isServerUntyped(url: SourcedText, asked: URL): boolean {
  const length = untypedLength(url)
  if (length === url.text.length) return true
  const beginning = /^\s*https?:\/\/[^/\\?#\s]+[/\\?#]/i.exec(url.text.slice(0, length))?.[0]
  return beginning !== undefined && URL.canParse(beginning) && new URL(beginning).origin === asked.origin
}

/** Whether a URL goes to the port of a credential: the one that it names, or the usual port of https. */
function isOwnPort(asked: URL, port: number | null): boolean {
  if (asked.protocol !== 'https:') return false
  return Number(asked.port === '' ? 443 : asked.port) === (port ?? 443)
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

function prefixOf({ given }: RestCall): string {
  return isNothing(given[6]) ? 'Bearer' : textOf(given[6], 'the prefix of the token')
}

function isNothing(value: unknown): value is null | undefined | '' {
  return value === undefined || value === null || value === ''
}

function textOf(value: unknown, what: string): string {
  if (typeof value === 'string') return value
  throw new SourceProblem(`${what} must be a text`)
}
