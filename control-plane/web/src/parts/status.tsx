import { words } from '../words/en.js'

/** Which colour and sign a status has; the text says it, too. */
const SIGNS: Readonly<Record<string, readonly [tone: string, sign: string]>> = {
  running: ['run', '◐'],
  approve: ['wait', '‖'],
  success: ['ok', '✓'],
  failed: ['bad', '✕'],
  warning: ['warn', '!'],
  aborted: ['off', '■'],
  rejected: ['off', '⊘'],
  abandoned: ['warn', '?'],
}

/** The status of a job: a sign, a colour and the word. */
export function Status({ status }: { readonly status: string }) {
  const [tone, sign] = SIGNS[status] ?? ['off', '·']
  return (
    <span class={`status ${tone}`}>
      <span class="sign" aria-hidden="true">
        {sign}
      </span>
      {words.status[status] ?? status}
    </span>
  )
}

/** A word with a colour. */
export function Badge({
  tone,
  text,
}: {
  readonly tone: 'ok' | 'bad' | 'warn' | 'run' | 'wait' | 'off'
  readonly text: string
}) {
  return <span class={`badge ${tone}`}>{text}</span>
}
