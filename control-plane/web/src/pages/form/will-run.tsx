import type { FormEvaluation } from '@holdfast/client'
import { words } from '../../words/en.js'

/** What a launch would run with the values as they are: where, and with which variables. Secrets are masked. */
export function WillRun({ runs: { runner, problem, extravars } }: { readonly runs: FormEvaluation['runs'] }) {
  return (
    <details class="will-run">
      <summary>{words.form.willRun}</summary>
      {problem !== null && <p class="notice bad">{problem}</p>}
      {runner !== null && <p>{words.form.willRunOn(runner)}</p>}
      <pre class="mono">{JSON.stringify(extravars, null, 2)}</pre>
    </details>
  )
}
