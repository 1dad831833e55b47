import { readJson } from '../texts/json-text.js'

/** A text or a number in JSON. Texts are matched so that the digits in them are not taken for numbers. */
const TEXT_OR_NUMBER = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * Reads JSON.
 * @param withBigNumbers true: whole numbers that JavaScript cannot hold become texts. False: such numbers lose digits
 * @throws SyntaxError, InvalidInputError and TooLargeError as {@link readJson}
 */
export function parseAnswer(text: string, withBigNumbers: boolean): unknown {
  if (!withBigNumbers) return readJson(text)
  const quoted = text.replace(TEXT_OR_NUMBER, (found) =>
    /^-?\d+$/.test(found) && !Number.isSafeInteger(Number(found)) ? `"${found}"` : found,
  )
  return readJson(quoted)
}
