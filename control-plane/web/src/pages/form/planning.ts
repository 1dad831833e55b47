import type { FormModel, Schedule } from '@holdfast/client'
import type { RefObject } from 'preact'
import { useState } from 'preact/hooks'
import { placeOfUpload } from '../../fields/file-input.js'
import { addressOf } from '../../live/address.js'
import { api } from '../../live/api.js'
import { formWords } from '../../words/en-form.js'
import { scheduleWords } from '../../words/en-schedules.js'
import type { Timing } from '../schedules/schedule-dialog.js'
import type { Entries } from './entries.js'
import { problemsOf } from './problems.js'
import type { SentValues } from './sent-values.js'
import { toProblem } from './to-problem.js'
import type { Wizard } from './wizard.js'

/** Launches of a form at other times than now. */
export interface Planning {
  /** What somebody chooses the times for; null: nothing. */
  readonly kind: 'later' | 'regularly' | null
  /** Opens the question for the times. */
  ask(kind: 'later' | 'regularly'): void
  close(): void
  /** Makes a schedule with the values of the form. */
  make(timing: Timing): Promise<void>
  /** Shows what was refused at its fields. @returns whether it could be shown there */
  explained(error: Error): boolean
}

/** @param away leads to the schedule */
export function usePlanning({
  form,
  away,
  entries,
  wizard,
  element,
  isVerbose,
}: {
  readonly form: FormModel
  readonly away: (url: string) => Promise<void>
  readonly entries: Entries
  readonly wizard: Wizard
  readonly element: RefObject<HTMLFormElement | null>
  readonly isVerbose: boolean
}): Planning {
  const [kind, setKind] = useState<Planning['kind']>(null)
  return {
    kind,
    ask(wanted) {
      const uploading = placeOfUpload(element.current)
      if (uploading === null) return setKind(wanted)
      entries.setProblems(new Map([[uploading, [formWords.stillUploading]]]))
      toProblem(element.current)
    },
    close: () => setKind(null),
    async make(timing) {
      entries.setProblems(new Map())
      const body = { ...timing, form: form.name, values: valuesOf(entries.sent()), verbose: isVerbose }
      const { id } = await api.createSchedule({ body })
      setKind(null)
      await away(addressOf(`/schedules/${id}`))
    },
    explained(error) {
      const found = problemsOf(error)
      if (found === null) return false
      setKind(null)
      entries.setProblems(found)
      wizard.showProblem(found)
      toProblem(element.current)
      return true
    },
  }
}

/** Stores these values in a schedule, for its next starts. */
export async function saveValues({ id }: Schedule, sent: SentValues, isVerbose: boolean): Promise<void> {
  await api.changeSchedule({ id, body: { values: valuesOf(sent), verbose: isVerbose } })
}

/** @throws Error for people, if there are files: a schedule keeps none */
function valuesOf({ values, files }: SentValues): Record<string, unknown> {
  if (Object.keys(files).length > 0) throw new Error(scheduleWords.dialog.noFiles)
  return { ...values }
}
