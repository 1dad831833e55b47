import { useLocation } from 'preact-iso'
import { useRef, useState } from 'preact/hooks'
import { FieldInput } from '../../fields/field-input.js'
import { isShown } from '../../fields/form-field.js'
import { addressOf } from '../../live/address.js'
import { api } from '../../live/api.js'
import { session } from '../../live/session.js'
import { Empty } from '../../parts/content.js'
import { Failure } from '../../parts/failure.js'
import { words } from '../../words/en.js'
import { type FormModel, type FormPart, type Values, shownValues, withoutUndefined } from './form-parts.js'
import { type Problems, problemsOf } from './problems.js'

/** What is typed, by step; `''` for a form without steps. */
type Typed = Readonly<Record<string, Values>>

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
  const [typed, setTyped] = useState<Typed>(() => startOf(form, start))
  const [problems, setProblems] = useState<Problems>(new Map())
  const [error, setError] = useState<Error | null>(null)
  const [isBusy, setBusy] = useState(false)
  const [isVerbose, setVerbose] = useState(false)

  async function launch() {
    setBusy(true)
    setError(null)
    setProblems(new Map())
    try {
      route(addressOf(`/jobs/${await begin(form, typed, { from, isVerbose, element: element.current })}`))
    } catch (failure) {
      const found = problemsOf(failure)
      if (found) setProblems(found)
      else setError(failure as Error)
      setBusy(false)
      // To the first field with a problem, once it is marked.
      requestAnimationFrame(() => element.current?.querySelector<HTMLElement>('[aria-invalid="true"]')?.focus())
    }
  }

  return (
    <form
      ref={element}
      class="form card"
      noValidate
      onSubmit={(event) => {
        event.preventDefault()
        if (!isBusy) void launch()
      }}
    >
      {form.parts.map((part, index) => (
        <Part
          key={part.step}
          part={part}
          place={[index + 1, form.parts.length]}
          values={typed[part.step ?? ''] ?? {}}
          problems={problems}
          subforms={form.subforms}
          change={(name, value) =>
            setTyped((before) => ({
              ...before,
              [part.step ?? '']: { ...before[part.step ?? ''], [name]: value },
            }))
          }
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
      <div class="buttons">
        <button type="submit" class="main" aria-disabled={isBusy}>
          {isBusy ? words.form.launching : words.form.launch}
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

function Part({
  part,
  place: [number, all],
  values,
  problems,
  subforms,
  change,
}: {
  readonly part: FormPart
  readonly place: readonly [number, number]
  readonly values: Values
  readonly problems: Problems
  readonly subforms: FormModel['subforms']
  readonly change: (name: string, value: unknown) => void
}) {
  const shown = shownValues(part, values)
  const fields = part.fields.filter((field) => isShown(field, shown))
  const inputs = fields.map((field) => (
    <FieldInput
      key={field.name}
      field={field}
      value={shown[field.name]}
      errors={problems.get(part.step === null ? field.name : `${part.step}.${field.name}`) ?? []}
      subforms={subforms}
      change={(value) => change(field.name, value)}
    />
  ))
  if (part.step === null) return <>{inputs}</>
  return (
    <fieldset>
      <legend>{words.form.step(number, all, part.step)}</legend>
      {inputs}
    </fieldset>
  )
}

function startOf(form: FormModel, start: Values): Typed {
  return Object.fromEntries(
    form.parts.map(({ step }) => [step ?? '', step === null ? start : ((start[step] ?? {}) as Values)]),
  )
}

/** Launches the form, or runs the job again with these values. @returns the number of the new job */
async function begin(
  form: FormModel,
  typed: Typed,
  how: { readonly from: number | null; readonly isVerbose: boolean; readonly element: HTMLFormElement | null },
): Promise<number> {
  const files: Record<string, unknown> = {}
  const valuesOf = (part: FormPart): Values => {
    const own = typed[part.step ?? ''] ?? {}
    const shown = shownValues(part, own)
    const sent: Record<string, unknown> = {}
    for (const field of part.fields) {
      if (!isShown(field, shown)) continue
      if (field.type === 'password') {
        const typedIn = how.element?.querySelector<HTMLInputElement>(`input[data-password="${CSS.escape(field.name)}"]`)
        if (typedIn && typedIn.value !== '') sent[field.name] = typedIn.value
      } else if (field.type === 'file') {
        if (own[field.name] !== undefined) files[field.name] = own[field.name]
      } else sent[field.name] = own[field.name]
    }
    return withoutUndefined(sent)
  }
  const [first] = form.parts
  const values =
    first?.step === null
      ? valuesOf(first)
      : Object.fromEntries(form.parts.map((part) => [part.step ?? '', valuesOf(part)]))
  if (how.from !== null) {
    const { id } = await api.relaunchJob({ id: how.from, verbose: how.isVerbose || undefined, body: { values, files } })
    return id
  }
  const extravars = how.isVerbose ? { __verbose__: true } : undefined
  return (await api.launchJob({ body: { formName: form.name, rawFormData: values, files, extravars } })).id
}
