import { isExactNumeral } from '@holdfast/protocol'
import { InvalidInputError, TooLargeError } from '../errors.js'
import { MAX_LEVELS, MAX_VALUES } from './value-levels.js'

/** The limits of a JSON text, and the word for it in messages. */
interface JsonLimits {
  readonly noun: string
  readonly levels: number
  readonly values: number
}

/** The values of a launch have a body around them, which is one level more. */
const OF_BODY: JsonLimits = { noun: 'A body', levels: MAX_LEVELS + 1, values: MAX_VALUES }

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
export type JsonBounds = ReturnType<typeof createJsonBounds>

/**
 * Checks a JSON text before anything is made from it. To parse two megabytes of `[],[],…` takes a tenth of a second and
 * a hundred megabytes, and every later step takes as long again.
 */
export function createJsonBounds({ noun, levels, values: most }: JsonLimits = OF_BODY) {
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
    /** @throws TooLargeError with too many values and names, InvalidInputError when it is nested too deep */
    take(bytes: Uint8Array): void {
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
          if (depth > levels) throw tooDeep(noun)
        }
      }
      if (values > most) throw tooMany(noun, most)
    },
    /** The text of the first number that JavaScript would change by reading it; null: there is no such number. */
    inexactNumber(): string | null {
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

function tooDeep(noun: string): InvalidInputError {
  return new InvalidInputError('too_deep', `${noun} may be nested ${MAX_LEVELS} levels deep`)
}

function tooMany(noun: string, most: number): TooLargeError {
  return new TooLargeError('too_many_values', `${noun} may have ${most} values and names together`)
}
