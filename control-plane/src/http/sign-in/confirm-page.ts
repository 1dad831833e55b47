import type { AskedQuestion } from '../../auth/sign-in/sign-in-questions.js'
import { shownName } from '../../auth/sessions/shown-name.js'
import { signInWord } from '../../sign-in-word.js'

/** No other page may show this page inside of itself. It runs no scripts and loads nothing. */
export const CONFIRM_HEADERS = {
  'content-security-policy': "default-src 'none'; base-uri 'none'; frame-ancestors 'none'",
  'x-frame-options': 'DENY',
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  'content-type': 'text/html; charset=utf-8',
} as const

/** The page that asks whether a program may be signed in; it works without scripts. */
export function confirmPage({ user, question }: AskedQuestion, tag: string, publicUrl: string): string {
  const { redirect, challenge, machine, ticket } = question
  const runsOn = machine === null ? '' : ` It says that it runs on <strong>${escaped(machine)}</strong>.`
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>Sign in the command line?</title></head>
<body>
<main>
<h1>Sign in the command line?</h1>
<p>You are <strong>${escaped(shownName(user))}</strong> at <strong>${escaped(publicUrl)}</strong>.</p>
<p>A program on the computer of this browser (${escaped(new URL(redirect).host)}) wants to be signed in as you.${runsOn}</p>
<p>Its terminal must show this word: <strong>${signInWord(challenge)}</strong></p>
<p>Say no if it does not, or if you did not start <code>holdfast login</code> just now.</p>
<form method="post" action="confirm">
<input type="hidden" name="sign_in" value="${escaped(tag)}">
<input type="hidden" name="ticket" value="${escaped(ticket)}">
<button name="answer" value="yes">Sign in</button>
<button name="answer" value="no">No</button>
</form>
</main>
</body>
</html>
`
}

function escaped(text: string): string {
  const words: Readonly<Record<string, string>> = {
    '&': '&amp;',
    '<': '&lt;',
    '>': '&gt;',
    '"': '&quot;',
    "'": '&#39;',
  }
  return text.replace(/[&<>"']/g, (letter) => words[letter] ?? '')
}
