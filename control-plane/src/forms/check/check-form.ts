import type { WizardStep } from '../fields/field.js'
import { fileKeyOf, rowsWithFiles } from '../fields/file-keys.js'
import { parsePath } from '../fields/model-path.js'
import type { Evaluator } from './evaluator.js'
import { putAt } from '../values/extravars.js'
import { fillScript } from '../values/fill-script.js'
import type { Resolved } from '../values/placeholders.js'
import { isPlainObject, partOf } from '../values/plain.js'
import { isVerified } from '../values/uploads.js'
import {
  type CheckContext,
  type CheckInput,
  type CheckResult,
  MAX_ROWS,
  NO_PARENT,
  placeKeyOf,
  type ParentValues,
} from './context.js'
import { type CheckDetails, detailsOf, together } from './report.js'
import type { Scope } from './scope-type.js'
import { createScope } from './scope.js'
import { shownFields } from './shown-fields.js'
import type { ShownStep } from './shown-form.js'

/**
 * Checks the values of a launch against its form, and builds the extra variables from them. Only the input decides: the
 * same values of the same form at the same time give the same result.
 * @param at called before a script or pattern of the form runs
 */
export function checkForm(
  input: CheckInput,
  evaluator: Evaluator,
  at: (field: string) => void = () => undefined,
): CheckResult {
  const context: CheckContext = {
    evaluator,
    at,
    subforms: input.subforms,
    constants: input.constants,
    user: input.user,
    uploads: input.uploads,
    rowsWithFiles: rowsWithFiles(Object.keys(input.uploads)),
    rows: { left: MAX_ROWS },
    chain: { length: 0 },
    openDefaults: new Set(),
    inDeletedRow: false,
    passwords: new Set(),
    sentValues: input.sentValues ?? {},
    place: [],
    rowsToShow: new Set(input.rowsToShow?.map(placeKeyOf)),
    shownRows: [],
    answers: input.answers ?? new Map(),
    asked: new Map(),
  }
  const form = createScope(input.fields, input.values, context, NO_PARENT)
  const details = [detailsOf(form.findings()), unknownUploads(input)]
  const extravars = form.extravars()
  const credentials = form.credentials()

  const steps = new Map<string, Scope>()
  const shownSteps = new Map<string, ShownStep>()
  const parent = parentOfSteps(form, steps, input.wizard)
  for (const step of input.wizard) {
    const shown = isShown(step, parent, context)
    shownSteps.set(step.name, shownStep(shown))
    if (typeof shown === 'string') details.push(waitingStep(step, shown))
    if (shown !== true) continue
    const sent = input.values[step.name] ?? {}
    if (!isPlainObject(sent)) {
      details.push(brokenStep(step))
      continue
    }
    // A file alone fills a step in, too.
    const hasFile = Object.keys(input.uploads).some((key) => key.startsWith(`${step.name}.`))
    if (step.optional && Object.keys(sent).length === 0 && !hasFile) continue
    const inStep = { ...context, place: [step.name] }
    const scope = createScope(input.subforms[step.subform] ?? [], sent, inStep, parent)
    details.push(detailsOf(scope.findings(), `${step.name}.`))
    putStep(extravars, step, scope)
    Object.assign(credentials, scope.credentials())
    steps.set(step.name, scope)
    if (input.isShowing) shownSteps.set(step.name, { shown: true, fields: shownFields(scope) })
  }
  const shown = input.isShowing
    ? { shown: { fields: shownFields(form), steps: Object.fromEntries(shownSteps), rows: context.shownRows } }
    : {}
  const asked = context.asked.size > 0 ? { asked: [...context.asked.values()] } : {}
  return { details: together(details), extravars, credentials, passwords: [...context.passwords], ...shown, ...asked }
}

/** Reports uploads under keys that name no file field. */
function unknownUploads(input: CheckInput): CheckDetails {
  const unknown = Object.entries(input.uploads).filter(([key]) => {
    const found = fileKeyOf(input, key)
    return !('key' in found) || found.key !== key
  })
  return detailsOf(
    unknown.map(([name, upload]) => ({
      name,
      errors: [],
      waiting: null,
      rowErrors: [],
      uploadProblem: isVerified(upload) ? NO_FILE_FIELD : upload.problem,
    })),
  )
}

const NO_FILE_FIELD = { type: 'no_file_field', description: 'the form has no file field of this name' }

/** In a wizard, `__parent__` holds the form's own fields and the steps. A skipped step has no values. */
function parentOfSteps(form: Scope, steps: ReadonlyMap<string, Scope>, wizard: readonly WizardStep[]): ParentValues {
  return {
    resolve(path): Resolved {
      const step = typeof path[0] === 'string' ? steps.get(path[0]) : undefined
      if (!step) return form.resolve(path)
      return path.length > 1 ? step.resolve(path.slice(1)) : { known: true, value: step.values() }
    },
    object: () => ({
      ...form.values(),
      ...Object.fromEntries(wizard.map(({ name }) => [name, steps.get(name)?.values() ?? {}])),
    }),
  }
}

/** Whether a step is shown. A text is the reason why this cannot be known. */
function isShown(step: WizardStep, parent: ParentValues, context: CheckContext): boolean | string {
  if (step.when === null) return true
  const resolve = (path: readonly (string | number)[]): Resolved => {
    if (path[0] === '__parent__') return parent.resolve(path.slice(1))
    const value = path[0] === '__user__' ? partOf(context.user, path.slice(1)) : partOf(context.constants, path)
    return { known: value !== undefined, value }
  }
  // A skipped step has no values. This counts as a known value.
  const filled = fillScript(step.when, resolve, true)
  context.at(step.name)
  const result = context.evaluator.evaluate(filled.text, parent.object(filled.text))
  return result.ok ? Boolean(result.value) : `whether this step is shown cannot be known: ${result.reason}`
}

function putStep(extravars: Record<string, unknown>, step: WizardStep, scope: Scope): void {
  const base = step.defaultModel === null ? [] : (parsePath(step.defaultModel) ?? [])
  // The object of the step is there even when no field puts anything into it.
  if (base.length > 0) putAt(extravars, base, {})
  scope.extravars(extravars, base)
}

function shownStep(shown: boolean | string): ShownStep {
  return typeof shown === 'string' ? { shown: false, waiting: shown, fields: {} } : { shown, fields: {} }
}

function waitingStep(step: WizardStep, reason: string): CheckDetails {
  return detailsOf([{ name: step.name, errors: [], waiting: reason, rowErrors: [], uploadProblem: null }])
}

function brokenStep(step: WizardStep): CheckDetails {
  const errors = [{ type: 'type', description: `${step.name} must be an object with the values of its fields` }]
  return detailsOf([{ name: step.name, errors, waiting: null, rowErrors: [], uploadProblem: null }])
}
