import { type FormField, type Schedule, readForm } from '@holdfast/client'
import { useAnswer } from '../../live/answer.js'
import { api } from '../../live/api.js'
import { Fact } from '../../parts/fact.js'
import { scheduleWords as text } from '../../words/en-schedules.js'
import { words } from '../../words/en.js'

/** The values that a schedule launches its form with, by the labels of the form. */
export function ScheduleValues({ schedule: { form, values, credentials } }: { readonly schedule: Schedule }) {
  // The form may be gone, or forbidden. Then the values stand by their names.
  const { value: found } = useAnswer(`form of schedule/${form}`, [], (signal) =>
    api.getForm({ name: form }, { signal }),
  )
  const parts = (found === null ? null : readForm(form, found))?.parts ?? []
  const fields = new Map(parts.flatMap((part) => part.fields.map((field) => [keyOf(part.step, field.name), field])))
  const steps = new Set(parts.flatMap(({ step }) => step ?? []))
  const rows = Object.entries(values).flatMap(([name, value]) =>
    steps.has(name) && typeof value === 'object' && value !== null
      ? Object.entries(value).map(([own, entry]) => [keyOf(name, own), entry] as const)
      : [[name, value] as const],
  )
  return (
    <section aria-labelledby="values">
      <h2 id="values">{text.values}</h2>
      {rows.length === 0 && Object.keys(credentials).length === 0 ? (
        <p class="soft">{text.noValues}</p>
      ) : (
        <>
          <dl class="facts">
            {rows.map(([key, value]) => (
              <Fact key={key} name={fields.get(key)?.label ?? key}>
                {valueText(fields.get(key), value)}
              </Fact>
            ))}
            {Object.entries(credentials).map(([name, credential]) => (
              <Fact key={`credential ${name}`} name={`${text.credentials}: ${name}`}>
                {credential}
              </Fact>
            ))}
          </dl>
          <p class="soft">{text.valuesText}</p>
        </>
      )}
    </section>
  )
}

const keyOf = (step: string | null, name: string) => (step === null ? name : `${step}.${name}`)

/** A value for people: the label of a choice, or the value itself. */
function valueText(field: FormField | undefined, value: unknown): string {
  if (value === undefined || value === null || value === '') return words.none
  if (Array.isArray(value) && value.every((one) => typeof one !== 'object')) {
    return value.map((one) => valueText(field, one)).join(', ') || words.none
  }
  if (typeof value === 'object') return JSON.stringify(value)
  const choice = field?.choices?.find((one) => one.value === value)
  return choice?.label ?? String(value)
}
