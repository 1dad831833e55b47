import type { Form, FormError } from '../form.js'
import type { ParsedFile, PlacedForm } from '../parse/parse-form.js'
import { namedSubforms, passwordKeys, reachedSubforms } from '../subforms.js'

/** The forms of all files together, and why others were left out. */
export interface LoadedForms {
  readonly forms: readonly Form[]
  readonly byName: ReadonlyMap<string, Form>
  readonly subforms: ReadonlyMap<string, Form>
  readonly errors: readonly FormError[]
}

/** All forms in the order of their files. Of two forms with the same name, the first one counts. */
export function collectForms(
  contents: readonly ParsedFile[],
  folderErrors: readonly FormError[],
): LoadedForms & { readonly placed: readonly PlacedForm[] } {
  const errors: FormError[] = [...folderErrors]
  const first = new Map<string, PlacedForm>()
  for (const content of contents) {
    for (const error of content.errors) errors.push(error)
    for (const placed of content.forms) {
      const { form, file, line } = placed
      const known = first.get(form.name)
      if (known)
        errors.push({ file, line, form: form.name, reason: `there already is a form of this name in ${known.file}` })
      else first.set(form.name, placed)
    }
  }
  const placed = withTheirSubforms([...first.values()], errors)
  const subforms = new Map(placed.filter(({ form }) => form.type === 'subform').map(({ form }) => [form.name, form]))
  const forms = placed.map(({ form }) => ({
    ...form,
    passwordFields: passwordKeys(form, reachedSubforms(form, subforms)),
  }))
  return { placed, forms, byName: new Map(forms.map((form) => [form.name, form])), subforms, errors }
}

/**
 * A form with a missing subform cannot be filled in. So it is left out, and so is every form that uses it. Each form is
 * looked at once, however long a chain of subforms is.
 */
function withTheirSubforms(placed: readonly PlacedForm[], errors: FormError[]): readonly PlacedForm[] {
  const names = new Set(placed.filter(({ form }) => form.type === 'subform').map(({ form }) => form.name))
  const users = new Map<string, PlacedForm[]>()
  const missing = new Set<string>()
  for (const one of placed) {
    for (const name of new Set(namedSubforms(one.form))) {
      const known = users.get(name)
      if (known) known.push(one)
      else users.set(name, [one])
      if (!names.has(name)) missing.add(name)
    }
  }
  const leftOut = new Set<PlacedForm>()
  // What is added meanwhile is gone through, too.
  for (const name of missing) {
    for (const user of users.get(name) ?? []) {
      if (leftOut.has(user)) continue
      const { form, file, line } = user
      const reason = `there is no form of type subform named ${JSON.stringify(name)}`
      errors.push({ file, line, form: form.name, reason })
      leftOut.add(user)
      if (form.type === 'subform') missing.add(form.name)
    }
  }
  return placed.filter((one) => !leftOut.has(one))
}
