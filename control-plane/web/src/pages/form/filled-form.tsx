import { useEffect, useRef, useState } from 'preact/hooks'
import { session } from '../../live/session.js'
import { Empty } from '../../parts/content.js'
import { Failure } from '../../parts/failure.js'
import { formWords } from '../../words/en-form.js'
import { enteredAgain, problemsOfAsked, withoutMasks } from './asked-again.js'
import { changedLabels } from './changes.js'
import { useEntries } from './entries.js'
import { FormPartView } from './form-part-view.js'
import type { FormModel } from '@holdfast/client'
import type { Values } from './form-parts.js'
import { toProblem, useLaunch } from './launch.js'
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
}: {
  readonly form: FormModel
  readonly values: Values
  readonly from: number | null
  /** The fields for which the control plane has asked, because the job cannot be run again as it was. */
  readonly asked?: readonly string[]
}) {
  const element = useRef<HTMLFormElement>(null)
  const [isAgain] = useState(() => (from === null ? () => false : enteredAgain(form, values)))
  const [start] = useState(() => withoutMasks(values))
  const [askedFirst] = useState(() => problemsOfAsked(asked, isAgain))
  const entries = useEntries(form, { start, isRelaunch: from !== null, asked: askedFirst }, element)
  const { problems } = entries
  const changed = from === null ? [] : changedLabels(form, start, entries.typed)
  const wizard = useWizard(form.parts, entries.evaluation)
  const { error, isBusy, isVerbose, setVerbose, goOn } = useLaunch({ form, from, isAgain, entries, wizard, element })
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

/** Whether the roles of who is signed in allow a verbose launch. */
function mayBeVerbose(): boolean {
  const { value } = session
  return 'user' in value && value.user.options.allowVerboseMode === true
}
