import type { FormEvaluation } from '@holdfast/client'
import type { RefObject } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { useEvaluation, verdictOf } from './evaluation.js'
import type { FormState } from './form-part-view.js'
import { type FormModel, type FormPart } from '@holdfast/client'
import { type Values, isFieldShown } from './form-parts.js'
import type { Problems } from './problems.js'
import { type SentValues, type Typed, sentValues } from './sent-values.js'

/** What somebody has entered into a form, and what the control plane says of it. */
export interface Entries extends FormState {
  readonly typed: Typed
  /** What a refused launch said of fields that have not been changed since. */
  readonly problems: Problems
  setProblems(problems: Problems): void
  change(part: FormPart, name: string, value: unknown): void
  /** What goes to the control plane. */
  sent(): SentValues
  /** Says what is wrong with the fields of a step, also of those that nobody typed into. @returns whether something is */
  judge(part: FormPart): boolean
}

/**
 * Keeps what is entered into a form.
 * @param start the values that it begins with
 * @param element the form, whose password inputs are read when values are sent
 */
export function useEntries(form: FormModel, start: Values, element: RefObject<HTMLFormElement | null>): Entries {
  const [typed, setTyped] = useState<Typed>(() => startOf(form, start))
  const [problems, setProblems] = useState<Problems>(new Map())
  /** Fields that somebody typed into: what is wrong with the others is said at the launch. */
  const [touched, setTouched] = useState<ReadonlySet<string>>(new Set())
  const latest = useRef<FormEvaluation | null>(null)

  const isShownNow = (part: FormPart, name: string): boolean => {
    const field = part.fields.find((one) => one.name === name)
    const own = typed[part.step ?? ''] ?? {}
    return field !== undefined && isFieldShown(part, field, own, verdictOf(latest.current, part, name))
  }
  const sent = () => sentValues(form, typed, isShownNow, element.current)
  const evaluation = useEvaluation(form.name, typed, sent)
  latest.current = evaluation

  return {
    typed,
    evaluation,
    problems,
    setProblems,
    sent,
    judge(part) {
      setTouched((before) => new Set([...before, ...part.fields.map(({ name }) => keyOf(part, name))]))
      return part.fields.some(
        ({ name }) => isShownNow(part, name) && (verdictOf(evaluation, part, name)?.errors ?? []).length > 0,
      )
    },
    problemsAt(part, name) {
      const key = keyOf(part, name)
      const live = touched.has(key) ? (verdictOf(evaluation, part, name)?.errors ?? []) : []
      return [...new Set([...(problems.get(key) ?? []), ...live.map(({ description }) => description)])]
    },
    change(part, name, value) {
      const step = part.step ?? ''
      const key = keyOf(part, name)
      setTyped((before) => ({ ...before, [step]: { ...before[step], [name]: value } }))
      setTouched((before) => new Set([...before, key]))
      // What the launch said was about another value.
      setProblems((before) => new Map([...before].filter(([one]) => one !== key)))
    },
  }
}

/** The name of a field in what the control plane finds: in a wizard `step.field`. */
function keyOf({ step }: FormPart, name: string): string {
  return step === null ? name : `${step}.${name}`
}

function startOf(form: FormModel, start: Values): Typed {
  return Object.fromEntries(
    form.parts.map(({ step }) => [step ?? '', step === null ? start : ((start[step] ?? {}) as Values)]),
  )
}
