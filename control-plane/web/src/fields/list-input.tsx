import { type FormField, isShown } from '@holdfast/client'
import type { ComponentType } from 'preact'
import { useRef } from 'preact/hooks'
import { formWords } from '../words/en-form.js'
import type { FieldProps } from './field-props.js'

type Row = Readonly<Record<string, unknown>>

/**
 * The rows of a list, each with the fields of its form.
 * @property label id of the label
 * @property Field shows one field; a row may have a list of its own
 */
export function ListInput({
  field,
  place,
  value,
  problemsAt,
  change,
  subforms,
  label,
  Field,
}: FieldProps & { readonly label: string; readonly Field: ComponentType<FieldProps> }) {
  const rows: readonly Row[] = Array.isArray(value) ? (value as Row[]) : []
  const keys = useRowKeys(rows.length)
  const fields = field.subform === null ? [] : (subforms.get(field.subform) ?? [])
  return (
    <div class="rows" role="group" aria-labelledby={label}>
      {rows.length === 0 && <p class="soft">{formWords.noRows}</p>}
      {rows.map((row, index) => (
        <fieldset key={keys[index]}>
          <legend>{formWords.row(index + 1)}</legend>
          {fields
            .filter((one: FormField) => isShown(one, row))
            .map((one) => {
              const own = [...place, index, one.name]
              return (
                <Field
                  key={one.name}
                  field={one}
                  place={own}
                  value={row[one.name]}
                  problemsAt={problemsAt}
                  subforms={subforms}
                  change={(next, at = own) => change(rows.with(index, { ...row, [one.name]: next }), at)}
                />
              )
            })}
          <button
            type="button"
            class="quiet"
            onClick={() => {
              keys.splice(index, 1)
              change(rows.filter((_, at) => at !== index))
            }}
          >
            {formWords.removeRow(index + 1)}
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => change([...rows, startOf(fields)])}>
        {formWords.addRow}
      </button>
    </div>
  )
}

let lastKey = 0

/** The keys of the rows. When a row is removed, the inputs of the others keep what was typed into them. */
function useRowKeys(count: number): number[] {
  const { current: keys } = useRef<number[]>([])
  while (keys.length < count) keys.push((lastKey += 1))
  keys.length = count
  return keys
}

/** A new row with the defaults of its fields. */
function startOf(fields: readonly FormField[]): Row {
  return Object.fromEntries(
    fields.filter(({ default: value }) => value !== undefined).map(({ name, default: value }) => [name, value]),
  )
}
