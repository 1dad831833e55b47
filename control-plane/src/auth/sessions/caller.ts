import type { StoredUser } from '../../store/accounts/users.js'
import { requireProvider } from '../roles/provider-presence.js'
import type { RoleConfig } from '../roles/role-config.js'
import { type PageOptions, type RoleOptions, grantOf, roleSubjectOf } from '../roles/roles.js'
import { type TokenScope, narrowest } from '../roles/token-scopes.js'
import type { UserType } from '../../words/user-type.js'

/** The user who makes a request, with the roles that config.yaml gives now. */
export interface Caller {
  readonly id: number
  readonly username: string
  readonly type: UserType
  readonly email: string | null
  /** With prefix: `local/ops`. */
  readonly groups: readonly string[]
  readonly roles: readonly string[]
  /** Roles that name the user, but mean an earlier account with this name. */
  readonly rolesWithheld: readonly string[]
  readonly isLaterOfName: boolean
  readonly options: RoleOptions
  readonly pageOptions: PageOptions
  readonly isAdmin: boolean
  /** Names of the runners that the roles allow for launches; null: all. */
  readonly allowedRunners: readonly string[] | null
  /** The credentials that the roles allow for launches, as regular expressions for whole names; null: all. */
  readonly allowedCredentials: readonly string[] | null
  readonly sessionId: string
  /** The scopes that the roles allow for API tokens; null: all. */
  readonly tokenScopes: readonly TokenScope[] | null
  /** The scopes of the API token of this request; null: everything that its owner may do. */
  readonly scopes: readonly TokenScope[] | null
  /** True: the user has to change the password before they can do anything else. */
  readonly passwordMustChange: boolean
}

/**
 * The owner of an account as a caller, with the rights of their roles.
 * @param token the scopes of an API token; left out for a session of a sign-in
 * @throws UnauthenticatedError when the directory or provider of the account is not configured any more
 */
export function callerFor(
  user: StoredUser,
  sessionId: string,
  config: RoleConfig,
  token?: { readonly scopes: readonly TokenScope[] | null },
): Caller {
  requireProvider(user, config)
  const subject = { ...roleSubjectOf(user), type: user.type }
  const grant = grantOf(subject, config)
  const scopes = token ? narrowest(token.scopes, grant.tokenScopes) : null
  return {
    ...subject,
    ...grant,
    // So routes and rules that ask for an admin need not know of scopes.
    isAdmin: grant.isAdmin && scopes === null,
    id: user.id,
    email: user.email,
    sessionId,
    scopes,
    passwordMustChange: user.passwordMustChange,
  }
}
