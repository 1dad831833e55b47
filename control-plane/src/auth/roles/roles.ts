import { type StoredUser, usernameKey } from '../../store/accounts/users.js'
import { roleGroup } from './group-names.js'
import type { Role, RoleConfig } from './role-config.js'
import type { TokenScope } from './token-scopes.js'
import type { UserType } from '../../words/user-type.js'

/** The role whose users may do everything. */
export const ADMIN_ROLE = 'admin'
/** The role that everyone has, and its earlier name. */
export const EVERYONE_ROLE = 'default'
const OLD_EVERYONE_ROLE = 'public'

/** The options of roles that allow actions, after all roles were combined. An admin has all of them. */
export interface RoleOptions {
  readonly allowVerboseMode: boolean
  readonly allowJobRelaunch: boolean
  readonly showAllJobLogs: boolean
  readonly manageAllJobs: boolean
  readonly allowApiTokens: boolean
}

/**
 * The options from which pages make their menus, in the words of the product family. This service itself does not use
 * them.
 */
export type PageOptions = Readonly<Record<string, boolean>>

/** The facts that decide about a user's roles. */
export interface RoleSubject {
  readonly type: UserType
  readonly username: string
  /** With prefix: `local/ops`. */
  readonly groups: readonly string[]
  /** Another account had this name before. So roles that name the user do not mean this account. */
  readonly isLaterOfName: boolean
}

/** An account as roles see it. */
export function roleSubjectOf({ type, username, groups, nameHadBy }: StoredUser): RoleSubject {
  return { type, username, groups: groups.map((group) => `${type}/${group}`), isLaterOfName: nameHadBy !== null }
}

/** The rights that the roles give a user. */
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
  /** The scopes that API tokens may have. Null: not limited. */
  readonly tokenScopes: readonly TokenScope[] | null
}

/** The value of an option that no role names. */
const BUILT_IN: RoleOptions = {
  allowVerboseMode: true,
  allowJobRelaunch: false,
  showAllJobLogs: false,
  manageAllJobs: false,
  allowApiTokens: false,
}

/** Options with an earlier name. A role that only has the earlier name means the new one. */
const OLD_NAMES: Partial<Record<keyof RoleOptions, string>> = { allowApiTokens: 'extendedTokenExpiration' }

/** The parts of a page that are shown if no role names them: to everybody, or to admins. */
const SHOWN_TO = {
  showJobs: 'all',
  showExtravars: 'all',
  showArtifacts: 'all',
  showDebugButtons: 'all',
  showDesigner: 'admins',
  showSettings: 'admins',
  showLogs: 'admins',
} as const

/** Features that this service does not have. They are always off, so that pages have no links to them. */
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
 * The roles of a user, and their rights together. An option that several roles name is on only if all of them turn it
 * on. If no role names it, the role of everyone counts, and then the built-in default. An admin has every option and no
 * limit.
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
  const { groups } = membersOf(role)
  if (subject.groups.some((group) => groups.has(group.normalize('NFC')))) return true
  // A role means an account. When the account is gone, somebody else may get its name.
  return !subject.isLaterOfName && isNamed(role, subject)
}

function isWithheld(role: Role, subject: RoleSubject): boolean {
  return !isEveryone(role.name) && !hasMember(role, subject) && isNamed(role, subject)
}

function isNamed(role: Role, { type, username }: RoleSubject): boolean {
  return membersOf(role).users.has(`${type}/${usernameKey(username)}`)
}

/**
 * The groups and users that a role names, in the forms that are stored and compared. They are computed once, because
 * roles are read rarely and used often.
 */
const known = new WeakMap<Role, { readonly groups: ReadonlySet<string>; readonly users: ReadonlySet<string> }>()

/** A user that a role names, in the form in which names are compared. */
export function userKey(text: string): string {
  const slash = text.indexOf('/')
  return `${text.slice(0, slash)}/${usernameKey(text.slice(slash + 1))}`
}

function membersOf(role: Role) {
  const before = known.get(role)
  if (before) return before
  // Letters have one form. A directory or an editor may compose them in another way.
  const groups = new Set((role.groups ?? []).map((group) => roleGroup(group).normalize('NFC')))
  const members = { groups, users: new Set((role.users ?? []).map(userKey)) }
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
  // Pages use two spellings of this option.
  return { ...options, showExtraVars: options.showExtravars ?? true }
}

/** A user is not limited until one of their roles has such a list. Then all lists of their roles together count. */
function unionOf<What extends 'runners' | 'credentials' | 'scopes'>(
  what: What,
  roles: readonly Role[],
): readonly NonNullable<Role[What]>[number][] | null {
  const lists = roles.flatMap((role) => (role[what] === undefined ? [] : [role[what] as NonNullable<Role[What]>]))
  return lists.length === 0 ? null : [...new Set(lists.flat() as NonNullable<Role[What]>[number][])]
}
