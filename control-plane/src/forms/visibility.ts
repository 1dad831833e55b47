import type { Caller } from '../auth/sessions/caller.js'
import { isEveryone } from '../auth/roles/roles.js'
import { takesFiles } from './fields/file-keys.js'
import type { Form } from './form.js'
import { reachedSubforms } from './subforms.js'

/** Whether the caller's roles allow a form. Admins may use every form. `default` and `public` mean everyone. */
export function mayUseForm(caller: Pick<Caller, 'isAdmin' | 'roles'>, form: Pick<Form, 'roles'>): boolean {
  return caller.isAdmin || form.roles.some((role) => isEveryone(role) || caller.roles.includes(role))
}

/** Whether there is a form that takes a file, and that the caller may launch. @param forms all forms, subforms too */
export function mayUploadFiles(
  caller: Pick<Caller, 'isAdmin' | 'roles'>,
  forms: readonly Pick<Form, 'name' | 'roles' | 'type' | 'fields' | 'wizard'>[],
): boolean {
  const parts = new Map(forms.filter(({ type }) => type === 'subform').map((form) => [form.name, form]))
  return forms.some(
    (form) =>
      form.type !== 'subform' &&
      mayUseForm(caller, form) &&
      takesFiles({ fields: form.fields, subforms: reachedSubforms(form, parts) }),
  )
}
