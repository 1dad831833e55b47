import type { FormField, FormModel } from '@holdfast/client'
import { formWords } from '../../words/en-form.js'
import type { Values } from './form-parts.js'
import type { Problems } from './problems.js'

/** What stands in the values of a job in place of a value that is not kept. */
const MASK = '********'

/** Whether a value, or something in it, was not kept. */
function holdsMask(value: unknown): boolean {
  if (typeof value !== 'object' || value === null) return value === MASK
  return Object.values(value).some(holdsMask)
}

/** The values of a job without the masks: nobody wants to send those. */
export function withoutMasks(values: Values): Values {
  return without(values) as Values
}

function without(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((entry) => (entry === MASK ? '' : without(entry)))
  if (typeof value !== 'object' || value === null) return value
  const entries = Object.entries(value).filter(([, entry]) => entry !== MASK)
  return Object.fromEntries(entries.map(([name, entry]) => [name, without(entry)]))
}

/**
 * Which fields somebody has to enter again, because the job that is run again did not keep their values: passwords, and
 * values that contained one.
 * @param values the values of that job, with their masks
 * @returns says that for the key of a place
 */
export function enteredAgain(form: FormModel, values: Values): (key: string) => boolean {
  const holdsPassword = ({ type, subform }: FormField): boolean =>
    type === 'password' ||
    (type === 'list' && subform !== null && (form.subforms.get(subform) ?? []).some(holdsPassword))
  const keys = form.parts.flatMap(({ step, fields }) => {
    const own = step === null ? values : ((values[step] ?? {}) as Values)
    const again = fields.filter((field) => holdsPassword(field) || holdsMask(own[field.name]))
    return again.map(({ name }) => (step === null ? name : `${step}.${name}`))
  })
  return (key) => keys.includes(key)
}

/** What is said at the fields for which the control plane has asked, before anything is changed. */
export function problemsOfAsked(asked: readonly string[], isAgain: (key: string) => boolean): Problems {
  return new Map(asked.filter(isAgain).map((key) => [key, [formWords.again]]))
}
