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

/** Counts what a JSON text holds while its bytes come. Whether it is JSON at all is for the parser to see. */
export interface JsonBounds {
  /** @throws TooLargeError with too many values and names, InvalidInputError when it is nested too deep */
  take(bytes: Uint8Array): void
}

/**
 * Looks at a JSON text before anything is made of it: two megabytes of `[],[],…` take a tenth of a second and a
 * hundred megabytes to parse, and every later step takes as long again.
 */
export function createJsonBounds(): JsonBounds {
  let values = 1
  let depth = 0
  let isText = false
  let isEscaped = false
  return {
    take(bytes) {
      // By index: an iterator takes ten times as long.
      for (let at = 0; at < bytes.length; at += 1) {
        const byte = bytes[at]
        if (isText) {
          if (isEscaped) isEscaped = false
          else if (byte === BACKSLASH) isEscaped = true
          else if (byte === QUOTE) isText = false
          continue
        }
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
  }
}

function tooDeep(): InvalidInputError {
  return new InvalidInputError('too_deep', `A body may be nested ${MAX_DEPTH - 1} levels deep`)
}

function tooMany(): TooLargeError {
  return new TooLargeError('too_many_values', `A body may have ${MAX_VALUES} values and names together`)
}
