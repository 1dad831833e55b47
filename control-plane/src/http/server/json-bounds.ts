import { isExactNumeral } from '@holdfast/protocol'
import { InvalidInputError, TooLargeError } from '../../errors.js'

/**
 * Most values and names of one JSON text. A launch with all rows that a form accepts (500 with 20 columns, sent twice)
 * has 40,000. Every step of a launch goes through all of them.
 */
const MAX_VALUES = 50_000
/** Most levels of objects and lists: those of a launch, and the body around them. */
const MAX_DEPTH = 101

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_LIST = 0x5b
const BACKSLASH = 0x5c
const CLOSE_LIST = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const MINUS = 0x2d
const PLUS = 0x2b
const POINT = 0x2e
const ZERO = 0x30
const NINE = 0x39
const BIG_E = 0x45
const SMALL_E = 0x65

/** Numbers with fewer characters, and without a power of ten, are exact in any case. */
const SHORT_NUMERAL = 16
/** Most characters of a number that are kept. A longer number is refused in any case. */
const MAX_NUMERAL_LENGTH = 1001

/**
 * Counts the values of a JSON text while its bytes arrive. It does not check whether the text is JSON. The parser does
 * that.
 */
export interface JsonBounds {
  /** @throws TooLargeError with too many values and names, InvalidInputError when it is nested too deep */
  take(bytes: Uint8Array): void
  /** The text of the first number that JavaScript would change by reading it; null: there is no such number. */
  inexactNumber(): string | null
}

/**
 * Checks a JSON text before anything is made from it. To parse two megabytes of `[],[],…` takes a tenth of a second and
 * a hundred megabytes, and every later step takes as long again.
 */
export function createJsonBounds(): JsonBounds {
  let values = 1
  let depth = 0
  let isText = false
  let isEscaped = false
  let numeral = ''
  let inexact: string | null = null
  const endNumeral = () => {
    if (inexact === null && (numeral.length >= SHORT_NUMERAL || /e/i.test(numeral)) && !isExactNumeral(numeral)) {
      inexact = numeral
    }
    numeral = ''
  }
  return {
    take(bytes) {
      // A loop by index, because an iterator takes ten times as long.
      for (let at = 0; at < bytes.length; at += 1) {
        const byte = bytes[at]
        if (isText) {
          if (isEscaped) isEscaped = false
          else if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) isText = false
          continue
        }
        if (isOfNumeral(byte)) {
          if (numeral.length < MAX_NUMERAL_LENGTH && (numeral !== '' || byte !== SMALL_E)) {
            numeral += String.fromCharCode(byte as number)
          }
          continue
        }
        if (numeral !== '') endNumeral()
        if (byte === QUOTE) isText = true
        else if (byte === COMMA || byte === COLON) values += 1
        else if (byte === CLOSE_OBJECT || byte === CLOSE_LIST) depth -= 1
        else if (byte === OPEN_OBJECT || byte === OPEN_LIST) {
          depth += 1
          values += 1
          if (depth > MAX_DEPTH) throw tooDeep()
        }
      }
      if (values > MAX_VALUES) throw tooMany()
    },
    inexactNumber() {
      if (numeral !== '') endNumeral()
      return inexact
    },
  }
}

/** The characters of numbers. The `e` of true and false is among them, but no number begins with it. */
function isOfNumeral(byte: number | undefined): boolean {
  if (byte === undefined || byte < PLUS) return false
  if (byte <= NINE) return byte >= ZERO || byte === MINUS || byte === POINT || byte === PLUS
  return byte === SMALL_E || byte === BIG_E
}

function tooDeep(): InvalidInputError {
  return new InvalidInputError('too_deep', `A body may be nested ${MAX_DEPTH - 1} levels deep`)
}

function tooMany(): TooLargeError {
  return new TooLargeError('too_many_values', `A body may have ${MAX_VALUES} values and names together`)
}
