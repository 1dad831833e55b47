import type { ComponentType } from 'preact'
import type { FieldProps } from './field-props.js'
import { words } from '../words/en.js'
import { type FormField, isShown } from '@holdfast/client'

type Row = Readonly<Record<string, unknown>>

/**
 * The rows of a list, each with the fields of its form.
 * @property label id of the label
 * @property Field shows one field; a row may have a list of its own
 */
export function ListInput({
  field,
  value,
  change,
  subforms,
  label,
  Field,
}: FieldProps & { readonly label: string; readonly Field: ComponentType<FieldProps> }) {
  const rows: readonly Row[] = Array.isArray(value) ? (value as Row[]) : []
  const fields = field.subform === null ? [] : (subforms.get(field.subform) ?? [])
  const replace = (index: number, row: Row) => change(rows.map((one, at) => (at === index ? row : one)))
  return (
    <div class="rows" role="group" aria-labelledby={label}>
      {rows.length === 0 && <p class="soft">{words.form.noRows}</p>}
      {rows.map((row, index) => (
        <fieldset key={index}>
          <legend>{words.form.row(index + 1)}</legend>
          {fields
            .filter((one: FormField) => isShown(one, row))
            .map((one) => (
              <Field
                key={one.name}
                field={one}
                value={row[one.name]}
                errors={[]}
                subforms={subforms}
                change={(next) => replace(index, { ...row, [one.name]: next })}
              />
            ))}
          <button
            type="button"
            class="quiet"
            aria-label={words.form.removeRow(index + 1)}
            onClick={() => change(rows.filter((_, at) => at !== index))}
          >
            {words.form.removeRow(index + 1)}
          </button>
        </fieldset>
      ))}
      <button type="button" onClick={() => change([...rows, startOf(fields)])}>
        {words.form.addRow}
      </button>
    </div>
  )
}

/** A new row with the defaults of its fields. */
function startOf(fields: readonly FormField[]): Row {
  return Object.fromEntries(
    fields.filter(({ default: value }) => value !== undefined).map(({ name, default: value }) => [name, value]),
  )
}
