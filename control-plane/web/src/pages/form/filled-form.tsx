import { useEffect, useRef, useState } from 'preact/hooks'
import { session } from '../../live/session.js'
import { Empty } from '../../parts/content.js'
import { Dialog } from '../../parts/dialog.js'
import { Failure } from '../../parts/failure.js'
import { formWords } from '../../words/en-form.js'
import { enteredAgain, problemsOfAsked, withoutMasks } from './asked-again.js'
import { changedLabels } from './changes.js'
import { MAX_DRAFT_DAYS, keepDraft, removeDraft } from './draft.js'
import { useEntries } from './entries.js'
import { FormPartView } from './form-part-view.js'
import type { FormModel } from '@holdfast/client'
import type { Values } from './form-parts.js'
import { useLeaving } from './leaving.js'
import { toProblem, useLaunch } from './launch.js'
import type { Typed } from './sent-values.js'
import { WillRun } from './will-run.js'
import { useWizard } from './wizard.js'

/**
 * The fields of a form and its launch. Only the control plane checks the values. What it finds is shown at the fields.
 * @property from the job whose values these are; null: a new launch
 */
export function FilledForm({
  form,
  values,
  from,
  asked = [],
  draft = null,
  keep,
}: {
  readonly form: FormModel
  readonly values: Values
  readonly from: number | null
  /** The fields for which the control plane has asked, because the job cannot be run again as it was. */
  readonly asked?: readonly string[]
  /** What was entered before. */
  readonly draft?: Typed | null
  /** The key of the draft. */
  readonly keep: string
}) {
  const element = useRef<HTMLFormElement>(null)
  const [isAgain] = useState(() => (from === null ? () => false : enteredAgain(form, values)))
  const [start] = useState(() => withoutMasks(values))
  const [askedFirst] = useState(() => problemsOfAsked(asked, isAgain))
  const entries = useEntries(form, { start, isRelaunch: from !== null, asked: askedFirst, draft }, element)
  const { problems } = entries
  const changed = from === null ? [] : changedLabels(form, start, entries.typed)
  const pages = useWizard(form.parts, entries.evaluation)
  const leaving = useLeaving(entries.isDirty, pages.current?.step ?? null, pages.show)
  const wizard = {
    ...pages,
    back: () => {
      if (!leaving.back()) pages.back()
    },
    next: () => {
      leaving.push(pages.peek())
      return pages.next()
    },
  }
  useEffect(() => {
    if (entries.isDirty) keepDraft(keep, form, entries.typed)
  }, [entries.typed])
  const away = (url: string) => {
    removeDraft(keep)
    return leaving.away(url)
  }
  const { error, isBusy, isVerbose, setVerbose, goOn } = useLaunch({
    form,
    from,
    isAgain,
    away,
    entries,
    wizard,
    element,
  })
  useEffect(() => {
    if (asked.length === 0) return
    wizard.showProblem(new Map(asked.map((key) => [key, []])))
    // Only the control plane knows what is wrong with values that are no passwords.
    void Promise.all(form.parts.map((part) => entries.judge(part))).then(() => toProblem(element.current))
  }, [])

  return (
    <form
      ref={element}
      class="form card"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        goOn()
      }}
    >
      {form.parts.map((part, index) => (
        <FormPartView
          key={part.step}
          part={part}
          place={[index + 1, form.parts.length]}
          values={entries.typed[part.step ?? ''] ?? {}}
          state={entries}
          subforms={form.subforms}
          change={(name, value, at) => entries.change(part, name, value, at)}
          isCurrent={part === wizard.current}
          before={from === null ? null : part.step === null ? start : ((start[part.step] ?? {}) as Values)}
        />
      ))}
      {form.parts.every(({ fields }) => fields.length === 0) && <Empty text={formWords.noFields} />}
      {problems.size > 0 && (
        <p class="notice bad" role="alert">
          {formWords.problems(problems.size)}
        </p>
      )}
      {error && <Failure error={error} />}
      {mayBeVerbose() && (
        <label class="check">
          <input type="checkbox" checked={isVerbose} onChange={(event) => setVerbose(event.currentTarget.checked)} />
          {formWords.verbose}
        </label>
      )}
      {from !== null && changed.length > 0 && <p>{formWords.changes(changed.join(', '))}</p>}
      {entries.evaluation && <WillRun evaluation={entries.evaluation} />}
      {leaving.asked && <Question leave={leaving.asked} stay={leaving.stay} />}
      <div class="buttons">
        {!wizard.isFirst && (
          <button type="button" onClick={wizard.back}>
            {formWords.back}
          </button>
        )}
        <button type="submit" class="main" aria-disabled={isBusy}>
          {!wizard.isLast ? formWords.next : isBusy ? formWords.launching : formWords.launch}
        </button>
      </div>
    </form>
  )
}

/** Asks whether somebody wants to leave what they have entered. */
function Question({ leave, stay }: { readonly leave: () => void; readonly stay: () => void }) {
  return (
    <Dialog title={formWords.leaveTitle} onClose={stay}>
      <p>{formWords.leaveText(MAX_DRAFT_DAYS)}</p>
      <div class="buttons">
        <button type="button" class="main" onClick={stay}>
          {formWords.stay}
        </button>
        <button
          type="button"
          onClick={() => {
            stay()
            leave()
          }}
        >
          {formWords.leave}
        </button>
      </div>
    </Dialog>
  )
}

/** Whether the roles of who is signed in allow a verbose launch. */
function mayBeVerbose(): boolean {
  const { value } = session
  return 'user' in value && value.user.options.allowVerboseMode === true
}
