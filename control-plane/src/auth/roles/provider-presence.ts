import { UnauthenticatedError } from '../../errors.js'
import { withoutSlash } from './provider-checks.js'
import type { RoleConfig } from './role-config.js'
import type { UserType } from '../../words/user-type.js'

/** The origin of an account. */
interface Origin {
  readonly type: UserType
  readonly subject: string | null
}

/** Whether config.yaml still has the directory or provider that an account comes from. */
export function isProviderThere({ type, subject }: Origin, { providers = {} }: RoleConfig): boolean {
  if (type === 'local') return true
  if (type === 'ldap') return providers.ldap !== undefined
  const settings = type === 'oidc' ? providers.oidc : type === 'azuread' ? providers.azuread : undefined
  if (!settings || subject === null) return false
  const issuer = withoutSlash(subject.slice(0, subject.indexOf(' ')))
  return [settings.issuer, ...settings.formerIssuers].some((one) => withoutSlash(one) === issuer)
}

/** @throws UnauthenticatedError when config.yaml does not have the origin of the account any more */
export function requireProvider(account: Origin, config: RoleConfig): void {
  if (isProviderThere(account, config)) return
  throw new UnauthenticatedError('provider_gone', 'Users of this kind cannot sign in here any more')
}
