import { canonicalDn } from './distinguished-name.js'

/** A group of a user, as their directory or provider names it. */
export interface Membership {
  /** The name for people; null: the group has no name, or its name does not count. */
  readonly name: string | null
  /** The object id of a group of Entra ID. */
  readonly id?: string
  /** The distinguished name of a group of a directory. */
  readonly dn?: string
}

/** Names and ids of groups are stored in one list. Ids, which nobody can choose freely, have a prefix of their own. */
const PREFIXES: Readonly<Record<string, RegExp>> = { azuread: /^(id|name):/i, ldap: /^(dn|name):/i }

const GUID = /^\{?([0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})\}?$/i

/** The stored form of a group's name, without the prefix of its kind. A name that looks like an id stays a name. */
export function storedName(type: string, name: string): string {
  const looksOther = PREFIXES[type]?.test(name) || (type === 'azuread' && GUID.test(name))
  return looksOther ? `name:${name}` : name
}

/** The stored form of an object id, without the prefix of its kind. */
export function storedId(id: string): string {
  return `id:${(GUID.exec(id)?.[1] ?? id).toLowerCase()}`
}

/** The stored form of a distinguished name, without the prefix of its kind; null when the text is not one. */
export function storedDn(dn: string): string | null {
  const canonical = canonicalDn(dn)
  return canonical === null ? null : `dn:${canonical}`
}

/**
 * A group that a role names, in its stored form with the prefix of its kind: `azuread/id:<object id>` (also without
 * `id:`), `ldap/dn:<distinguished name>`, or a name. An id is never compared with a name.
 */
export function roleGroup(text: string): string {
  const slash = text.indexOf('/')
  const [type, group] = [text.slice(0, slash), text.slice(slash + 1)]
  const prefix = PREFIXES[type]?.exec(group)?.[1]?.toLowerCase()
  const rest = prefix === undefined ? group : group.slice(prefix.length + 1)
  if (prefix === 'id' || (prefix === undefined && type === 'azuread' && GUID.test(group))) {
    return `${type}/${storedId(rest.trim())}`
  }
  // A text that is not a distinguished name matches nobody.
  if (prefix === 'dn') return `${type}/${storedDn(rest) ?? 'dn:'}`
  return slash === -1 ? text : `${type}/${storedName(type, rest)}`
}

/** The groups of a directory that roles name: by name and by distinguished name. */
export interface AskedGroups {
  readonly names: readonly string[]
  readonly dns: readonly string[]
}

/** Collects the groups of a directory that roles name. */
export function askedGroups(roles: readonly { readonly groups?: readonly string[] }[]): AskedGroups {
  const stored = new Set(roles.flatMap(({ groups = [] }) => groups.map(roleGroup)))
  const ldap = [...stored].filter((group) => group.startsWith('ldap/')).map((group) => group.slice('ldap/'.length))
  return {
    names: ldap.filter((group) => !group.startsWith('dn:')).map((group) => group.replace(/^name:/, '')),
    dns: ldap.filter((group) => group.startsWith('dn:')).map((group) => group.slice('dn:'.length)),
  }
}

/** Whether a role names a group by a name that somebody else may give to another group. */
export function isNamedLoosely(text: string): boolean {
  const stored = roleGroup(text)
  return /^(ldap\/(?!dn:)|azuread\/(?!id:))/.test(stored)
}
