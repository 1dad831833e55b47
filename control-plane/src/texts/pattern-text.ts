import { MAX_LEVELS } from './value-levels.js'

/** Most characters of one regular expression. One for an address of IPv6 has 1300. */
const MAX_PATTERN_LENGTH = 10_000

/** A regular expression that cannot be used. The message says why, in a few words. */
export class PatternProblem extends Error {
  override readonly name = 'PatternProblem'
}

/**
 * Makes a regular expression of a text that somebody wrote into a file or a setting. V8 compiles it with one recursion
 * for each group. Too many groups in groups end the whole process, at the first use and without an error.
 * @throws PatternProblem
 */
export function readPattern(text: string, flags = ''): RegExp {
  if (text.length > MAX_PATTERN_LENGTH) {
    throw new PatternProblem(`the pattern is longer than ${MAX_PATTERN_LENGTH} characters`)
  }
  if (levelsOf(text) > MAX_LEVELS) throw new PatternProblem(`its groups are nested deeper than ${MAX_LEVELS} levels`)
  try {
    return new RegExp(text, flags)
  } catch (error) {
    throw new PatternProblem(error instanceof Error ? error.message : String(error))
  }
}

/** How many groups are open at the same time. A bracket in a class of characters, or after a backslash, opens none. */
function levelsOf(text: string): number {
  let [open, most, isClass] = [0, 0, false]
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at]
    if (char === '\\') at += 1
    else if (isClass) isClass = char !== ']'
    else if (char === '[') isClass = true
    else if (char === '(') most = Math.max(most, (open += 1))
    else if (char === ')') open -= 1
  }
  return most
}
