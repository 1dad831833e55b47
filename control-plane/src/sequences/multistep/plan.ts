import * as v from 'valibot'
import { vaultNeedsSchema } from '../../credentials/job/vault-needs.js'
import { RefusedValuesError } from '../../errors.js'
import { parsePath, placesOf } from '../../forms/fields/model-path.js'
import type { FormContext, MultistepForm, Step } from '../../forms/form.js'
import { isPlainObject } from '../../forms/values/plain.js'
import type { PlannedSequence } from '../../jobs/record/sequence-port.js'
import type { Values } from '../kind.js'

const text = v.nullable(v.string())
const settingsSchema = v.object({
  playbook: v.string(),
  playbookSubPath: text,
  inventory: v.array(v.string()),
  tags: text,
  limit: text,
  listedInventories: v.array(v.string()),
  check: v.boolean(),
  diff: v.boolean(),
  verbose: v.boolean(),
  keepExtravars: v.boolean(),
  allowJinjaInExtravars: v.boolean(),
  executionImage: text,
  playbookFiles: v.nullable(v.array(v.string())),
  runner: text,
  credentials: v.record(v.string(), v.string()),
  ansibleCredentials: text,
  vaultCredentials: vaultNeedsSchema,
})

const stepSchema = v.object({
  name: v.string(),
  settings: settingsSchema,
  key: text,
  /** The reserved variables below `key` that count: those that come from fields of the form. */
  reserved: v.array(v.string()),
  ifExtraVar: text,
  continue: v.boolean(),
  always: v.boolean(),
  notifications: v.nullable(
    v.object({
      recipients: v.array(v.string()),
      channels: v.array(v.string()),
      onStatus: v.array(v.string()),
      onEvent: v.array(v.string()),
    }),
  ),
  approval: v.nullable(
    v.object({
      title: text,
      message: text,
      roles: v.array(v.string()),
      notifications: v.array(v.string()),
      allowSelf: v.boolean(),
    }),
  ),
})
const planSchema = v.object({ steps: v.array(stepSchema) })

/** A step as it was at the launch. */
export type PlannedStep = v.InferOutput<typeof stepSchema>
/** The plan of a multistep job, as it is stored. */
export type StepsPlan = v.InferOutput<typeof planSchema>

/** Reads a stored plan. */
export function stepsPlanOf(stored: unknown): StepsPlan {
  return v.parse(planSchema, stored)
}

/** @throws RefusedValuesError when a step is of a type that needs a foreign system */
export function planSteps(form: MultistepForm, { subforms }: FormContext): PlannedSequence {
  const steps = form.steps.map(({ type, settings, ...step }): PlannedStep => {
    if (!settings) throw foreign(form, step.name, type)
    const reserved = step.key === null ? [] : keysBelow(step.key, form, subforms)
    return v.parse(stepSchema, { ...step, settings, reserved })
  })
  const plan: StepsPlan = { steps }
  return {
    plan,
    nodes: steps.map(({ name }) => name),
    problem: null,
    jobs: steps.map((step) => ({
      settings: step.settings,
      values: (parentValues) => stepVariables(step, parentValues),
    })),
  }
}

const RESERVED = /^__.+__$/

/**
 * The extra variables of a step. They are those of the parent job. With `key` they are only the object under that key,
 * the launching user, and the verbose mode of the parent job. A reserved variable in that object counts only if a field
 * of the form puts it there.
 */
export function stepVariables({ key, reserved }: Pick<PlannedStep, 'key' | 'reserved'>, parentValues: Values): Values {
  const own = key !== null && Object.hasOwn(parentValues, key) ? parentValues[key] : undefined
  if (!isPlainObject(own)) return parentValues
  const counts = (name: string) => !RESERVED.test(name) || reserved.includes(name)
  const values = Object.fromEntries(Object.entries(own).filter(([name]) => counts(name)))
  const verbose = parentValues.__verbose__ === true ? { __verbose__: true } : {}
  return { ...verbose, ...values, ansibleforms_user: parentValues.ansibleforms_user }
}

/** The keys that fields put below a variable, by their `model` or the `defaultModel` of their page. */
function keysBelow(
  key: string,
  { fields, wizard }: Pick<MultistepForm, 'fields' | 'wizard'>,
  subforms: FormContext['subforms'],
): string[] {
  const paths = [
    ...fields.flatMap((field) => placesOf(field)),
    ...wizard.flatMap(({ subform, defaultModel }) => {
      const base = defaultModel === null ? [] : (parsePath(defaultModel) ?? [])
      return (subforms[subform] ?? []).flatMap((field) => placesOf(field, base))
    }),
  ]
  return paths.flatMap(([first, second]) => {
    return first === key && typeof second === 'string' ? [second] : []
  })
}

function foreign(form: MultistepForm, step: Step['name'], type: string): RefusedValuesError {
  return new RefusedValuesError(
    'form_type_unsupported',
    `The step '${step}' of the form '${form.name}' is of type '${type}', which cannot be launched by this service yet`,
  )
}
