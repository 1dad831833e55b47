import { randomUUID } from 'node:crypto'

/*
 * Numbers that JavaScript would change. Its numbers have 53 bits, JSON and Python have as many digits as are written.
 * So when JavaScript reads 2^60 + 1 from a JSON text, it gets another number, without an error. Code that reads values
 * for a playbook refuses such numbers by name. Code that shows the results of a playbook keeps their digits.
 */

/** Longest numeral that is checked. Nobody would write a longer one as a number. */
const MAX_NUMERAL_LENGTH = 1000

/** Whether there can be a number in a text that needs a closer look. It may say yes for texts with long digits in strings. */
const SUSPICIOUS = /\d[\d.]{15}|\d[eE]/

const WHOLE = /^-?\d+$/

/**
 * Whether JavaScript has just the number that a numeral of JSON says. Whole numbers are exact up to 2^53. Others are exact when
 * writing them again gives the same value: 0.1 is, and what any program wrote of a double; 1e400 and 30 decimals are not.
 */
export function isExactNumeral(numeral: string): boolean {
  if (numeral.length > MAX_NUMERAL_LENGTH) return false
  const value = Number(numeral)
  if (WHOLE.test(numeral)) return Number.isSafeInteger(value)
  return Number.isFinite(value) && canonical(numeral) === canonical(String(value))
}

/** Digits without zeros around them, and the power of ten of the last one. */
function canonical(numeral: string): string {
  const [, sign = '', whole = '', part = '', power = '0'] =
    /^([+-]?)(\d*)\.?(\d*)(?:[eE]([+-]?\d+))?$/.exec(numeral) ?? []
  const digits = (whole + part).replace(/^0+/, '')
  const kept = digits.replace(/0+$/, '')
  if (kept === '') return '0'
  return `${sign === '-' ? '-' : ''}${kept}e${Number(power) - part.length + digits.length - kept.length}`
}

/** A number of a JSON text that JavaScript would change. */
export interface InexactNumber {
  /** As it is written. */
  readonly numeral: string
  /** Where it stands, such as `extravars.sizes[2]`. */
  readonly path: string
}

/** The first number of a JSON text that JavaScript would change; null: all are exact. Broken JSON may give any answer. */
export function findInexactNumber(text: string): InexactNumber | null {
  if (!SUSPICIOUS.test(text)) return null
  const parsed = parseKept(text)
  if (parsed.mark === null) return null
  const found = findMarked(parsed.value, parsed.mark)
  return found && { numeral: found.text.slice(parsed.mark.length), path: found.path }
}

/** A JSON value in which numbers that JavaScript would change stand as texts: `mark` and then their digits. */
export interface KeptNumbers {
  readonly value: unknown
  /** A random text, so no other text of the value begins with it by chance. Null: all numbers are exact. */
  readonly mark: string | null
}

/**
 * Reads JSON without changing a number.
 * @throws SyntaxError when it is not JSON
 */
export function parseKept(text: string): KeptNumbers {
  if (!SUSPICIOUS.test(text)) return { value: JSON.parse(text) as unknown, mark: null }
  const mark = `number ${randomUUID()} `
  const marked = withMarks(text, mark)
  return { value: JSON.parse(marked ?? text) as unknown, mark: marked === null ? null : mark }
}

/** The JSON text of such a value, or of a part of it, with every number as it was written. */
export function textOfKept(value: unknown, mark: string | null): string {
  const text = JSON.stringify(value)
  return mark === null ? text : text.replace(new RegExp(`"${mark}([^"]*)"`, 'g'), '$1')
}

/** Whether a part of such a value holds a number that JavaScript would change. */
export function holdsKept(value: unknown, mark: string): boolean {
  return findMarked(value, mark) !== null
}

function findMarked(value: unknown, mark: string): { text: string; path: string } | null {
  const waiting: { value: unknown; path: string }[] = [{ value, path: '' }]
  for (let next = waiting.pop(); next; next = waiting.pop()) {
    const { value: part, path } = next
    if (typeof part === 'string' && part.startsWith(mark)) return { text: part, path }
    if (Array.isArray(part)) {
      for (const [at, item] of part.entries()) waiting.push({ value: item, path: `${path}[${at}]` })
    } else if (typeof part === 'object' && part !== null) {
      for (const [key, item] of Object.entries(part)) {
        waiting.push({ value: item, path: path === '' ? key : `${path}.${key}` })
      }
    }
  }
  return null
}

/** The text with every inexact number as a marked string; null when there is none. */
function withMarks(text: string, mark: string): string | null {
  let marked = ''
  let copied = 0
  const numerals = /"|-?\d[\d.eE+-]*/g
  for (let found = numerals.exec(text); found; found = numerals.exec(text)) {
    const [numeral] = found
    if (numeral === '"') {
      const end = endOfString(text, found.index)
      if (end === -1) break
      numerals.lastIndex = end
    } else if (!isExactNumeral(numeral)) {
      marked += `${text.slice(copied, found.index)}"${mark}${numeral}"`
      copied = numerals.lastIndex
    }
  }
  return copied === 0 ? null : marked + text.slice(copied)
}

/** Where a JSON string ends that begins at a quote; -1: nowhere. */
function endOfString(text: string, start: number): number {
  for (let at = start + 1; ; at += 1) {
    at = text.indexOf('"', at)
    if (at === -1) return -1
    let slashes = 0
    while (text.charCodeAt(at - 1 - slashes) === 0x5c) slashes += 1
    if (slashes % 2 === 0) return at + 1
  }
}
