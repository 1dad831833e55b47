import { useId, useRef } from 'preact/hooks'
import type { ComponentChildren } from 'preact'
import { SafeHtml } from '../parts/safe-html.js'
import { formWords } from '../words/en-form.js'
import type { Choice } from '@holdfast/client'
import type { FieldProps } from './field-props.js'
import { FileInput } from './file-input.js'
import { ListInput } from './list-input.js'
import { keyOf } from './place.js'
import { StructureInput } from './structure-input.js'
import { isStructure, sameValue, textBeside, textOfValue } from './value-text.js'

/** One field: its label, what belongs to its type, its help and what is wrong with its value. */
export function FieldInput(props: FieldProps) {
  const { field, place, problemsAt, before = null } = props
  const errors = problemsAt(place)
  const beside = textBeside(field, props.value)
  const id = useId()
  if (field.type === 'html') return <SafeHtml html={field.content} />
  if (field.isComputed) return null
  const described = [
    field.help === null ? '' : `${id}-help`,
    beside === null ? '' : `${id}-beside`,
    before === null ? '' : `${id}-before`,
    errors.length > 0 ? `${id}-errors` : '',
  ]
    .join(' ')
    .trim()
  const attributes = {
    id,
    name: field.name,
    'aria-describedby': described === '' ? undefined : described,
    'aria-invalid': errors.length > 0,
    'aria-required': field.required,
  }
  const isGroup = field.type === 'radio' || field.type === 'list' || (field.type === 'enum' && field.multiple)
  const label = (
    <>
      {field.label}
      {field.required && <span class="required"> {formWords.required}</span>}
    </>
  )
  return (
    <div class={`field ${field.type}${before === null ? '' : ' changed'}`}>
      {field.type === 'checkbox' ? null : isGroup ? (
        <span class="label" id={`${id}-label`}>
          {label}
        </span>
      ) : (
        <label class="label" for={id}>
          {label}
        </label>
      )}
      <Input {...props} attributes={attributes} label={label} />
      {field.help !== null && (
        <p class="soft help" id={`${id}-help`}>
          {field.help}
        </p>
      )}
      {beside !== null && (
        <p class="soft" id={`${id}-beside`}>
          {formWords.beside(beside)}
        </p>
      )}
      {before !== null && (
        <p class="soft" id={`${id}-before`}>
          {formWords.changed(before)}
        </p>
      )}
      {errors.length > 0 && (
        <ul class="field-errors" id={`${id}-errors`}>
          {errors.map((error) => (
            <li key={error}>{error}</li>
          ))}
        </ul>
      )}
    </div>
  )
}

type InputProps = FieldProps & {
  readonly attributes: {
    readonly id: string
    readonly name: string
    readonly 'aria-describedby': string | undefined
    readonly 'aria-invalid': boolean
    readonly 'aria-required': boolean
  }
  readonly label: ComponentChildren
}

const DATE_INPUTS: Readonly<Record<string, 'date' | 'time' | 'month' | 'week' | 'datetime-local'>> = {
  date: 'date',
  time: 'time',
  month: 'month',
  week: 'week',
  datetime: 'datetime-local',
}

function Input(props: InputProps) {
  const { field, place, value, change, attributes, label } = props
  const text = textOfValue(value, field.type)
  // A computed field takes an object or a list. While its text is typed, it is none for a moment.
  const wasStructure = useRef(isStructure(value))
  wasStructure.current ||= isStructure(value)
  if (wasStructure.current && field.type === 'expression')
    return <StructureInput value={value} change={change} attributes={attributes} />
  switch (field.type) {
    case 'textarea':
    case 'yaml':
      return (
        <textarea
          {...attributes}
          class={field.type === 'yaml' ? 'mono' : undefined}
          rows={field.type === 'yaml' ? 8 : 4}
          placeholder={field.placeholder ?? undefined}
          value={text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )
    case 'password':
      // The value is read when the form is sent, and is kept nowhere else. The form only hears that it changed.
      return (
        <input
          {...attributes}
          type="password"
          autocomplete="new-password"
          data-password={keyOf(place)}
          onInput={() => change(undefined)}
        />
      )
    case 'number':
      return (
        <input
          {...attributes}
          type="number"
          step="any"
          min={field.minValue ?? undefined}
          max={field.maxValue ?? undefined}
          value={isStructure(value) ? '' : text}
          onInput={({ currentTarget: { value: typed } }) => change(typed === '' ? null : Number(typed))}
        />
      )
    case 'checkbox':
      return (
        <label class="check">
          <input
            {...attributes}
            type="checkbox"
            checked={value === true}
            onChange={(event) => change(event.currentTarget.checked)}
          />
          {label}
        </label>
      )
    case 'radio':
      return <Choices {...props} kind="radio" />
    case 'enum':
      return field.multiple ? <Choices {...props} kind="checkbox" /> : <OneChoice {...props} />
    case 'datetime': {
      const kind = DATE_INPUTS[field.dateType]
      if (kind === undefined) return <TextInput {...props} />
      return (
        <input
          {...attributes}
          type={kind}
          value={isStructure(value) ? '' : text}
          onInput={(event) => change(event.currentTarget.value)}
        />
      )
    }
    case 'file':
      return <FileInput {...props} />
    case 'list':
      return <ListInput {...props} Field={FieldInput} label={`${attributes.id}-label`} />
    default:
      return <TextInput {...props} />
  }
}

/** A line of text. */
function TextInput({
  field,
  value,
  change,
  attributes,
}: Pick<InputProps, 'field' | 'value' | 'change' | 'attributes'>) {
  return (
    <input
      {...attributes}
      type="text"
      placeholder={field.placeholder ?? undefined}
      value={textOfValue(value)}
      onInput={(event) => change(event.currentTarget.value)}
    />
  )
}

function OneChoice({ field, value, change, attributes }: InputProps) {
  // The control plane computes the choices. While it cannot do that, the user types the value.
  if (field.choices === null) return <TextInput field={field} value={value} change={change} attributes={attributes} />
  const chosen = field.choices.findIndex((choice) => sameValue(choice.value, value))
  return (
    <select
      {...attributes}
      value={chosen === -1 ? '' : String(chosen)}
      onChange={({ currentTarget: { value: index } }) =>
        change(index === '' ? null : field.choices?.[Number(index)]?.value)
      }
    >
      <option value="">{formWords.choose}</option>
      {field.choices.map((choice, index) => (
        <option key={choice.label} value={String(index)}>
          {choice.label}
        </option>
      ))}
    </select>
  )
}

function Choices({ field, value, change, attributes, kind }: InputProps & { readonly kind: 'radio' | 'checkbox' }) {
  const chosen: readonly unknown[] = Array.isArray(value) ? value : value === undefined || value === null ? [] : [value]
  const isChosen = (choice: Choice) => chosen.some((one) => sameValue(one, choice.value)) || chosen.includes('__all__')
  const choose = (choice: Choice, isOn: boolean) => {
    if (kind === 'radio') return change(choice.value)
    const all = (field.choices ?? []).filter((one) => (one === choice ? isOn : isChosen(one)))
    return change(all.map((one) => one.value))
  }
  return (
    <div
      class="choices"
      role={kind === 'radio' ? 'radiogroup' : 'group'}
      aria-labelledby={`${attributes.id}-label`}
      aria-describedby={attributes['aria-describedby']}
    >
      {(field.choices ?? []).map((choice) => (
        <label key={choice.label} class="check">
          <input
            type={kind}
            name={attributes.id}
            checked={isChosen(choice)}
            onChange={(event) => choose(choice, event.currentTarget.checked)}
          />
          {choice.label}
        </label>
      ))}
    </div>
  )
}
