import type { FormEvaluation } from '@holdfast/client'
import { useEffect, useRef, useState } from 'preact/hooks'
import { api } from '../../live/api.js'
import type { FormPart } from '@holdfast/client'
import type { SentValues } from './sent-values.js'

/** How long nobody types before the control plane is asked, in milliseconds. */
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
 * Asks the control plane what a launch with these values would say, whenever they have changed and rest. An answer that
 * was overtaken counts for nothing. While it cannot be asked, the last answer stays: the launch judges once more anyway.
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
    const answer = await api.evaluateForm({ name, body }, { signal })
    if (!signal.aborted) setEvaluation(answer)
    return answer
  }
  useEffect(() => {
    const overtaken = new AbortController()
    const askInTurn = async () => {
      try {
        let answer = await ask(overtaken)
        // A slow source holds up only its own field. Its answer is fetched when it is there.
        while (answer && isAsking(answer) && !overtaken.signal.aborted) answer = await ask(overtaken, PATIENCE_SECONDS)
      } catch {
        // Overtaken, offline, or too often: what is shown is from before, and nothing hangs on it.
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

/** The verdict about a field; null while there is none. */
export function verdictOf(evaluation: FormEvaluation | null, part: FormPart, field: string): Verdict | null {
  const fields = part.step === null ? evaluation?.fields : evaluation?.steps[part.step]?.fields
  return fields?.[field] ?? null
}
