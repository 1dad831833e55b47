import * as v from 'valibot'

/** Lines of a document that hold no value: comments, sections, brackets. */
const STRUCTURE = /^[ \t]*(?:[#;].*|\[[\w ."-]*\]|[[\]{},() \t]*|---|\.\.\.)$/
/** A line that is one pair, whatever its value is. */
const LINE_PAIR =
  /^[ \t]*(?:[-?][ \t]+)*(?:export[ \t]+|set[ \t]+)?["']?([A-Za-z_$][\w$./ -]{0,63}?)["']?[ \t]*(?:=>?|:(?=\s|$|["'[{]))[ \t]*(.*)$/
/** `key = value` and `key: value`, anywhere in a line. The value is quoted, or ends where another pair may begin. */
const PAIR =
  /(?:^|[\s,;{[(?&|"'])([A-Za-z_$][\w$.-]{0,63})["']?[ \t]{0,20}(?:=>?|:(?=[\s"'[{]))[ \t]{0,20}("(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.|'')*'|\{[^{}]*\}|[^\s,;&}\])"']+)/g
/** A text of several lines in YAML begins behind this one. */
const BLOCK_BEGIN = /:[ \t]*[|>][-+0-9]{0,2}[ \t]*$/
const LIST_ITEM = /^[ \t]*-[ \t]+(.*)$/
const URLS = /[A-Za-z][A-Za-z0-9+.-]{1,30}:\/\/[^\s"'<>]+/g
const COMMENTED = /^(?:([^"'\s][^"']*?|"(?:[^"\\]|\\.)*"|'[^']*')[ \t]+[#;].*)$/
const BASE64 = /^[A-Za-z0-9+/_-]{12,}={0,2}$/
const BASE64_LINE = /^\s*[\w+/]+={1,2}\s*$/

/** A key and its value, as they are written. */
export interface Pair {
  readonly key: string
  readonly value: string
}

/** What a line of a document says. */
export type LineKind =
  'structure' | 'other' | ({ readonly kind: 'pair' } & Pair) | { readonly kind: 'item'; readonly value: string }

/** The value of JSON; undefined when the text is none. */
export function jsonOf(text: string): unknown {
  if (!/^[[{"]/.test(text)) return undefined
  const { success, output } = v.safeParse(v.pipe(v.string(), v.parseJson()), text)
  return success ? output : undefined
}

/** Whether most lines are pairs, items of lists, comments or brackets. Otherwise each line is a secret by itself. */
export function isDocument(lines: readonly string[]): boolean {
  let [all, pairs, known, isInBlock] = [0, 0, 0, false]
  for (const line of lines.filter((one) => one.trim() !== '')) {
    all += 1
    isInBlock &&= /^[ \t]/.test(line)
    if (isInBlock || STRUCTURE.test(line) || LIST_ITEM.test(line)) known += 1
    else if (LINE_PAIR.test(line) && !BASE64_LINE.test(line)) pairs += 1
    isInBlock ||= BLOCK_BEGIN.test(line)
  }
  return pairs > 0 && (pairs + known) * 2 > all
}

/** What a line of a document says. */
export function kindOfLine(line: string): LineKind {
  if (STRUCTURE.test(line)) return 'structure'
  const pair = LINE_PAIR.exec(line)
  if (pair !== null) return { kind: 'pair', key: pair[1] ?? '', value: pair[2] ?? '' }
  const item = LIST_ITEM.exec(line)
  return item === null ? 'other' : { kind: 'item', value: item[1] ?? '' }
}

/** The pairs within a line, their values without quotes. */
export function pairsIn(line: string): Pair[] {
  return [...line.matchAll(PAIR)].map(([, key = '', value = '']) => ({ key, value: unquoted(value) }))
}

/** What the rest of a line behind its key may mean: all of it, and without a comment. */
export function valuesOfRest(rest: string): string[] {
  const text = rest.trim().replace(/,$/, '')
  const before = COMMENTED.exec(text)?.[1]
  return [unquoted(text), ...(before === undefined ? [] : [unquoted(before)])]
}

function unquoted(text: string): string {
  const first = text.charAt(0)
  if (text.length < 2 || !text.endsWith(first === '{' ? '}' : first)) return text
  if (first === "'") return text.slice(1, -1).replaceAll("''", "'")
  if (first === '{') return text.slice(1, -1)
  if (first !== '"') return text
  const meant = jsonOf(text)
  return typeof meant === 'string' ? meant : text.slice(1, -1)
}

/** The URLs in a line. */
export function urlsIn(line: string): string[] {
  return [...line.matchAll(URLS)].map(([url]) => url)
}

/** Whether the whole text is a URL. */
export function isUrl(text: string): boolean {
  return /^[A-Za-z][A-Za-z0-9+.-]{1,30}:\/\/\S+$/.test(text)
}

/** The parts of a URL that may be secret. A password may hold signs that should be encoded. */
export function partsOfUrl(url: string): { user: string; password: string; path: string[] } {
  const rest = url.slice(url.indexOf('://') + 3)
  const end = rest.search(/[/?#]/)
  const authority = end < 0 ? rest : rest.slice(0, end)
  const isOpen = !authority.includes('@') && /^[^:[\]]*:(?!\d{1,5}$)/.test(authority)
  const at = isOpen ? rest.lastIndexOf('@') : authority.lastIndexOf('@')
  const login = at < 0 ? '' : rest.slice(0, at)
  const colon = login.indexOf(':')
  const path = rest.slice(at + 1).split(/[?#]/, 1)[0] ?? ''
  return {
    user: colon < 0 ? login : login.slice(0, colon),
    password: colon < 0 ? '' : login.slice(colon + 1),
    path: path.split('/').slice(1),
  }
}

/** The same text when it has no encoded parts, or when they are no UTF-8. */
export function percentDecoded(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

/** The text that base64 holds, if it is one: printable, and long enough that this is no chance. */
export function decodedBase64(text: string): string | null {
  if (!BASE64.test(text)) return null
  const decoded = Buffer.from(text, 'base64').toString('utf8')
  return /^[\P{C}\s]*$/u.test(decoded) && !decoded.includes('\uFFFD') ? decoded : null
}
