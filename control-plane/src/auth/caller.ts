import type { StoredUser } from '../store/accounts/users.js'
import { requireProvider } from './provider-presence.js'
import type { RoleConfig } from './role-config.js'
import { type PageOptions, type RoleOptions, grantOf, roleSubjectOf } from './roles.js'
import { type TokenScope, narrowest } from './token-scopes.js'
import type { UserType } from '../user-type.js'

/** Who makes a request, with the roles as config.yaml has them now. */
export interface Caller {
  readonly id: number
  readonly username: string
  readonly type: UserType
  readonly email: string | null
  /** With prefix: `local/ops`. */
  readonly groups: readonly string[]
  readonly roles: readonly string[]
  /** Roles that name the user, and mean an account that had this name before. */
  readonly rolesWithheld: readonly string[]
  readonly isLaterOfName: boolean
  readonly options: RoleOptions
  readonly pageOptions: PageOptions
  readonly isAdmin: boolean
  /** Names of runners that the roles limit a launch to; null: not limited. */
  readonly allowedRunners: readonly string[] | null
  /** Regular expressions for whole names of credentials that the roles limit a launch to; null: not limited. */
  readonly allowedCredentials: readonly string[] | null
  readonly sessionId: string
  /** What the roles let API tokens be used for; null: not limited. */
  readonly tokenScopes: readonly TokenScope[] | null
  /** What the API token of the request may be used for; null: everything that its owner may do. */
  readonly scopes: readonly TokenScope[] | null
  /** The password has to be changed before anything else can be done. */
  readonly passwordMustChange: boolean
}

/**
 * The owner of an account as a caller, with what the roles give them.
 * @param token what an API token was made for; left out for a session of a sign-in
 * @throws UnauthenticatedError when the directory or provider that vouches for the account is not in use any more
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
    // Routes and rules that ask for an admin need not know of scopes.
    isAdmin: grant.isAdmin && scopes === null,
    id: user.id,
    email: user.email,
    sessionId,
    scopes,
    passwordMustChange: user.passwordMustChange,
  }
}
