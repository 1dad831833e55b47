/** A number in JSON, or a text, which is passed over. */
const TEXT_OR_NUMBER = /"(?:[^"\\]|\\.)*"|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g

/**
 * Reads JSON. Whole numbers that JavaScript cannot hold become texts when that is asked for; otherwise they lose digits,
 * as everywhere in JavaScript.
 * @throws SyntaxError
 */
export function parseAnswer(text: string, withBigNumbers: boolean): unknown {
  if (!withBigNumbers) return JSON.parse(text) as unknown
  const quoted = text.replace(TEXT_OR_NUMBER, (found) =>
    /^-?\d+$/.test(found) && !Number.isSafeInteger(Number(found)) ? `"${found}"` : found,
  )
  return JSON.parse(quoted) as unknown
}
