import type { Field } from '../fields/field.js'
import { outputOf, putField } from '../values/extravars.js'
import type { FieldValue } from './field-value.js'
import type { Scope } from './scope-type.js'

/** The results of the fields of a scope that a launch uses. */
export function createOutputs(
  fields: readonly Field[],
  valueOf: (field: Field) => FieldValue,
): Pick<Scope, 'values' | 'extravars' | 'credentials'> {
  return {
    values: () => Object.fromEntries(fields.map((field) => [field.name, valueOf(field).value])),
    extravars(extravars = {}, base = []) {
      for (const field of fields) {
        if (!field.output || field.type === 'html') continue
        const { output, value } = valueOf(field)
        putField(extravars, field, output === undefined ? outputOf(field, value) : output, base)
      }
      return extravars
    },
    credentials() {
      const asking = fields.filter((field) => field.asCredential)
      const named = asking.map((field) => [field.name, outputOf(field, valueOf(field).value)] as const)
      return Object.fromEntries(named.filter(([, name]) => name !== undefined && name !== null && name !== ''))
    },
  }
}
