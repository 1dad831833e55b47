import type { Caller } from '../auth/caller.js'
import { isEveryone } from '../auth/roles.js'
import type { Form } from './form.js'

/** Whether the caller's roles open a form: admins may use every one, `default` and `public` mean everyone. */
export function mayUseForm(caller: Pick<Caller, 'isAdmin' | 'roles'>, form: Pick<Form, 'roles'>): boolean {
  return caller.isAdmin || form.roles.some((role) => isEveryone(role) || caller.roles.includes(role))
}
