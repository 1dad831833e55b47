import { parseFormFile } from '../../../control-plane/src/forms/parse/parse-form.js'
import { checkForm } from '../../../control-plane/src/forms/check/check-form.js'
import type { CheckInput, CheckResult } from '../../../control-plane/src/forms/check/context.js'
import type { Form } from '../../../control-plane/src/forms/form.js'
import { reachedSubforms } from '../../../control-plane/src/forms/subforms.js'
import { type OpenEvaluator, loadQuickJs } from '../../../control-plane/src/forms/sandbox/quickjs.js'

/** A moment in 2026. */
export const NOW = Date.UTC(2026, 2, 4, 5, 6, 7)

/** The forms of a YAML text, by name. Fails when one of them is wrong. */
function formsOf(text: string): Map<string, Form> {
  const { forms, errors } = parseFormFile('forms.yml', text)
  if (errors.length > 0) throw new Error(JSON.stringify(errors))
  return new Map(forms.map(({ form }) => [form.name, form]))
}

/** A form with these fields (YAML of a list, or values), and subforms by name. */
export function formOf(fields: unknown, subforms: Readonly<Record<string, unknown>> = {}, more: object = {}): string {
  const forms = [
    { name: 'main', type: 'ansible', playbook: 'site.yml', fields, ...more },
    ...Object.entries(subforms).map(([name, below]) => ({ name, type: 'subform', fields: below })),
  ]
  return JSON.stringify(forms)
}

let opened: Promise<OpenEvaluator> | null = null

/** Checks the values of the first form of a text, scripts and patterns included. */
export async function check(
  text: string,
  values: Readonly<Record<string, unknown>>,
  more: Partial<CheckInput> = {},
  at?: (field: string) => void,
): Promise<CheckResult> {
  const forms = formsOf(text)
  const [form] = forms.values()
  if (!form) throw new Error('there is no form')
  const open = await (opened ??= loadQuickJs())
  const evaluator = open(NOW, more.functions)
  const result = checkForm(
    {
      fields: form.fields,
      wizard: form.wizard,
      subforms: reachedSubforms(form, forms),
      values,
      uploads: {},
      constants: {},
      user: { username: 'ann', groups: ['local/ops'] },
      now: NOW,
      ...more,
    },
    evaluator,
    at,
  )
  evaluator.close()
  return result
}
