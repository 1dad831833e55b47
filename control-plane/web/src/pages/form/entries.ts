import type { FormEvaluation, FormModel, FormPart } from '@holdfast/client'
import type { RefObject } from 'preact'
import { useMemo, useRef, useState } from 'preact/hooks'
import { type Place, keyOf } from '../../fields/place.js'
import { useEvaluation, verdictOf } from './evaluation.js'
import type { FormState } from './form-part-view.js'
import { type Values, isFieldShown } from './form-parts.js'
import { keptFilesOf, placesOfKept } from './kept-files.js'
import { type Problems, problemsOfRows } from './problems.js'
import { type SentValues, type Typed, placeOf, sentValues } from './sent-values.js'

/** What somebody has entered into a form, and what the control plane says of it. */
export interface Entries extends FormState {
  readonly typed: Typed
  /** Somebody has entered something that is not launched. */
  readonly isDirty: boolean
  /** What a refused launch said of fields that have not been changed since. */
  readonly problems: Problems
  setProblems(problems: Problems): void
  /** @param at the place that was changed, in a row of the field */
  change(part: FormPart, name: string, value: unknown, at: Place): void
  /** What goes to the control plane. */
  sent(): SentValues
  /** Asks what is wrong with the fields of a step, and shows it, also for fields that nobody has changed. */
  judge(part: FormPart): Promise<'good' | 'wrong'>
}

/** How a form begins. */
interface Beginning {
  readonly start: Values
  /** Files that are not chosen anew are those of the earlier job. */
  readonly isRelaunch: boolean
  /** What is said of fields from the beginning. */
  readonly asked: Problems
  /** What was entered before, and is gone on with; null: the form begins with `start`. */
  readonly draft: Typed | null
}

/**
 * Keeps what is entered into a form.
 * @param element the form, whose password inputs are read when values are sent
 */
export function useEntries(
  form: FormModel,
  { start, isRelaunch, asked, draft }: Beginning,
  element: RefObject<HTMLFormElement | null>,
): Entries {
  const [typed, setTyped] = useState<Typed>(() => draft ?? startOf(form, start))
  const [problems, setProblems] = useState<Problems>(asked)
  /** Places that somebody typed into. Errors of all other places are shown only at the launch. */
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  /** Steps that somebody wanted to leave. All of their errors are shown, also when the form was read again since. */
  const [judged, setJudged] = useState<ReadonlySet<FormPart['step']>>(new Set())
  const latest = useRef<FormEvaluation | null>(null)

  const isShownNow = (part: FormPart, name: string): boolean => {
    const field = part.fields.find((one) => one.name === name)
    const own = typed[part.step ?? ''] ?? {}
    return field !== undefined && isFieldShown(part, field, own, verdictOf(latest.current, part, name))
  }
  const sent = () => sentValues(form, typed, isShownNow, element.current)
  const { evaluation, askNow } = useEvaluation(form.name, typed, sent)
  latest.current = evaluation
  const kept = useMemo(() => keptFilesOf(isRelaunch ? start : {}), [isRelaunch, start])
  const inRows = (said: FormEvaluation | null): Problems => {
    const keptAt = placesOfKept(kept, typed)
    return new Map([...problemsOfRows(said?.rows ?? {})].filter(([key]) => !keptAt.has(key)))
  }
  const rows = useMemo(() => inRows(evaluation), [evaluation, typed])

  /** What the control plane finds wrong with a field of a step. */
  const found = (said: FormEvaluation | null, part: FormPart, name: string): readonly string[] => {
    const field = part.fields.find((one) => one.name === name)
    const isKept = isRelaunch && field?.type === 'file' && typed[part.step ?? '']?.[name] === undefined
    return isKept ? [] : (verdictOf(said, part, name)?.errors ?? []).map(({ description }) => description)
  }

  return {
    typed,
    isDirty: draft !== null || touched.size > 0,
    evaluation,
    problems,
    setProblems,
    sent,
    async judge(part) {
      setJudged((before) => new Set([...before, part.step]))
      // The known errors are about older values. The last key may have corrected them.
      const said = await askNow()
      const wrongInRows = [...inRows(said).keys()]
      const isWrong = part.fields.some(({ name }) => {
        const key = keyOf([...placeOf(part), name])
        if (!isShownNow(part, name)) return false
        return found(said, part, name).length > 0 || wrongInRows.some((one) => one === key || one.startsWith(`${key}.`))
      })
      return isWrong ? 'wrong' : 'good'
    },
    problemsAt(part, place) {
      const key = keyOf(place)
      const isField = place.length === placeOf(part).length + 1
      const refused = problems.get(key) ?? []
      // The launch has said it in full.
      if (refused.length > 0) return refused
      const own = isField ? found(evaluation, part, String(place.at(-1))) : []
      const live = judged.has(part.step) || touched.has(key) ? [...own, ...(rows.get(key) ?? [])] : []
      return [...new Set(live)]
    },
    change(part, name, value, at) {
      const step = part.step ?? ''
      const key = keyOf(at)
      setTyped((before) => ({ ...before, [step]: { ...before[step], [name]: value } }))
      setTouched((before) => new Set([...before, key]))
      // The errors of the launch were about another value, or about rows that have another place now.
      setProblems((before) => new Map([...before].filter(([one]) => one !== key && !one.startsWith(`${key}.`))))
    },
  }
}

function startOf(form: FormModel, start: Values): Typed {
  return Object.fromEntries(
    form.parts.map(({ step }) => [step ?? '', step === null ? start : ((start[step] ?? {}) as Values)]),
  )
}
