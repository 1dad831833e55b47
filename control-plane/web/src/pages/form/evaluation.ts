import type { FormEvaluation } from '@holdfast/client'
import { useEffect, useState } from 'preact/hooks'
import { api } from '../../live/api.js'
import type { FormPart } from '@holdfast/client'
import type { SentValues } from './sent-values.js'

/** How long nobody types before the control plane is asked, in milliseconds. */
const QUIET_MS = 300
/** How long the control plane may wait for slow sources once the rest of the form is shown, in seconds. */
const PATIENCE_SECONDS = 10

/** What the control plane says of one field. */
export type Verdict = FormEvaluation['fields'][string]

/**
 * Asks the control plane what a launch with these values would say, whenever they have changed and rest. An answer that
 * was overtaken counts for nothing. While it cannot be asked, the last answer stays: the launch judges once more anyway.
 * @param typed what is typed: a new object at each change
 * @param sent what goes to the control plane, read when it is asked
 */
export function useEvaluation(name: string, typed: unknown, sent: () => SentValues): FormEvaluation | null {
  const [evaluation, setEvaluation] = useState<FormEvaluation | null>(null)
  useEffect(() => {
    const overtaken = new AbortController()
    const ask = async (wait?: number): Promise<void> => {
      const { values: rawFormData, files } = sent()
      const body = { rawFormData, files, ...(wait === undefined ? {} : { wait }) }
      try {
        const answer = await api.evaluateForm({ name, body }, { signal: overtaken.signal })
        if (overtaken.signal.aborted) return
        setEvaluation(answer)
        // A slow source holds up only its own field. Its answer is fetched when it is there.
        if (isAsking(answer)) await ask(PATIENCE_SECONDS)
      } catch {
        // Overtaken, offline, or too often: what is shown is from before, and nothing hangs on it.
      }
    }
    const timer = setTimeout(() => void ask(), evaluation === null ? 0 : QUIET_MS)
    return () => {
      clearTimeout(timer)
      overtaken.abort()
    }
  }, [name, typed])
  return evaluation
}

/** Whether a source of a field has not answered yet. */
function isAsking({ fields, steps }: FormEvaluation): boolean {
  return [fields, ...Object.values(steps).map((step) => step.fields)].some((some) =>
    Object.values(some).some(({ asking }) => asking),
  )
}

/** The verdict about a field; null while there is none. */
export function verdictOf(evaluation: FormEvaluation | null, part: FormPart, field: string): Verdict | null {
  const fields = part.step === null ? evaluation?.fields : evaluation?.steps[part.step]?.fields
  return fields?.[field] ?? null
}
