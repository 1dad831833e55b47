import { type StoredUser, findUserByName } from '../store/users.js'
import type { Store } from '../store/store.js'
import type { UserType } from './caller.js'
import type { RoleSource } from './role-source.js'
import { type RoleGrant, grantOf } from './roles.js'

/** What the roles give now to somebody who is not making a request; without an account, what everyone has. */
export interface Grants {
  of(username: string, type: string): Promise<RoleGrant>
}

export function createGrants({ store, roles }: { readonly store: Store; readonly roles: RoleSource }): Grants {
  return {
    async of(username, type) {
      const user: Pick<StoredUser, 'groups'> | null = await findUserByName(store.read, type, username)
      const groups = (user?.groups ?? []).map((group) => `${type}/${group}`)
      return grantOf({ type: type as UserType, username, groups }, await roles.current())
    },
  }
}
