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
    errors.push(...content.errors)
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

/** A form with a missing subform cannot be filled in. So it is left out, and so is every form that uses it. */
function withTheirSubforms(placed: readonly PlacedForm[], errors: FormError[]): readonly PlacedForm[] {
  const names = new Set(placed.filter(({ form }) => form.type === 'subform').map(({ form }) => form.name))
  const kept = placed.filter(({ form, file, line }) => {
    const unknown = namedSubforms(form).find((name) => !names.has(name))
    if (unknown === undefined) return true
    errors.push({
      file,
      line,
      form: form.name,
      reason: `there is no form of type subform named ${JSON.stringify(unknown)}`,
    })
    return false
  })
  return kept.length === placed.length ? kept : withTheirSubforms(kept, errors)
}
