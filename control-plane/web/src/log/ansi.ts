/** The style that SGR escapes have set. Colours are 0 to 15; null: the default colour. */
export interface TextStyle {
  readonly front: number | null
  readonly back: number | null
  readonly bold: boolean
  readonly dim: boolean
  readonly italic: boolean
  readonly underline: boolean
  readonly struck: boolean
  readonly inverse: boolean
}

/** A piece of text with one style. It goes into the page as a text node. */
export interface Piece {
  readonly text: string
  /** Names of classes; empty: no style. */
  readonly look: string
  /** Address of a link, `http:` or `https:` only. */
  readonly link?: string
}

/** Nothing is set. */
export const PLAIN: TextStyle = {
  front: null,
  back: null,
  bold: false,
  dim: false,
  italic: false,
  underline: false,
  struck: false,
  inverse: false,
}

/** Class of a character that stands for a control character. */
const CONTROL_LOOK = 'log-control'

const ESCAPE = 0x1b

/**
 * Characters that must not reach the page as they are: control characters, and those that turn the direction of text and
 * so show other text than what is there. A tab and a zero-width joiner are harmless.
 */

const SPECIAL = /[\u0000-\u0008\u000a-\u001f\u007f-\u009f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]/g

const SEQUENCE = /[[\u009b]([0-?]*)([ -/]*)([@-~])/y

const STRING = /[\]PX^_][^\u0007\u001b]*(?:\u0007|\u001b\\)/y
const SHORT = /[ -/]*[0-OQ-WYZ\\`-~]/y

/** An escape at the end of a text that is not complete there. */
const OPEN_ESCAPE = /(?:\u001b(?:\[[0-?]*[ -/]*|[\]PX^_][^\u0007\u001b]*\u001b?|[ -/]*)|\u009b[0-?]*[ -/]*)$/

/** A longer beginning of an escape is shown as text: it would hide too much of a line. */
const MAX_OPEN_ESCAPE = 1024

const LINK = /\bhttps?:\/\/[^\s"'<>\\^`{|}\u0000-\u001f]+/g

/**
 * Splits one line into pieces. Only SGR escapes have an effect. Every other escape is left out. A control character is
 * shown as a sign, so that no part of a line can be hidden. @param style the style before the line @returns the pieces,
 * and the style after the line
 */
export function parseLine(text: string, style: TextStyle): { readonly pieces: Piece[]; readonly style: TextStyle } {
  const pieces: Piece[] = []
  const line = text.endsWith('\r') ? text.slice(0, -1) : text
  let current = style
  let from = 0
  SPECIAL.lastIndex = 0
  for (let found = SPECIAL.exec(line); found; found = SPECIAL.exec(line)) {
    addText(pieces, line.slice(from, found.index), lookOf(current))
    const escape = escapeAt(line, found.index)
    if (escape) {
      if (escape.sgr !== null) current = styled(current, escape.sgr)
      from = escape.end
    } else {
      pieces.push({ text: signOf(found[0]), look: CONTROL_LOOK })
      from = found.index + 1
    }
    SPECIAL.lastIndex = from
  }
  addText(pieces, line.slice(from), lookOf(current))
  return { pieces, style: current }
}

/** A text that goes on, without the escape at its end of which only the beginning is known. */
export function withoutOpenEscape(text: string): string {
  const open = OPEN_ESCAPE.exec(text)
  return open && open[0].length <= MAX_OPEN_ESCAPE ? text.slice(0, open.index) : text
}

/** The same text as that of the pieces of a line, without their styles and links. */
export function plainTextOf(text: string): string {
  const line = text.endsWith('\r') ? text.slice(0, -1) : text
  let shown = ''
  let from = 0
  SPECIAL.lastIndex = 0
  for (let found = SPECIAL.exec(line); found; found = SPECIAL.exec(line)) {
    shown += line.slice(from, found.index)
    const escape = escapeAt(line, found.index)
    if (!escape) shown += signOf(found[0])
    from = escape?.end ?? found.index + 1
    SPECIAL.lastIndex = from
  }
  return shown + line.slice(from)
}

/** The text of a line as it is shown. */
export function textOf(pieces: readonly Piece[]): string {
  return pieces.map(({ text }) => text).join('')
}

/**
 * The style after these bytes. Only the bytes from the last reset on count. @param bytes the bytes before a line
 */
export function styleAfter(bytes: Uint8Array): TextStyle {
  const later: string[] = []
  for (let at = bytes.lastIndexOf(ESCAPE); at >= 0; at = at === 0 ? -1 : bytes.lastIndexOf(ESCAPE, at - 1)) {
    const sgr = sgrAt(bytes, at)
    if (sgr === null) continue
    later.push(sgr)
    if (/^0*(?:;|$)/.test(sgr)) break
  }
  return later.reduceRight<TextStyle>((style, sgr) => styled(style, sgr), PLAIN)
}

function sgrAt(bytes: Uint8Array, at: number): string | null {
  if (bytes[at + 1] !== 0x5b) return null
  let end = at + 2
  while (isParameter(bytes[end])) end += 1
  return bytes[end] === 0x6d ? String.fromCharCode(...bytes.subarray(at + 2, end)) : null
}

function isParameter(byte: number | undefined): boolean {
  return byte !== undefined && byte >= 0x30 && byte <= 0x3f
}

/** The escape at a place: where it ends, and its numbers when it is SGR; null: this is none. */
function escapeAt(line: string, at: number): { readonly end: number; readonly sgr: string | null } | null {
  const code = line.charCodeAt(at)
  if (code !== ESCAPE && code !== 0x9b) return null
  const start = code === ESCAPE ? at + 1 : at
  SEQUENCE.lastIndex = start
  const sequence = SEQUENCE.exec(line)
  if (sequence) {
    const [, numbers = '', between, final] = sequence
    return { end: SEQUENCE.lastIndex, sgr: final === 'm' && between === '' ? numbers : null }
  }
  if (code !== ESCAPE) return null
  STRING.lastIndex = start
  if (STRING.test(line)) return { end: STRING.lastIndex, sgr: null }
  SHORT.lastIndex = start
  if (SHORT.test(line)) return { end: SHORT.lastIndex, sgr: null }
  // An escape without an end would hide the rest of the line, so it is only a character.
  return null
}

function signOf(character: string): string {
  const code = character.charCodeAt(0)
  if (code < 0x20) return String.fromCharCode(0x2400 + code)
  if (code === 0x7f) return '\u2421'
  return `<U+${code.toString(16).toUpperCase().padStart(4, '0')}>`
}

function addText(pieces: Piece[], text: string, look: string): void {
  if (text === '') return
  let from = 0
  for (const found of text.matchAll(LINK)) {
    const link = found[0].replace(/[.,;:!?)\]]+$/, '')
    if (!isWebAddress(link)) continue
    if (found.index > from) pieces.push({ text: text.slice(from, found.index), look })
    pieces.push({ text: link, look, link })
    from = found.index + link.length
  }
  if (from < text.length) pieces.push({ text: text.slice(from), look })
}

function isWebAddress(link: string): boolean {
  try {
    return ['http:', 'https:'].includes(new URL(link).protocol)
  } catch {
    // Not an address: it stays text.
    return false
  }
}

function lookOf(style: TextStyle): string {
  if (style === PLAIN) return ''
  const [front, back] = style.inverse ? [style.back, style.front] : [style.front, style.back]
  const looks: string[] = []
  if (front !== null) looks.push(`log-f${front}`)
  if (back !== null) looks.push(`log-b${back}`)
  if (style.inverse && style.front === null && style.back === null) looks.push('log-inverse')
  for (const name of ['bold', 'dim', 'italic', 'underline', 'struck'] as const) {
    if (style[name]) looks.push(`log-${name}`)
  }
  return looks.join(' ')
}

/** SGR numbers that set something by themselves. */
const EFFECTS: Readonly<Record<number, Partial<TextStyle>>> = {
  1: { bold: true },
  2: { dim: true },
  3: { italic: true },
  4: { underline: true },
  7: { inverse: true },
  9: { struck: true },
  21: { underline: true },
  22: { bold: false, dim: false },
  23: { italic: false },
  24: { underline: false },
  27: { inverse: false },
  29: { struck: false },
  39: { front: null },
  49: { back: null },
}

function styled(style: TextStyle, sgr: string): TextStyle {
  // Something other than numbers is a private sequence of some terminal.
  if (/[^0-9;:]/.test(sgr)) return style
  const numbers = sgr.split(/[;:]/).map(Number)
  let current = style
  for (let at = 0; at < numbers.length; at += 1) {
    const number = numbers[at] ?? 0
    if (number === 0) current = PLAIN
    else if (number === 38 || number === 48) {
      const [color, taken] = longColor(numbers, at + 1)
      if (color !== null) current = number === 38 ? { ...current, front: color } : { ...current, back: color }
      at += taken
    } else current = { ...current, ...(EFFECTS[number] ?? shortColor(number)) }
  }
  return current
}

function shortColor(number: number): Partial<TextStyle> {
  if (number >= 30 && number <= 37) return { front: number - 30 }
  if (number >= 40 && number <= 47) return { back: number - 40 }
  if (number >= 90 && number <= 97) return { front: number - 82 }
  if (number >= 100 && number <= 107) return { back: number - 92 }
  return {}
}

/** A colour of 256 or of 16 million, as the nearest one of the sixteen that the page has with enough contrast. */
function longColor(numbers: readonly number[], at: number): [color: number | null, taken: number] {
  const [kind, first = 0, second = 0, third = 0] = numbers.slice(at, at + 4)
  if (kind === 2) return [nearest(first, second, third), 4]
  if (kind !== 5) return [null, 0]
  if (first < 16) return [first, 2]
  if (first >= 232) return [nearest(...gray(8 + (first - 232) * 10)), 2]
  const level = (value: number) => (value === 0 ? 0 : 55 + value * 40)
  const cube = first - 16
  return [nearest(level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)), 2]
}

function gray(value: number): [number, number, number] {
  return [value, value, value]
}

function nearest(red: number, green: number, blue: number): number {
  const most = Math.max(red, green, blue)
  if (most < 48) return 0
  const bright = most > 200 ? 8 : 0
  const isOn = (value: number) => value > most * 0.6
  const color = (isOn(red) ? 1 : 0) | (isOn(green) ? 2 : 0) | (isOn(blue) ? 4 : 0)
  return color === 7 && most < 140 ? 8 : color | bright
}
