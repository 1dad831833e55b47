import { useLocation } from 'preact-iso'
import { useRef, useState } from 'preact/hooks'
import { addressOf } from '../../live/address.js'
import { api } from '../../live/api.js'
import { session } from '../../live/session.js'
import { Empty } from '../../parts/content.js'
import { Failure } from '../../parts/failure.js'
import { words } from '../../words/en.js'
import { useEntries } from './entries.js'
import { FormPartView } from './form-part-view.js'
import type { FormModel } from '@holdfast/client'
import type { Values } from './form-parts.js'
import { problemsOf } from './problems.js'
import type { SentValues } from './sent-values.js'
import { WillRun } from './will-run.js'
import { useWizard } from './wizard.js'

/**
 * The fields of a form and its launch. The control plane alone judges the values: what it finds stands at the fields.
 * @property from the job whose values these are; null: a new launch
 */
export function FilledForm({
  form,
  start,
  from,
}: {
  readonly form: FormModel
  readonly start: Values
  readonly from: number | null
}) {
  const { route } = useLocation()
  const element = useRef<HTMLFormElement>(null)
  const entries = useEntries(form, start, element)
  const { problems } = entries
  const wizard = useWizard(form.parts, entries.evaluation)
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [isVerbose, setVerbose] = useState(false)

  async function launch() {
    setBusy(true)
    setError(null)
    entries.setProblems(new Map())
    try {
      route(addressOf(`/jobs/${await begin(form, entries.sent(), { from, isVerbose })}`))
    } catch (failure) {
      const found = problemsOf(failure)
      if (found) {
        entries.setProblems(found)
        wizard.showProblem(found)
      } else setError(failure as Error)
      setBusy(false)
      toProblem()
    }
  }

  /** To the first field with a problem that is shown, once it is marked. */
  function toProblem() {
    requestAnimationFrame(() => {
      const marked = element.current?.querySelectorAll<HTMLElement>('[aria-invalid="true"]') ?? []
      const shown = [...marked].find((input) => input.closest('[hidden]') === null)
      shown?.focus()
    })
  }

  function goOn() {
    if (wizard.isLast) return void launch()
    if (wizard.current && entries.judge(wizard.current)) return toProblem()
    wizard.next()
  }

  return (
    <form
      ref={element}
      class="form card"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) goOn()
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
          change={(name, value) => entries.change(part, name, value)}
          isCurrent={part === wizard.current}
        />
      ))}
      {form.parts.every(({ fields }) => fields.length === 0) && <Empty text={words.form.noFields} />}
      {problems.size > 0 && (
        <p class="notice bad" role="alert">
          {words.form.problems(problems.size)}
        </p>
      )}
      {error && <Failure error={error} />}
      {mayBeVerbose() && (
        <label class="check">
          <input type="checkbox" checked={isVerbose} onChange={(event) => setVerbose(event.currentTarget.checked)} />
          {words.form.verbose}
        </label>
      )}
      {entries.evaluation && <WillRun runs={entries.evaluation.runs} />}
      <div class="buttons">
        {!wizard.isFirst && (
          <button type="button" onClick={wizard.back}>
            {words.form.back}
          </button>
        )}
        <button type="submit" class="main" aria-disabled={isBusy}>
          {!wizard.isLast ? words.form.next : isBusy ? words.form.launching : words.form.launch}
        </button>
      </div>
    </form>
  )
}

/** Whether the roles of who is signed in allow a verbose launch. */
function mayBeVerbose(): boolean {
  const { value } = session
  return value.state === 'in' && value.user.options.allowVerboseMode === true
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
