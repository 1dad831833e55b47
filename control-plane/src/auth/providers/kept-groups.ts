import type { UserType } from '../../words/user-type.js'
import { type Membership, roleGroup, storedDn, storedId, storedName } from '../roles/group-names.js'
import type { RoleConfig } from '../roles/role-config.js'

/**
 * Most groups that are stored of one user in addition to those that roles name, and most characters of such a group.
 */
const MAX_GROUPS = 5000
const MAX_GROUP_LENGTH = 256

/** The groups of a user that are stored, without the prefix of their kind. */
export interface KeptGroups {
  readonly groups: readonly string[]
  /** Number of groups that were too many, too long, or have characters that no list shows. */
  readonly leftOut: number
}

/**
 * Selects the groups of a user to store. Every group that a role names is stored, however many there are. Distinguished
 * names are stored only if a role names them: they are long, and every request reads the list.
 */
export function keptGroups(
  type: UserType,
  memberships: readonly Membership[],
  { roles }: Pick<RoleConfig, 'roles'>,
): KeptGroups {
  const asked = new Set(roles.flatMap(({ groups = [] }) => groups.map(roleGroup)))
  const isAsked = (group: string) => asked.has(`${type}/${group}`)
  const named = new Set<string>()
  const others = new Set<string>()
  const put = (group: string) => (isAsked(group) ? named : others).add(group)
  for (const { name, id, dn } of memberships) {
    if (name !== null && name !== '') put(storedName(type, name))
    if (id !== undefined) put(storedId(id))
    const stored = dn === undefined ? null : storedDn(dn)
    if (stored !== null && isAsked(stored)) named.add(stored)
  }
  const fit = [...others].filter((group) => group.length <= MAX_GROUP_LENGTH && /^[^\p{C}]+$/u.test(group)).sort()
  const kept = fit.slice(0, Math.max(0, MAX_GROUPS - named.size))
  return { groups: [...named, ...kept].sort(), leftOut: others.size - kept.length }
}
