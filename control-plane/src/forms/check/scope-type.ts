import type { Field } from '../fields/field.js'
import type { PathStep } from '../fields/model-path.js'
import type { PlainObject } from '../values/plain.js'
import type { CheckContext, ParentValues } from './context.js'
import type { FieldValue } from './field-value.js'
import type { FieldFinding } from './report.js'

/**
 * The fields of a form, row or step with their values. A field is computed once, when something asks for it. A field
 * that needs its own value can never be computed, and an error says so. There is no other order of evaluation.
 */
export interface Scope extends ParentValues {
  readonly fields: readonly Field[]
  readonly context: CheckContext
  readonly parent: ParentValues
  /** What the client sent. */
  readonly sent: PlainObject
  /**
   * Makes the scope of a row, or of the object of a field. A row has its own scope, and a scope reads rows. So the two
   * modules need each other.
   */
  open(fields: readonly Field[], sent: PlainObject, context: CheckContext, parent: ParentValues): Scope
  valueOf(field: Field): FieldValue
  findings(): FieldFinding[]
  /** The values as people see them in the form. Other fields and `__parent__` refer to these. */
  values(): Record<string, unknown>
  /**
   * The values as the playbook gets them.
   * @param into the object that gets them; a new object when left out
   * @param base the place in it for all values except those whose model begins at the root
   */
  extravars(into?: Record<string, unknown>, base?: readonly PathStep[]): Record<string, unknown>
  credentials(): Record<string, unknown>
}
