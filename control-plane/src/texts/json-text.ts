import { createJsonBounds } from './json-bounds.js'
import { MAX_LEVELS } from './value-levels.js'

/** Most values and names of a file or of an answer of a source. A filter of jq may take a small part of it. */
const MAX_VALUES_OF_SOURCE = 1_000_000

/**
 * Reads the JSON text of a file, or of an answer of a source. It is counted first, as the bodies of requests are: eight
 * megabytes of `[[[[…` become hundreds of megabytes of lists, and each step after that would need the stack for them.
 * @throws SyntaxError, InvalidInputError when it is nested too deep, TooLargeError with too many values
 */
export function readJson(text: string): unknown {
  const bounds = createJsonBounds({ noun: 'The text', levels: MAX_LEVELS, values: MAX_VALUES_OF_SOURCE })
  bounds.take(Buffer.from(text))
  return JSON.parse(text) as unknown
}
