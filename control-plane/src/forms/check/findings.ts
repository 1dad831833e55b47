import type { Field } from '../fields/field.js'
import type { PathStep } from '../fields/model-path.js'
import type { Resolved } from '../values/placeholders.js'
import type { CheckContext } from './context.js'
import type { FieldValue } from './field-value.js'
import type { FieldFinding } from './report.js'
import { brokenRules } from './rules.js'

/** The facts about the fields of one scope that the findings need. */
interface FindingDependencies {
  readonly context: CheckContext
  readonly valueOf: (field: Field) => FieldValue
  /** False for a field that was asked for during its own evaluation: it has no final value yet. */
  readonly isFinal: (field: Field, value: FieldValue) => boolean
  readonly resolve: (path: readonly PathStep[]) => Resolved
  readonly labelOf: (name: string) => string
}

/** Makes the function that finds the errors of a field. It checks each field once. */
export function createFindings(deps: FindingDependencies): (field: Field) => FieldFinding {
  const { context, valueOf, isFinal } = deps
  const found = new Map<string, FieldFinding>()

  function errorsOf(field: Field, state: FieldValue) {
    if (state.errors.length > 0) return state.errors
    if (field.rules.regex !== null) context.at(field.name)
    return brokenRules(field, state.value, {
      evaluator: context.evaluator,
      resolve: deps.resolve,
      labelOf: deps.labelOf,
      upload: state.upload,
    })
  }

  return (field) => {
    const known = found.get(field.name)
    if (known) return known
    const state = valueOf(field)
    const finding: FieldFinding = {
      name: field.name,
      errors: state.isHidden || state.waiting !== null ? [] : errorsOf(field, state),
      waiting: state.waiting,
      rowErrors: state.rowErrors,
      uploadProblem: state.uploadProblem,
    }
    if (isFinal(field, state)) found.set(field.name, finding)
    return finding
  }
}
