import { type StoredUser, findPastName, findUserByName, usernameKey } from '../../store/accounts/users.js'
import type { Store } from '../../store/store.js'
import type { Identity } from './external-users.js'
import { isNamedLoosely, roleGroup, storedDn, storedId, storedName } from '../roles/group-names.js'
import type { RoleConfig } from '../roles/role-config.js'
import { userKey } from '../roles/roles.js'
import { userTypeOf } from '../../words/user-type.js'

/** Most advice that is remembered. Each piece is logged once, so that nobody can fill the log with it. */
const MAX_SAID = 200

/**
 * Tells the person who writes config.yaml which of its roles somebody else could get, and how to write them instead.
 */
export type RoleAdvice = ReturnType<typeof createRoleAdvice>

/** Makes the part that logs advice about the roles of config.yaml. */
export function createRoleAdvice(deps: {
  readonly store: Store
  readonly log: { warn(fields: object, text: string): void }
}) {
  const said = new Set<string>()
  function warnOnce(fields: object, text: string): void {
    const key = JSON.stringify([fields, text])
    if (said.has(key) || said.size >= MAX_SAID) return
    said.add(key)
    deps.log.warn(fields, text)
  }

  function lookAtGroups({ roles, providers }: RoleConfig): void {
    const { ldap } = providers ?? {}
    if (!ldap || ldap.groupsBase !== null || ldap.groupsAttribute === null) return
    for (const { name, groups = [] } of roles) {
      for (const group of groups.filter((text) => text.startsWith('ldap/') && isNamedLoosely(text))) {
        warnOnce(
          { role: name, group },
          'a group of this name anywhere in the directory gives the role: write ldap/dn:<distinguished name> in config.yaml, ' +
            'or set ldap.groupsBase to where groups count',
        )
      }
    }
  }

  async function lookAtUsers({ roles }: RoleConfig): Promise<void> {
    for (const { name, users = [] } of roles) {
      for (const user of users) {
        const [, prefix = '', username = ''] = /^([^/]*)\/(.*)$/s.exec(user) ?? []
        const type = userTypeOf(prefix)
        const found = type && (await findUserByName(deps.store.read, type, username))
        if (found?.nameHadBy === null) continue
        const wasHad = found !== null || (type && (await findPastName(deps.store.read, type, username))) !== null
        if (found) warnOnce({ role: name, user, id: found.id }, WITHHELD)
        else if (wasHad) warnOnce({ role: name, user }, 'the account of this name was deleted: nobody has the role')
        else if (type !== 'local') warnOnce({ role: name, user }, UNCLAIMED)
      }
    }
  }

  return {
    /** Logs advice about the present roles, at the start and when they have changed. */
    async look(config: RoleConfig): Promise<void> {
      lookAtGroups(config)
      await lookAtUsers(config)
    },
    /** Logs advice about a user who signed in and has a role only by the name of a group. */
    signedIn({ type, groups }: Identity, { roles, providers }: RoleConfig): void {
      if (type === 'ldap' && (providers?.ldap?.groupsBase ?? null) !== null) return
      for (const { name: role, groups: asked = [] } of roles) {
        for (const text of asked.filter(isNamedLoosely)) {
          for (const { name, id, dn } of groups) {
            if (name === null || roleGroup(text) !== `${type}/${storedName(type, name)}`) continue
            const stored = id === undefined ? dn && storedDn(dn) : storedId(id)
            if (!stored) continue
            warnOnce(
              { role, group: text, by: `${type}/${stored}` },
              'a role was given by the name of a group, which may be given to another group, too: if this is the group that is ' +
                'meant, write it in config.yaml as `by` has it',
            )
          }
        }
      }
    },
    /** Logs advice about a new account that a role names. */
    made: (user: StoredUser, config: RoleConfig) => warnOfNew(user, config, deps.log),
  }
}

const UNCLAIMED = 'nobody has this account yet: whoever signs in first under this name gets it, and the role with it'
const WITHHELD =
  'a role names a user, but a deleted account had this name, so the role is withheld from the new one: if it is who is meant, ' +
  'run holdfast user accept-name with the id'

/** Logs for a new account that roles name whether it has these roles, or whether a deleted account had that name. */
export function warnOfNew(
  { type, username, id, nameHadBy }: StoredUser,
  { roles }: RoleConfig,
  log: { warn(fields: object, text: string): void },
): void {
  const key = `${type}/${usernameKey(username)}`
  const named = roles.filter(({ users = [] }) => users.some((user) => userKey(user) === key))
  if (named.length === 0) return
  const fields = { user: `${type}/${username}`, id, roles: named.map((role) => role.name) }
  const given = 'a new account has the roles that name it in config.yaml: look whether it is who was meant'
  log.warn(fields, nameHadBy === null ? given : WITHHELD)
}
