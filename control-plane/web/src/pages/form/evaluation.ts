import type { FormEvaluation } from '@holdfast/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../live/api.js'
import { whenSignedIn } from '../../live/signed-in.js'
import type { FormPart } from '@holdfast/client'
import type { SentValues } from './sent-values.js'

/** The control plane is asked when nobody has typed for so long, in milliseconds. */
const QUIET_MS = 300
/** How long the control plane may wait for slow sources once the rest of the form is shown, in seconds. */
const PATIENCE_SECONDS = 10

/** What the control plane says of one field. */
export type Verdict = FormEvaluation['fields'][string]

/** What the control plane said of a form, and how to ask it at once. */
interface Asked {
  readonly evaluation: FormEvaluation | null
  /** Asks about the values of this moment. @returns what is known when it cannot be asked: the last answer */
  askNow(): Promise<FormEvaluation | null>
}

/**
 * Asks the control plane what a launch with these values would say. It asks when the values have changed and nobody
 * types any more. An answer to older values is ignored. While the control plane cannot be asked, the last answer stays.
 * The launch checks everything again in any case.
 * @param typed what is typed: a new object at each change
 * @param sent what goes to the control plane, read when it is asked
 */
export function useEvaluation(name: string, typed: unknown, sent: () => SentValues): Asked {
  const [evaluation, setEvaluation] = useState<FormEvaluation | null>(null)
  const latest = useRef(sent)
  latest.current = sent
  async function ask({ signal }: AbortController, wait?: number): Promise<FormEvaluation | null> {
    const { values: rawFormData, files } = latest.current()
    const body = { rawFormData, files, ...(wait === undefined ? {} : { wait }) }
    const answer = await whenSignedIn(() => api.evaluateForm({ name, body }, { signal }), signal)
    if (!signal.aborted) setEvaluation(answer)
    return answer
  }
  useEffect(() => {
    const overtaken = new AbortController()
    const askInTurn = async () => {
      try {
        let answer = await ask(overtaken)
        // A slow source delays only its own field. Its answer is fetched later.
        while (answer && isAsking(answer) && !overtaken.signal.aborted) answer = await ask(overtaken, PATIENCE_SECONDS)
      } catch {
        // The values have changed meanwhile, or the control plane was not reached or asked too often. The older answer
        // stays. That does no harm.
      }
    }
    const timer = setTimeout(() => void askInTurn(), evaluation === null ? 0 : QUIET_MS)
    return () => {
      clearTimeout(timer)
      overtaken.abort()
    }
  }, [name, typed])
  return { evaluation, askNow: () => ask(new AbortController()).catch(() => evaluation) }
}

/** Whether a source of a field has not answered yet. */
function isAsking({ fields, steps }: FormEvaluation): boolean {
  return [fields, ...Object.values(steps).map((step) => step.fields)].some((some) =>
    Object.values(some).some(({ asking }) => asking),
  )
}

/**
 * Why a launch would be refused or its job would fail; null: it would not, or the fields say why. Somebody who has not
 * filled in all fields yet need not read it twice.
 */
export function problemBesideFields({ fields, steps, rows, runs }: FormEvaluation): string | null {
  const verdicts = [fields, ...Object.values(steps).map((step) => step.fields)].flatMap(Object.values<Verdict>)
  const isAtFields = Object.keys(rows).length > 0 || verdicts.some(({ errors, waiting }) => waiting ?? errors.length)
  return runs.refused !== null && isAtFields ? null : runs.problem
}

/** The verdict about a field; null while there is none. */
export function verdictOf(evaluation: FormEvaluation | null, part: FormPart, field: string): Verdict | null {
  const fields = part.step === null ? evaluation?.fields : evaluation?.steps[part.step]?.fields
  return fields?.[field] ?? null
}
