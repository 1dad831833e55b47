import type { FormModel, Schedule } from '@holdfast/client'
import type { RefObject } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { enteredAgain, problemsOfAsked, withoutMasks } from './asked-again.js'
import { keepDraft, removeDraft } from './draft.js'
import { type Entries, useEntries } from './entries.js'
import type { Values } from './form-parts.js'
import { type Launch, useLaunch } from './launch.js'
import { type Leaving, useLeaving } from './leaving.js'
import { type Planning, usePlanning } from './planning.js'
import type { Typed } from './sent-values.js'
import { toProblem } from './to-problem.js'
import { type Wizard, useWizard } from './wizard.js'

/** A form that somebody fills in. */
export interface Filling {
  readonly form: FormModel
  /** The values that it begins with. */
  readonly values: Values
  /** The job whose values these are; null: a new launch. */
  readonly from: number | null
  /** The schedule whose values are changed; null: the form is launched. */
  readonly schedule: Schedule | null
  /** The fields for which the control plane has asked, because the job cannot be run again as it was. */
  readonly asked: readonly string[]
  /** What was entered before, and is gone on with; null: nothing. */
  readonly draft: Typed | null
  /** The key of the draft. */
  readonly keep: string
}

/** The entries of a form, its steps, the ways out of it, and its launch. */
interface Filled {
  /** The values that the form began with, as it shows them. */
  readonly start: Values
  readonly entries: Entries
  readonly wizard: Wizard
  readonly leaving: Leaving
  readonly launch: Launch
  readonly planning: Planning
}

/** Lets somebody fill in a form. */
export function useFilling(
  { form, values, from, schedule, asked, draft, keep }: Filling,
  element: RefObject<HTMLFormElement | null>,
): Filled {
  const [isAgain] = useState(() => (from === null ? () => false : enteredAgain(form, values)))
  const [start] = useState(() => withoutMasks(values))
  const [askedFirst] = useState(() => problemsOfAsked(asked, isAgain))
  const entries = useEntries(form, { start, isRelaunch: from !== null, asked: askedFirst, draft }, element)
  const pages = useWizard(form.parts, entries.evaluation)
  const leaving = useLeaving(entries.isDirty, pages.current?.step ?? null, pages.show)
  const wizard = {
    ...pages,
    back() {
      if (!leaving.back()) pages.back()
    },
    next() {
      leaving.push(pages.peek())
      pages.next()
    },
  }
  const away = (url: string) => {
    removeDraft(keep)
    return leaving.away(url)
  }
  const launch = useLaunch({ form, from, schedule, isAgain, away, entries, wizard, element })
  const planning = usePlanning({ form, away, entries, wizard, element, isVerbose: launch.isVerbose })
  useEffect(() => {
    if (entries.isDirty) keepDraft(keep, form, entries.typed)
  }, [entries.typed])
  useEffect(() => {
    if (asked.length === 0) return
    wizard.showProblem(new Map(asked.map((key) => [key, []])))
    // Only the control plane knows what is wrong with values that are no passwords.
    void Promise.all(form.parts.map((part) => entries.judge(part))).then(() => toProblem(element.current))
  }, [])
  return { start, entries, wizard, leaving, launch, planning }
}
