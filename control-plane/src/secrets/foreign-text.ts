import { messageOf } from '../errors.js'
import { createSecretFinder } from './secret-finder.js'

/** Longest text of another system that is shown, in characters. */
const MAX_SHOWN = 300
/** Most characters that are looked through for secrets. A text may be as long as an answer. */
const MAX_READ = 20_000
/** How many causes of an error are named. */
const MAX_CAUSES = 3
const MASK = '********'
/** Control characters, and those that turn the direction of a text. */
const UNPRINTABLE = /[\u0000-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]+/g

/**
 * What another system says, for a log, an error or the database. Every text that a server, a driver or a library gives goes
 * through here, because it may repeat what it was sent. It is on one line, and not long.
 * @param said a text, or an error with its causes
 * @param secrets all secrets that the system was sent, also those inside of headers. They are masked as they are, and in the
 *   forms of JSON, URLs, HTML and base64
 */
export function foreignText(said: unknown, secrets: readonly (string | null | undefined)[]): string {
  const text = (typeof said === 'string' ? said : wordsOf(said)).slice(0, MAX_READ)
  const finder = createSecretFinder(secrets.flatMap((secret) => (secret ? [secret, ...sentForms(secret)] : [])))
  // Secrets are looked for first as they were sent, and then once more, because a server may break its lines anywhere.
  const hidden = oneLine(finder.hide(text, MASK))
  const shown = finder.hide(hidden, MASK)
  return shown.length > MAX_SHOWN ? `${shown.slice(0, MAX_SHOWN - 1)}…` : shown
}

/** How a login sends a password beside the forms that every text has. */
function sentForms(secret: string): string[] {
  const bytes = Buffer.from(secret, 'utf8')
  const url = /\p{Surrogate}/u.test(secret) ? [] : [encodeURIComponent(secret)]
  return [bytes.toString('base64'), ...url, ...url.map((form) => form.replaceAll('%20', '+')), bytes.toString('hex')]
}

/** The message of an error, and those of its causes, which often are the only ones that say something. */
function wordsOf(error: unknown): string {
  const words: string[] = []
  let one: unknown = error
  for (let depth = 0; one !== undefined && one !== null && depth <= MAX_CAUSES; depth += 1) {
    const nested = one instanceof AggregateError ? one.errors.slice(0, MAX_CAUSES).map(messageOf) : []
    const { code } = one as { readonly code?: unknown }
    const said = [messageOf(one) || nested.join('; ') || (typeof code === 'string' ? code : '')]
    words.push(...said.filter((text) => text !== '' && !words.some((before) => before.includes(text))))
    // A cause that is no error is a detail for programs.
    one = one instanceof Error && one.cause instanceof Error ? one.cause : undefined
  }
  const [first = '', ...causes] = words
  return causes.length === 0 ? first : `${first} (${causes.join('; ')})`
}

function oneLine(text: string): string {
  return text.replace(UNPRINTABLE, ' ').replace(/\s+/g, ' ').trim()
}
