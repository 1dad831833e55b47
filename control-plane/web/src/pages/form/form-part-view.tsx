import type { FormEvaluation, FormField, FormModel, FormPart } from '@holdfast/client'
import { FieldInput } from '../../fields/field-input.js'
import type { Place } from '../../fields/place.js'
import { isStructure, textOfValue } from '../../fields/value-text.js'
import { formWords } from '../../words/en-form.js'
import { type Verdict, verdictOf } from './evaluation.js'
import { type Values, isFieldShown, shownValues } from './form-parts.js'
import { textBefore } from './changes.js'
import { placeOf } from './sent-values.js'

/** What the page knows of a form while it is filled in. */
export interface FormState {
  readonly evaluation: FormEvaluation | null
  /** What is wrong with a field: by the launch that was refused, or by what was typed into it. */
  problemsAt(part: FormPart, place: Place): readonly string[]
}

/** The fields of a form, or of one step of it. */
export function FormPartView({
  part,
  place: [number, all],
  values,
  state,
  subforms,
  change,
  isCurrent = true,
  before = null,
}: {
  readonly part: FormPart
  readonly place: readonly [number, number]
  readonly values: Values
  readonly state: FormState
  readonly subforms: FormModel['subforms']
  readonly change: (name: string, value: unknown, at: Place) => void
  /** The values of the job that is run again; null: it is a new one. */
  readonly before?: Values | null
  /** Whether this step of a wizard is the one that is shown. The others stay: their passwords are only in their fields. */
  readonly isCurrent?: boolean
}) {
  const shown = shownValues(part, values)
  const viewOf = (field: FormField) => {
    const verdict = verdictOf(state.evaluation, part, field.name)
    if (!isFieldShown(part, field, values, verdict)) return null
    // What the control plane computes as an object may not be typed over. What somebody typed before may.
    const isRead =
      field.isComputed ||
      (field.type === 'expression' && values[field.name] === undefined && isStructure(verdict?.value))
    if (isRead) return <ComputedField key={field.name} field={field} verdict={verdict} />
    const place = [...placeOf(part), field.name]
    return (
      <FieldInput
        key={field.name}
        field={withChoices(field, verdict)}
        place={place}
        value={values[field.name] ?? verdict?.value ?? shown[field.name]}
        before={before && textBefore(field, before, values)}
        problemsAt={(at) => state.problemsAt(part, at)}
        subforms={subforms}
        change={(value, at = place) => change(field.name, value, at)}
      />
    )
  }
  const fields = groupsOf(part.fields).map(({ group, members }) => {
    const views = members.map(viewOf)
    if (group === null || views.every((view) => view === null)) return views
    return (
      <fieldset key={members[0]?.name}>
        <legend>{group}</legend>
        {views}
      </fieldset>
    )
  })
  if (all === 1 && part.step === null) return <>{fields}</>
  if (part.step !== null && state.evaluation?.steps[part.step]?.shown === false) return null
  return (
    <fieldset hidden={!isCurrent}>
      <legend>{formWords.step(number, all, part.title ?? part.step ?? formWords.general)}</legend>
      {part.help !== null && <p class="soft help">{part.help}</p>}
      {fields}
    </fieldset>
  )
}

/** The fields in their order; those of one group that follow each other stand together. */
function groupsOf(fields: readonly FormField[]) {
  const groups: { readonly group: string | null; readonly members: FormField[] }[] = []
  for (const field of fields) {
    const last = groups.at(-1)
    if (last && last.group === field.group) last.members.push(field)
    else groups.push({ group: field.group, members: [field] })
  }
  return groups
}

/** A field that the form computes. It is shown, and nobody types it. */
function ComputedField({ field, verdict }: { readonly field: FormField; readonly verdict: Verdict | null }) {
  const { value, waiting } = verdict ?? {}
  const text = textOfValue(value)
  return (
    <div class="field computed">
      <span class="label">{field.label}</span>
      {waiting === undefined ? <output>{text}</output> : <p class="soft">{waiting}</p>}
    </div>
  )
}

/** The field with the choices that the control plane has computed, if the form does not list them. */
function withChoices(field: FormField, verdict: Verdict | null): FormField {
  if (field.choices !== null || verdict?.choices === undefined) return field
  return { ...field, choices: verdict.choices.map((value) => field.choiceOf(value)) }
}
