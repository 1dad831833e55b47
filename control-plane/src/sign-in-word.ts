import { createHash } from 'node:crypto'

/** Letters and digits that do not look alike. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/**
 * A word such as `K7QF-3MXA`. The terminal and the browser both show it during a sign-in. So people see that both
 * belong together. It is no secret.
 * @param challenge the one that the program announced
 */
export function signInWord(challenge: string): string {
  const bytes = createHash('sha256').update(`holdfast sign-in word ${challenge}`).digest().subarray(0, 8)
  const letters = [...bytes].map((byte) => LETTERS[byte % LETTERS.length]).join('')
  return `${letters.slice(0, 4)}-${letters.slice(4)}`
}
