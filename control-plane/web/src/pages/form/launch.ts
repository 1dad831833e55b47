import type { FormModel, FormPart, Schedule } from '@holdfast/client'
import type { RefObject } from 'preact'
import { useRef, useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { placeOfUpload } from '../../fields/file-input.js'
import { useAction } from '../../live/action.js'
import { api } from '../../live/api.js'
import { formWords } from '../../words/en-form.js'
import { scheduleWords } from '../../words/en-schedules.js'
import type { Entries } from './entries.js'
import { saveValues } from './planning.js'
import { problemsOf } from './problems.js'
import type { SentValues } from './sent-values.js'
import { toProblem } from './to-problem.js'
import type { Wizard } from './wizard.js'

/** The launch of a form that somebody fills in. */
export interface Launch {
  /** Why it failed, when that is not about values. */
  readonly error: Error | null
  readonly isBusy: boolean
  readonly isVerbose: boolean
  setVerbose(isVerbose: boolean): void
  /** To the next step, and behind the last one the launch. */
  goOn(): void
}

/**
 * @param from the job that is run again; null: a new one
 * @param schedule whose values are changed, in place of a launch; null: none is
 * @param isAgain whether that job did not keep the value of a field
 * @param away leads to the job
 */
export function useLaunch({
  form,
  from,
  schedule,
  isAgain,
  away,
  entries,
  wizard,
  element,
}: {
  readonly form: FormModel
  readonly from: number | null
  readonly schedule: Schedule | null
  readonly isAgain: (key: string) => boolean
  readonly away: (url: string) => Promise<void>
  readonly entries: Entries
  readonly wizard: Wizard
  readonly element: RefObject<HTMLFormElement | null>
}): Launch {
  const latest = useRef(wizard)
  latest.current = wizard
  const { isBusy: isLaunching, error, go } = useAction()
  const [isJudging, setJudging] = useState(false)
  const [isVerbose, setVerbose] = useState(schedule?.verbose ?? false)

  function launch() {
    entries.setProblems(new Map())
    const act = async () => {
      if (schedule !== null) {
        await saveValues(schedule, entries.sent(), isVerbose)
        return away(addressOf(`/schedules/${schedule.id}`))
      }
      const id = await begin(form, entries.sent(), { from, isVerbose })
      await away(addressOf(`/jobs/${id}`))
    }
    // The page of the job says that it was launched.
    return go(act, schedule && scheduleWords.dialog.saved, (failure) => {
      const found = problemsOf(failure, isAgain)
      if (found) {
        entries.setProblems(found)
        wizard.showProblem(found)
      }
      toProblem(element.current)
      return found !== null
    })
  }

  async function leave(step: FormPart) {
    setJudging(true)
    const verdict = await entries.judge(step)
    setJudging(false)
    // The answer may have added or removed steps. So the wizard has to be shown with it first.
    await new Promise((shown) => setTimeout(shown))
    if (verdict === 'good') latest.current.next()
    else toProblem(element.current)
  }

  const isBusy = isLaunching || isJudging
  return {
    error,
    isBusy,
    isVerbose,
    setVerbose,
    goOn() {
      if (isBusy) return
      const uploading = placeOfUpload(element.current)
      if (uploading !== null) {
        entries.setProblems(new Map([[uploading, [formWords.stillUploading]]]))
        return toProblem(element.current)
      }
      if (wizard.isLast) void launch()
      else if (wizard.current) void leave(wizard.current)
    },
  }
}

/** Launches the form, or runs the job again with these values. @returns the number of the new job */
async function begin(
  form: FormModel,
  { values, files }: SentValues,
  how: { readonly from: number | null; readonly isVerbose: boolean },
): Promise<number> {
  if (how.from !== null) {
    const { id } = await api.relaunchJob({ id: how.from, verbose: how.isVerbose || undefined, body: { values, files } })
    return id
  }
  const extravars = how.isVerbose ? { __verbose__: true } : undefined
  return (await api.launchJob({ body: { formName: form.name, rawFormData: values, files, extravars } })).id
}
