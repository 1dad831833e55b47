import { writeAnswer } from '../show/answer.js'
import { localTime } from '../show/time.js'
import type { Run } from './common.js'

/**
 * Writes a token that is shown only now. At a terminal a line before it says what to do with it.
 * @param hint says it, with the time until which the token is good
 */
export async function writeShownOnce(
  { terminal: { stdout, stderr } }: Run,
  args: { readonly json: boolean },
  token: { readonly token: string; readonly expires_at: string },
  hint: (until: string) => string,
): Promise<void> {
  const until = localTime(token.expires_at) ?? 'it expires'
  await stderr.write(stdout.isTerminal && !args.json ? `${hint(until)}:\n` : '')
  await writeAnswer(stdout, args.json, token, () => `${token.token}\n`)
}
