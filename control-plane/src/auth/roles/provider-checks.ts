import { isIP } from 'node:net'
import { FilterParser } from 'ldapts'
import { messageOf } from '../../errors.js'
import { readPattern } from '../../texts/pattern-text.js'

/** A mistake in a section, and its place. */
export class SectionProblem extends Error {
  override readonly name = 'SectionProblem'

  constructor(
    readonly path: readonly string[],
    readonly reason: string,
  ) {
    super(reason)
  }
}

/** @throws SectionProblem */
export function checkFilter(path: readonly string[], filter: string | undefined): void {
  if (filter === undefined) return
  try {
    FilterParser.parseString(filter)
  } catch (error) {
    throw new SectionProblem(path, `${path.join('.')} is no filter of LDAP: ${messageOf(error)}`)
  }
}

/** The source of a regular expression; null for none. @throws SectionProblem */
export function patternOf(path: readonly string[], pattern: string | undefined): string | null {
  if (pattern === undefined) return null
  try {
    return readPattern(pattern, 'u').source
  } catch {
    throw new SectionProblem(path, `${path.join('.')} is not a regular expression`)
  }
}

/** @throws SectionProblem for any other protocol */
export function urlOf(path: readonly string[], text: string, protocols: readonly string[]): URL {
  const url = URL.canParse(text) ? new URL(text) : null
  if (url && protocols.includes(url.protocol) && url.hostname !== '') return url
  const examples = protocols.map((protocol) => `${protocol}//host`).join(' or ')
  throw new SectionProblem(path, `${path.join('.')} must be an address such as ${examples}`)
}

/**
 * Refuses a login inside an address, because the address may be logged.
 * @throws SectionProblem, which does not quote it
 */
export function refuseLogin(path: readonly string[], url: URL): void {
  if (url.username === '' && url.password === '') return
  throw new SectionProblem(path, `${path.join('.')} must not hold a name or a password: use a stored credential`)
}

/** An HTTP address. Over a network it needs TLS. @throws SectionProblem */
export function webUrlOf(path: readonly string[], text: string): URL {
  const url = urlOf(path, text, ['https:', 'http:'])
  refuseLogin(path, url)
  if (url.protocol === 'https:' || isLoopback(url)) return url
  throw new SectionProblem(path, `${path.join('.')} must begin with https://`)
}

/** Whether an address never leaves this machine. */
export function isLoopback(url: URL): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '')
  return host === 'localhost' || host === '::1' || (isIP(host) === 4 && host.startsWith('127.'))
}

/** Without the slash at its end. */
export function withoutSlash(url: string): string {
  return url.replace(/\/+$/, '')
}
