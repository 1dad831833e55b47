import { RefusedValuesError } from '../../errors.js'
import { NOTHING_WRONG } from '../../forms/check/report.js'
import type { Form } from '../../forms/form.js'
import { holdsMask } from './masking.js'

/** What decides which values of a job are shown as a mask. */
export interface ShownMasks {
  readonly form: Pick<Form, 'passwordFields'>
  /** MASK_EXTRAVARS_REGEX, compiled. */
  readonly maskPattern: RegExp
}

const DESCRIPTION = 'this is the mask that stands for a value which is not shown; send the value itself'

/**
 * Refuses masks that a client was shown and sends back: a mask is never a value. If the form has password fields, any
 * value may have been shown as a mask, because it may contain a password. Otherwise only values that are hidden by
 * their names have been.
 * @param values the sent values, by name of the field or variable
 * @throws RefusedValuesError that names each of them
 */
export function refuseMasks({ form, maskPattern }: ShownMasks, ...values: readonly (object | null)[]): void {
  const entries = values.flatMap((of) => Object.entries(of ?? {}) as [string, unknown][])
  const found = entries.filter(([name, value]) => {
    return form.passwordFields.length > 0 ? holdsMask(value) : isMaskOfName(name, value, maskPattern)
  })
  if (found.length === 0) return
  const names = [...new Set(found.map(([name]) => name))]
  throw new RefusedValuesError(
    'values_refused',
    `The values of the form are refused (masked: ${names.join(', ')}; ${DESCRIPTION})`,
    {
      ...NOTHING_WRONG,
      invalid: names,
      validationErrors: Object.fromEntries(names.map((name) => [name, [{ type: 'masked', description: DESCRIPTION }]])),
    },
  )
}

/** Whether a mask stands under a name that the pattern hides. */
function isMaskOfName(name: string, value: unknown, maskPattern: RegExp): boolean {
  if (maskPattern.test(name)) return holdsMask(value)
  if (typeof value !== 'object' || value === null) return false
  // Entries of a list have no names of their own.
  return Object.entries(value).some(([key, entry]) => isMaskOfName(Array.isArray(value) ? '' : key, entry, maskPattern))
}
