import { type StoredUser, findUser } from '../store/accounts/users.js'
import type { Store } from '../store/store.js'
import type { RoleSource } from './role-source.js'
import { type RoleGrant, grantOf, roleSubjectOf } from './roles.js'
import type { UserType } from '../user-type.js'

/** What the roles give now to somebody who is not making a request, and whether they could make one. */
export interface AccountGrant extends RoleGrant {
  /** Of `none` the roles are those that everyone has. */
  readonly account: 'enabled' | 'blocked' | 'none'
}

export interface Grants {
  /** @param launched what somebody launched; of an account that is gone the name says nothing */
  of(launched: {
    readonly user_id: number | null
    readonly user_name: string
    readonly user_type: UserType
  }): Promise<AccountGrant>
}

export function createGrants({ store, roles }: { readonly store: Store; readonly roles: RoleSource }): Grants {
  return {
    async of({ user_id: id, user_name: username, user_type: type }) {
      const user = id === null ? null : await findUser(store.read, id)
      const gone = { type, username, groups: [], isLaterOfName: true }
      const grant = grantOf(user ? roleSubjectOf(user) : gone, await roles.current())
      return { ...grant, account: accountOf(user) }
    },
  }
}

function accountOf(user: StoredUser | null): AccountGrant['account'] {
  if (user === null) return 'none'
  return user.enabled ? 'enabled' : 'blocked'
}
