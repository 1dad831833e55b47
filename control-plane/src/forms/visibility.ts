import type { Caller } from '../auth/sessions/caller.js'
import { isEveryone } from '../auth/roles/roles.js'
import type { Form } from './form.js'

/** Whether the caller's roles open a form: admins may use every one, `default` and `public` mean everyone. */
export function mayUseForm(caller: Pick<Caller, 'isAdmin' | 'roles'>, form: Pick<Form, 'roles'>): boolean {
  return caller.isAdmin || form.roles.some((role) => isEveryone(role) || caller.roles.includes(role))
}

/** Whether there is a form with a file field that the caller may launch. */
export function mayUploadFiles(
  caller: Pick<Caller, 'isAdmin' | 'roles'>,
  forms: readonly Pick<Form, 'roles' | 'type' | 'fields'>[],
): boolean {
  return forms.some(
    (form) => form.type !== 'subform' && form.fields.some((field) => field.type === 'file') && mayUseForm(caller, form),
  )
}
