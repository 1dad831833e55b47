const HEX = '[0-9a-fA-F]'
const CODES = `(?:\\\\x${HEX}{2})+|(?:\\\\[0-3][0-7]{2})+|\\\\u\\{${HEX}{1,6}\\}|\\\\u${HEX}{4}|\\\\U${HEX}{8}`
const BACKSLASH = new RegExp(`${CODES}|\\\\[^\\n]`, 'g')
const EVERY = new RegExp(
  `${CODES}|\\\\[^\\n%&]|(?:%${HEX}{2})+|&(?:#[0-9]{1,7}|#[xX]${HEX}{1,6}|amp|lt|gt|quot|apos|nbsp);|'"'"'|'\\\\''|''|""`,
  'g',
)
const SIMPLE: Readonly<Record<string, string>> = { n: '\n', r: '\r', t: '\t', b: '\b', f: '\f', v: '\v', e: '\x1b' }
const NAMED: Readonly<Record<string, string>> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00A0' }
/** JSON may stand in JSON, and all of it in a URL. */
const DEPTH = 4
const MAX_CODE_POINT = 0x10_ff_ff

/**
 * A text as it is, with its escapes read once and several times, and without the ends of its lines. A secret may be
 * written as JSON, for a shell, in a URL or in HTML, also several of these at once.
 */
export function readingsOf(text: string): Set<string> {
  const readings = new Set<string>([text])
  for (const escapes of [BACKSLASH, EVERY]) {
    let reading = text
    for (let level = 0; level < DEPTH; level += 1) {
      const next = reading.replace(escapes, meaningOf)
      if (next === reading) break
      readings.add(next)
      reading = next
    }
  }
  // A backslash before each letter means no escape of a letter.
  if (/(?:\\{1,8}[^\\\n]){4}/.test(text)) readings.add(text.replaceAll(/\\(.)/g, '$1'))
  for (const reading of [...readings]) readings.add(reading.replaceAll(/\\?\r?\n[ \t]*/g, ''))
  return readings
}

function meaningOf(escape: string): string {
  switch (escape.charAt(0)) {
    case '%':
      return ofBytes(escape.replaceAll('%', ''))
    case '&':
      return ofHtml(escape.slice(1, -1))
    case '\\':
      return ofBackslash(escape)
    default:
      return escape.charAt(0)
  }
}

function ofBackslash(escape: string): string {
  const letter = escape.charAt(1)
  const rest = escape.slice(2)
  if (rest === '') return SIMPLE[letter] ?? letter
  if (letter === 'x') return ofBytes(escape.replaceAll(String.raw`\x`, ''))
  if (letter === 'u' || letter === 'U') return ofCodePoint(Number.parseInt(rest.replace('{', ''), 16))
  const codes = escape.slice(1).split('\\')
  return ofBytes(codes.map((code) => Number.parseInt(code, 8).toString(16).padStart(2, '0')).join(''))
}

function ofHtml(name: string): string {
  if (!name.startsWith('#')) return NAMED[name] ?? ''
  const isHex = /^#x/i.test(name)
  return ofCodePoint(Number.parseInt(name.slice(isHex ? 2 : 1), isHex ? 16 : 10))
}

/** Bytes of UTF-8, or letters with such small codes. */
function ofBytes(hex: string): string {
  const bytes = Buffer.from(hex, 'hex')
  const text = bytes.toString('utf8')
  return text.includes('\uFFFD') ? bytes.toString('latin1') : text
}

function ofCodePoint(code: number): string {
  return code <= MAX_CODE_POINT ? String.fromCodePoint(code) : ''
}
