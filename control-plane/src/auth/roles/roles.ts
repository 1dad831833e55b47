import { type StoredUser, usernameKey } from '../../store/accounts/users.js'
import { roleGroup } from './group-names.js'
import type { Role, RoleConfig } from './role-config.js'
import type { TokenScope } from './token-scopes.js'
import type { UserType } from '../../words/user-type.js'

export const ADMIN_ROLE = 'admin'
/** The role that everyone has, and the name it had before. */
export const EVERYONE_ROLE = 'default'
const OLD_EVERYONE_ROLE = 'public'

/** Options of roles that gate actions, all resolved: an admin holds every one. */
export interface RoleOptions {
  readonly allowVerboseMode: boolean
  readonly allowJobRelaunch: boolean
  readonly showAllJobLogs: boolean
  readonly manageAllJobs: boolean
  readonly allowApiTokens: boolean
}

/** What pages make their menus of, in the words of the product family. Nothing in this service hangs on these. */
export type PageOptions = Readonly<Record<string, boolean>>

/** What decides about a user's roles. */
export interface RoleSubject {
  readonly type: UserType
  readonly username: string
  /** With prefix: `local/ops`. */
  readonly groups: readonly string[]
  /** Another account had this name before, or has gone: what names the user does not mean this one. */
  readonly isLaterOfName: boolean
}

/** An account as roles see it. */
export function roleSubjectOf({ type, username, groups, nameHadBy }: StoredUser): RoleSubject {
  return { type, username, groups: groups.map((group) => `${type}/${group}`), isLaterOfName: nameHadBy !== null }
}

/** What the roles give a user. */
export interface RoleGrant {
  readonly roles: readonly string[]
  /** Roles that name the user, and mean an account that had this name before. */
  readonly rolesWithheld: readonly string[]
  readonly options: RoleOptions
  readonly pageOptions: PageOptions
  readonly isAdmin: boolean
  /** Null: not limited. */
  readonly allowedRunners: readonly string[] | null
  /** Regular expressions for whole names of credentials. Null: not limited. */
  readonly allowedCredentials: readonly string[] | null
  /** What API tokens may be used for. Null: not limited. */
  readonly tokenScopes: readonly TokenScope[] | null
}

/** What an option is when no role names it. */
const BUILT_IN: RoleOptions = {
  allowVerboseMode: true,
  allowJobRelaunch: false,
  showAllJobLogs: false,
  manageAllJobs: false,
  allowApiTokens: false,
}

/** Options that had another name before; a role that only says the old one means the new one. */
const OLD_NAMES: Partial<Record<keyof RoleOptions, string>> = { allowApiTokens: 'extendedTokenExpiration' }

/** What of a page is shown when no role says it: to everybody, or to admins. */
const SHOWN_TO = {
  showJobs: 'all',
  showExtravars: 'all',
  showArtifacts: 'all',
  showDebugButtons: 'all',
  showDesigner: 'admins',
  showSettings: 'admins',
  showLogs: 'admins',
} as const

/** What this service does not have, whatever a role says: pages lead nobody there. */
const NOT_THERE = [
  'allowBackupOps',
  'allowScheduledJobs',
  'allowStoredJobs',
  'allowPlannedJobs',
  'allowChat',
  'allowMcp',
]

const OPTION_NAMES = Object.keys(BUILT_IN) as (keyof RoleOptions)[]

/**
 * The roles of a user and what they add up to: an option that several roles name is on only if all of them say so,
 * the everyone role fills what is still unset, then the built-in defaults. An admin has every option and no limit.
 */
export function grantOf(subject: RoleSubject, config: RoleConfig): RoleGrant {
  const own = config.roles.filter((role) => !isEveryone(role.name) && hasMember(role, subject))
  const everyone = [EVERYONE_ROLE, OLD_EVERYONE_ROLE].flatMap((name) =>
    config.roles.filter((role) => role.name === name),
  )
  const isAdmin = own.some((role) => role.name === ADMIN_ROLE)
  return {
    roles: [...own.map((role) => role.name), EVERYONE_ROLE],
    rolesWithheld: config.roles.filter((role) => isWithheld(role, subject)).map((role) => role.name),
    options: resolveOptions(own, everyone, isAdmin),
    pageOptions: resolvePageOptions(own, everyone, isAdmin),
    isAdmin,
    allowedRunners: isAdmin ? null : unionOf('runners', [...own, ...everyone]),
    allowedCredentials: isAdmin ? null : unionOf('credentials', [...own, ...everyone]),
    tokenScopes: isAdmin ? null : unionOf('scopes', [...own, ...everyone]),
  }
}

/** `public` is the old name of `default`. */
export function isEveryone(role: string): boolean {
  return role === EVERYONE_ROLE || role === OLD_EVERYONE_ROLE
}

function hasMember(role: Role, subject: RoleSubject): boolean {
  if (membersOf(role).groups.some((group) => subject.groups.includes(group))) return true
  // A role means the account, and a name may be given to somebody else when its account is gone.
  return !subject.isLaterOfName && isNamed(role, subject)
}

function isWithheld(role: Role, subject: RoleSubject): boolean {
  return !isEveryone(role.name) && !hasMember(role, subject) && isNamed(role, subject)
}

function isNamed(role: Role, { type, username }: RoleSubject): boolean {
  return membersOf(role).users.has(`${type}/${usernameKey(username)}`)
}

/** Whom a role names, in the forms in which groups are stored and names are compared; roles are read seldom and asked often. */
const known = new WeakMap<Role, { readonly groups: readonly string[]; readonly users: ReadonlySet<string> }>()

/** A user as a role names them, in the form in which names are compared. */
export function userKey(text: string): string {
  const slash = text.indexOf('/')
  return `${text.slice(0, slash)}/${usernameKey(text.slice(slash + 1))}`
}

function membersOf(role: Role) {
  const before = known.get(role)
  if (before) return before
  const members = { groups: (role.groups ?? []).map(roleGroup), users: new Set((role.users ?? []).map(userKey)) }
  known.set(role, members)
  return members
}

function resolveOptions(own: readonly Role[], everyone: readonly Role[], isAdmin: boolean): RoleOptions {
  const resolved = { ...BUILT_IN }
  for (const name of OPTION_NAMES) {
    const said = ({ options }: Role) => options?.[name] ?? options?.[OLD_NAMES[name] ?? name] ?? []
    const named = own.flatMap(said)
    const filled = everyone.flatMap(said)
    if (isAdmin) resolved[name] = true
    else if (named.length > 0) resolved[name] = named.every(Boolean)
    else resolved[name] = filled[0] ?? BUILT_IN[name]
  }
  return resolved
}

function resolvePageOptions(own: readonly Role[], everyone: readonly Role[], isAdmin: boolean): PageOptions {
  const shown = Object.entries(SHOWN_TO).map(([name, to]): [string, boolean] => {
    const said = ({ options }: Role) =>
      options?.[name] ?? (name === 'showExtravars' ? options?.showExtraVars : null) ?? []
    const named = own.flatMap(said)
    const [filled = to === 'all' || isAdmin] = everyone.flatMap(said)
    return [name, named.length > 0 ? named.every(Boolean) : filled]
  })
  const options = Object.fromEntries([...shown, ...NOT_THERE.map((name): [string, boolean] => [name, false])])
  // Pages write this one in two ways.
  return { ...options, showExtraVars: options.showExtravars ?? true }
}

/** Nobody is limited until a role of theirs lists such things; then they have what their roles list together. */
function unionOf<What extends 'runners' | 'credentials' | 'scopes'>(
  what: What,
  roles: readonly Role[],
): readonly NonNullable<Role[What]>[number][] | null {
  const lists = roles.flatMap((role) => (role[what] === undefined ? [] : [role[what] as NonNullable<Role[What]>]))
  return lists.length === 0 ? null : [...new Set(lists.flat() as NonNullable<Role[What]>[number][])]
}
