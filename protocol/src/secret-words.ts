import { isNothing, isPlainValue, isSecretKey } from './plain-values.js'
import {
  decodedBase64,
  isDocument,
  isUrl,
  jsonOf,
  kindOfLine,
  pairsIn,
  partsOfUrl,
  percentDecoded,
  urlsIn,
  valuesOfRest,
} from './secret-syntax.js'

/** Shortest word that is hidden, in characters. A shorter one would be found everywhere. */
export const SHORTEST_HIDDEN = 4
/** Shortest value that is hidden inside of a secret when its key does not say that it is one. */
const SHORTEST_INNER = 8
/** JSON in a value of YAML, a URL in that: deeper values are not looked for. */
const MAX_DEPTH = 4
const MAX_WORDS = 2000
const MAX_NODES = 20_000

const LOGIN = /^([^\s:=/]{1,100}):(\S+)$/
const PGPASS = /^[^:\s]{1,255}:(?:\d{1,5}|\*):[^:]{1,100}:[^:]{1,100}:(.+)$/
const NETRC = /^(?:#.*\s+)*(?:machine\s+\S+|default)\s+(?:login|password|account)\s/
const NETRC_PASSWORD = /(?:^|\s)(?:password|passwd|account)\s+(\S+)/g
const SCHEME = /^(?:Basic|Bearer|Token|Digest|ApiKey)\s+(\S+)$/i

/** The words that were found, and how many places were looked at. */
interface Found {
  readonly words: Set<string>
  nodes: number
}

/**
 * Every text to hide because of a secret: the secret itself first, its lines, and the values in it if it is JSON, YAML,
 * `NAME=value`, a URL with a login, `user:password` or the like. Names and ordinary words in it are not hidden.
 */
export function wordsOfSecret(secret: string): string[] {
  const found: Found = { words: new Set(), nodes: 0 }
  add(found, secret)
  explore(found, secret.trim(), 0)
  return [...found.words]
}

function add({ words }: Found, word: string): void {
  const trimmed = word.trim()
  if (trimmed.length >= SHORTEST_HIDDEN && words.size < MAX_WORDS) words.add(trimmed)
}

/** A value that stands under a key; no key: ''. */
function take(found: Found, key: string, value: string, depth: number): void {
  const text = value.trim()
  if (isSecretKey(key) ? !isNothing(text) : isSecretValue(text)) add(found, text)
  explore(found, text, depth + 1)
}

function isSecretValue(text: string): boolean {
  return text.length >= SHORTEST_INNER && !isUrl(text) && !isPlainValue(text)
}

/** A value that is a password because of its place. */
function takePassword(found: Found, password: string | undefined, depth: number): void {
  if (password === undefined || isNothing(password)) return
  add(found, password)
  if (!LOGIN.test(password)) explore(found, password.trim(), depth + 1)
}

function explore(found: Found, text: string, depth: number): void {
  found.nodes += 1
  if (depth > MAX_DEPTH || found.nodes > MAX_NODES || text.length < SHORTEST_HIDDEN) return
  const json = jsonOf(text)
  if (json !== undefined) {
    exploreJson(found, json, depth)
    return
  }
  if (NETRC.test(text)) {
    for (const [, password] of text.matchAll(NETRC_PASSWORD)) takePassword(found, password, depth)
    return
  }
  const lines = text.split(/\r?\n/)
  if (lines.length === 1) exploreLine(found, text, depth)
  else if (isDocument(lines)) exploreDocument(found, lines, depth)
  else for (const line of lines) exploreSecretLine(found, line, depth)
}

function exploreJson(found: Found, root: unknown, depth: number): void {
  const waiting: { key: string; value: unknown }[] = [{ key: '', value: root }]
  for (let one = waiting.pop(); one !== undefined && found.nodes <= MAX_NODES; one = waiting.pop()) {
    found.nodes += 1
    const { key, value } = one
    if (typeof value === 'string' || typeof value === 'number') take(found, key, String(value), depth)
    else if (Array.isArray(value)) for (const entry of value) waiting.push({ key, value: entry })
    else if (typeof value === 'object' && value !== null) {
      for (const [name, entry] of Object.entries(value)) waiting.push({ key: name, value: entry })
    }
  }
}

function exploreDocument(found: Found, lines: readonly string[], depth: number): void {
  let key = ''
  for (const line of lines) {
    const kind = kindOfLine(line)
    if (kind === 'structure') continue
    if (kind === 'other') {
      exploreSecretLine(found, line, depth)
      continue
    }
    if (kind.kind === 'pair') key = kind.key
    for (const value of valuesOfRest(kind.value)) take(found, key, value, depth)
    exploreInside(found, line, depth)
  }
}

/** A line that is a secret by itself. The first and the last line of a key are the same for every key. */
function exploreSecretLine(found: Found, line: string, depth: number): void {
  if (line.trim().startsWith('-----')) return
  add(found, line)
  explore(found, line.trim(), depth + 1)
}

function exploreLine(found: Found, line: string, depth: number): void {
  const kind = kindOfLine(line)
  const isPair = typeof kind === 'object' && kind.kind === 'pair'
  if (isPair) for (const value of valuesOfRest(kind.value)) take(found, kind.key, value, depth)
  exploreInside(found, line, depth)
  takePassword(found, SCHEME.exec(line)?.[1], depth)
  // Nobody makes a secret of a host and its port. Inside of a secret there may be one.
  const isOther = isPair || isUrl(line) || (depth > 0 && isPlainValue(line))
  const login = PGPASS.exec(line)?.[1] ?? (isOther ? undefined : LOGIN.exec(line)?.[2])
  takePassword(found, login, depth)
  const decoded = decodedBase64(line)
  if (decoded !== null) take(found, '', decoded, depth)
}

/** Pairs and URLs, wherever they stand in a line. */
function exploreInside(found: Found, line: string, depth: number): void {
  for (const { key, value } of pairsIn(line)) {
    for (const one of [value, percentDecoded(value)]) take(found, key, one, depth)
  }
  for (const url of urlsIn(line)) {
    const { user, password, path } = partsOfUrl(url)
    for (const one of [password, percentDecoded(password)]) takePassword(found, one, depth)
    for (const part of [user, ...path].flatMap((one) => [one, percentDecoded(one)])) {
      if (isSecretValue(part)) add(found, part)
    }
  }
}
