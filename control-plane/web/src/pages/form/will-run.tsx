import type { FormEvaluation } from '@holdfast/client'
import { codeWords } from '../../parts/failure.js'
import { formWords } from '../../words/en-form.js'
import { problemBesideFields } from './evaluation.js'

/** What a launch with the present values would run: on which runner, and with which variables. Secrets are masked. */
export function WillRun({ evaluation }: { readonly evaluation: FormEvaluation }) {
  const { runner, extravars, refused } = evaluation.runs
  const problem = problemBesideFields(evaluation)
  return (
    <>
      {problem !== null && <p class="notice bad">{refused === null ? problem : codeWords(refused)}</p>}
      <details class="will-run">
        <summary>{formWords.willRun}</summary>
        {runner !== null && <p>{formWords.willRunOn(runner)}</p>}
        <pre class="mono">{JSON.stringify(extravars, null, 2)}</pre>
      </details>
    </>
  )
}
