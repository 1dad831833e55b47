/** Names, addresses and patterns of hosts, as they may stand in a command line (command-words.ts). */

/** Letters and digits of any script, and the underscore: the inside of a character class. */
export const WORD = '\\p{L}\\p{M}\\p{N}_'

/**
 * `[1:20]`, `[01:20:2]`, `[a:f]`: one host for each number or letter. No text fits two of the alternatives, so that a
 * row of ranges is read in one way only and fast.
 */
const RANGE = '\\[(?:[0-9A-Fa-f]{1,6}:[0-9A-Fa-f]{1,6}|[A-Za-z]:[G-Zg-z])(?::[0-9]{1,4})?\\]'
const RANGES = /\[([0-9a-z]+):([0-9a-z]+)(?::([0-9]+))?\]/giu
const USER = `(?:[${WORD}][${WORD}.+-]*@)?`
const PORT = '(?::[0-9]{1,5})?'
const NAME = `(?:[${WORD}]|${RANGE})(?:[${WORD}.-]|${RANGE})*`
/** At least two colons; hexadecimal numbers or ranges of them, and an IPv4 address at the end. */
const IPV6_TEXT = `(?=(?:[^:\\[]|${RANGE})*:[^\\]]*:)(?:[0-9A-Fa-f]{0,4}|${RANGE})(?::(?:[0-9A-Fa-f]{0,4}|${RANGE})){2,7}(?:\\.[0-9]{1,3}){0,3}(?:%[0-9A-Za-z_.-]{1,32})?`

/** A name or an IPv4 address, or either one or IPv6 in brackets; with ranges, a port, a user. */
export const HOST_NAME = new RegExp(`^${USER}(?:${NAME}${PORT}|\\[(?:${IPV6_TEXT}|${NAME})\\]${PORT})$`, 'u')
/** An IPv6 address without brackets, or a range of such addresses. */
export const IPV6 = new RegExp(`^${IPV6_TEXT}$`, 'u')

/** `*`, `?` and classes of characters in a name, and `[0]`, `[-1]`, `[1:]`, `[1:3]` after the name of a group. */
const CLASS = `\\[!?[${WORD}.-]+\\]`
const SUBSCRIPT = '\\[(?:-?[0-9]{1,6}|[0-9]{1,6}[:-][0-9]{0,6})\\]'
const GLOB = new RegExp(
  `^${USER}(?:[${WORD}.*?]|${CLASS}|${RANGE})(?:[${WORD}.*?-]|${CLASS}|${RANGE})*(?:${SUBSCRIPT})?$`,
  'u',
)
/**
 * What a regular expression (`~…`) may consist of. Groups cannot be repeated and little else can, so that no expression
 * keeps ansible busy for long.
 */
const EXPRESSION = new RegExp(
  `^~(?:[${WORD}-]|\\.|\\\\[.dwDWbB-]|\\[\\^?(?:[${WORD}.-]|\\\\[.dw-])+\\]|(?<!\\()[*+?]|\\((?!\\?)|\\)(?![*+?])|\\||\\^|\\$)+$`,
  'u',
)
const MAX_REPEATS = 3

/** Whether a text is one pattern of hosts or groups; `!` and `&` may stand before it. */
export function isHostPattern(text: string): boolean {
  const pattern = /^[!&]/.test(text) ? text.slice(1) : text
  if (pattern.startsWith('~')) return isBoundedExpression(pattern)
  return GLOB.test(pattern) || HOST_NAME.test(pattern) || IPV6.test(pattern)
}

/** How many hosts a name with ranges stands for. */
export function countOfHosts(host: string): number {
  let count = 1
  for (const [, first = '', last = '', step = '1'] of host.matchAll(RANGES)) {
    count *= Math.max(1, Math.floor((positionOf(last) - positionOf(first)) / Math.max(1, Number(step))) + 1)
  }
  return count
}

/** The position of a range's end. Letters count as hexadecimal digits: the count may be too high, which is fine for a limit. */
function positionOf(end: string): number {
  if (/^[0-9]+$/.test(end)) return Number(end)
  return /^[0-9a-f]+$/i.test(end) ? Number.parseInt(end, 16) : (end.toLowerCase().codePointAt(0) ?? 0)
}

function isBoundedExpression(pattern: string): boolean {
  return EXPRESSION.test(pattern) && (pattern.match(/[*+]/gu)?.length ?? 0) <= MAX_REPEATS
}
