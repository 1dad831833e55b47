import { type StoredUser, findUser } from '../../store/accounts/users.js'
import type { Store } from '../../store/store.js'
import type { RoleSource } from './role-source.js'
import { type RoleGrant, grantOf, roleSubjectOf } from './roles.js'
import type { UserType } from '../../words/user-type.js'

/** The present rights of a user who makes no request, and whether the user could make one. */
export interface AccountGrant extends RoleGrant {
  /** For `none`, the roles are those of everyone. */
  readonly account: 'enabled' | 'blocked' | 'none'
}

/** Finds the rights of a user who makes no request. */
export interface Grants {
  /** @param launched who launched something; when the account is gone, the name alone gives no rights */
  of(launched: {
    readonly user_id: number | null
    readonly user_name: string
    readonly user_type: UserType
  }): Promise<AccountGrant>
}

/** Makes the {@link Grants} of this control plane. */
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
