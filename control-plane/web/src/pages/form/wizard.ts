import type { FormEvaluation, FormPart } from '@holdfast/client'
import { useState } from 'preact/hooks'
import type { Problems } from './problems.js'

/** The steps of a wizard, one at a time. A form without steps is its own only one. */
export interface Wizard {
  /** The part that is shown. */
  readonly current: FormPart | undefined
  readonly isFirst: boolean
  readonly isLast: boolean
  back(): void
  next(): void
  /** The step that comes next. */
  peek(): string | null
  /** Shows a step that was shown before. */
  show(step: string | null): void
  /** To the first step that has one of these problems. */
  showProblem(problems: Problems): void
}

/** @param evaluation says which steps are left out with the values as they are */
export function useWizard(parts: readonly FormPart[], evaluation: FormEvaluation | null): Wizard {
  const [wanted, setWanted] = useState<string | null>(null)
  const shown = parts.filter(({ step }) => step === null || evaluation?.steps[step]?.shown !== false)
  // A step may be left out while it is shown: then the first one is.
  const at = Math.max(
    0,
    shown.findIndex(({ step }) => step === wanted),
  )
  const stepOf = (to: number) => shown[to]?.step ?? null
  const go = (to: number) => setWanted(stepOf(to))
  return {
    current: shown[at],
    isFirst: at === 0,
    isLast: at >= shown.length - 1,
    back: () => go(at - 1),
    next: () => go(at + 1),
    peek: () => stepOf(at + 1),
    show: setWanted,
    showProblem(problems) {
      const names = [...problems.keys()]
      const to = shown.findIndex(({ step, fields }) =>
        step === null
          ? fields.some((field) => names.includes(field.name))
          : names.some((name) => name.startsWith(`${step}.`)),
      )
      if (to !== -1) go(to)
    },
  }
}
