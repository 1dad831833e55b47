import { createHash } from 'node:crypto'

/** Without letters and digits that look alike. */
const LETTERS = 'ABCDEFGHJKLMNPQRSTUVWXYZ23456789'

/**
 * A word that the terminal of a sign-in and the browser show, so that people see that both are about the same one:
 * `K7QF-3MXA`. It is no secret.
 * @param challenge that the program announced
 */
export function signInWord(challenge: string): string {
  const bytes = createHash('sha256').update(`holdfast sign-in word ${challenge}`).digest().subarray(0, 8)
  const letters = [...bytes].map((byte) => LETTERS[byte % LETTERS.length]).join('')
  return `${letters.slice(0, 4)}-${letters.slice(4)}`
}
