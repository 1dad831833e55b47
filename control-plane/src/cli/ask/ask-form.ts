import type { Client, FormModel, FormPart } from '@holdfast/client'
import { askFields } from './ask-fields.js'
import { withoutFiles } from './ask-rows.js'
import { Judge } from './judge.js'
import type { Prompts } from './prompts.js'

type Values = Readonly<Record<string, unknown>>

/** What a person answered. */
export interface Answers {
  /** The values by field. In a wizard: by step, then by field. */
  readonly values: Record<string, unknown>
  /** The paths of files by file field. */
  readonly files: ReadonlyMap<string, string>
}

/**
 * Walks through a form at a terminal. It asks for each field that is shown, and prints the values that the control plane
 * computes. The control plane checks each answer. A field with a given value is asked for only when that value is refused.
 * @param given values by field; in a wizard by step, then by field
 */
export async function askForm(
  client: Pick<Client, 'evaluateForm'>,
  form: FormModel,
  given: Values,
  paths: ReadonlyMap<string, string>,
  prompts: Prompts,
): Promise<Answers> {
  const judge = new Judge(client, form, paths)
  const walk = { judge, subforms: form.subforms, prompts }
  for (const part of form.parts) {
    const { step, fields } = part
    if (step === null) await askFields(walk, { path: [], kind: 'form', fields, values: judge.values }, given)
    else {
      const ofStep = objectOf(given[step])
      if (!(await isTaken(judge, part, step, ofStep, prompts))) continue
      prompts.say(`Step: ${step}`)
      const values = (judge.values[step] = {})
      await askFields(walk, { path: [step], kind: 'step', fields, values }, ofStep)
    }
  }
  const { values, files } = withoutFiles(judge.values)
  return { values, files: new Map([...judge.files, ...files]) }
}

async function isTaken(judge: Judge, part: FormPart, step: string, given: Values, prompts: Prompts): Promise<boolean> {
  if (!(await judge.isStepShown(step))) return false
  const mayBeLeftOut = part.isOptional && Object.keys(given).length === 0
  return !mayBeLeftOut || prompts.confirm(`Fill in the step "${step}"?`, false)
}

function objectOf(value: unknown): Values {
  return typeof value === 'object' && value !== null && !Array.isArray(value) ? (value as Values) : {}
}
