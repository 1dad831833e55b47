import { type Origins, type SourcedText, isWritten, pointerOf, sourcedSlice, sourcedText } from './origins.js'
import type { Question } from './question.js'

/** The name of a credential in a question. */
export interface AskedName {
  readonly name: string
  /** The author of the form wrote it. If not, whoever asks needs a role that allows it. */
  readonly isWritten: boolean
}

/** Where an argument of a function of forms names credentials, or holds parts of them such as `password(name)`. */
const ARGUMENTS: Readonly<Record<string, { readonly names?: readonly number[]; readonly secrets?: number }>> = {
  fnRestBasic: { names: [3] },
  fnRestJwtSecure: { names: [3] },
  fnParseHtmlWithRegex: { names: [1] },
  fnCredentials: { names: [0, 1] },
  fnRestJwt: { secrets: 3 },
  fnRestAdvanced: { secrets: 3 },
}

/** `base64(name)`, `username(name)` and `password(name)` in a header stand for parts of a credential. */
const SECRET = /\b(base64|username|password)\(([^()]+)\)/gi

/** A place in a text where a part of a credential goes. */
export interface SecretPlace extends AskedName {
  readonly kind: 'base64' | 'username' | 'password'
  readonly from: number
  readonly to: number
}

/**
 * The places of a text where parts of credentials go. The author of the form wrote each of them. A value that reads like
 * one is text and nothing else.
 */
export function secretPlaces(text: SourcedText): SecretPlace[] {
  return [...text.text.matchAll(SECRET)].flatMap((found) => {
    const [all, kind = '', name = ''] = found
    const from = found.index
    const to = from + all.length
    if (!isWritten(sourcedSlice(text, from, from + kind.length + 1))) return []
    const wholeIsWritten = isWritten(sourcedSlice(text, from, to))
    return [{ kind: kind.toLowerCase() as SecretPlace['kind'], name: name.trim(), from, to, isWritten: wholeIsWritten }]
  })
}

/** The names in a text, with commas between them, each once. */
function namesIn(text: SourcedText): AskedName[] {
  const names = new Map<string, boolean>()
  for (const { index, 0: found } of text.text.matchAll(/[^,]+/g)) {
    const name = found.trim()
    if (name === '') continue
    const from = index + found.indexOf(name)
    const isOne = isWritten(sourcedSlice(text, from, from + name.length))
    // One that stands twice is written if each of them is.
    names.set(name, isOne && (names.get(name) ?? true))
  }
  return [...names].map(([name, isOne]) => ({ name, isWritten: isOne }))
}

/**
 * The names in an argument that names credentials: a text, or what `fn.fnCredentials` gave. The latter has a placeholder for
 * its secret, which counts as written: only the service can have made it.
 */
export function namesAt(argument: unknown, origins: Origins, pointer: string): AskedName[] {
  if (typeof argument === 'string') return namesIn(sourcedText(argument, origins, pointer))
  if (typeof argument !== 'object' || argument === null) return []
  const { name, password } = argument as { readonly name?: unknown; readonly password?: unknown }
  if (typeof password === 'string') {
    const made = secretPlaces(sourcedText(password, origins, `${pointer}/password`)).filter((one) => one.isWritten)
    if (made.length > 0) return made.map((one) => ({ name: one.name, isWritten: true }))
  }
  return typeof name === 'string' ? namesIn(sourcedText(name, origins, `${pointer}/name`)) : []
}

/**
 * All names of credentials in a question. What opens credentials, what refuses them and the key of the cache use the same
 * names.
 */
export function namesAskedIn(question: Question): AskedName[] {
  const { origins } = question
  if (question.kind === 'query') {
    return textsWithPaths(question.config)
      .filter(([, path]) => path.at(-1) !== 'type')
      .flatMap(([text, path]) => namesIn(sourcedText(text, origins, pointerOf(path))))
  }
  const places = Object.hasOwn(ARGUMENTS, question.name) ? ARGUMENTS[question.name] : undefined
  const named = (places?.names ?? []).flatMap((at) => namesAt(question.given[at], origins, pointerOf([at])))
  const at = places?.secrets
  if (at === undefined) return named
  return textsWithPaths(question.given[at], [at]).flatMap(([text, path]) =>
    secretPlaces(sourcedText(text, origins, pointerOf(path))),
  )
}

/** Most levels of `dbConfig` and of headers in which names are looked for. */
const MAX_LEVELS = 5

/** The texts of a value with the paths to them. */
function textsWithPaths(
  value: unknown,
  path: readonly (string | number)[] = [],
): (readonly [string, readonly (string | number)[]])[] {
  if (typeof value === 'string') return [[value, path]]
  if (typeof value !== 'object' || value === null || path.length >= MAX_LEVELS) return []
  return Object.entries(value).flatMap(([key, entry]) => textsWithPaths(entry, [...path, key]))
}
