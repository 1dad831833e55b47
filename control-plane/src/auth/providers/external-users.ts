import type { Clock } from '../../time/clock.js'
import type { Queries, Store } from '../../store/store.js'
import {
  type StoredUser,
  findUserByName,
  findUserBySubject,
  insertUser,
  updateUser,
} from '../../store/accounts/users.js'
import type { UserType } from '../../words/user-type.js'
import type { Membership } from '../roles/group-names.js'
import { type KeptGroups, keptGroups } from './kept-groups.js'
import type { RoleConfig } from '../roles/role-config.js'

/** A user as a directory or provider describes them. */
export interface Identity {
  readonly type: Exclude<UserType, 'local'>
  readonly username: string
  /**
   * The provider's id of the user, which does not depend on the name: `<issuer> <subject>`, in a directory `<attribute>
   * <value>`. Null: there is only the name.
   */
  readonly subject: string | null
  /** The ids by which it knew the user before the provider was renamed. */
  readonly formerSubjects?: readonly string[]
  /** True: config.yaml says that only names count, also for users that had an id before. */
  readonly isByName?: boolean
  readonly email: string | null
  readonly groups: readonly Membership[]
  /** True: the user has more groups than these. Groups that roles name are among these. */
  readonly isCut?: boolean
}

/** The result for a user that signed in. */
export type UserAdmission =
  | { readonly outcome: 'admitted'; readonly user: StoredUser; readonly isNew: boolean; readonly leftOut: number }
  /** An admin blocked the account. */
  | { readonly outcome: 'blocked'; readonly user: StoredUser }
  /** The name belongs to another account here. */
  | { readonly outcome: 'taken'; readonly user: StoredUser }
  /** The directory does not name the user any more. */
  | { readonly outcome: 'unproven'; readonly user: StoredUser }
  | { readonly outcome: 'bad name' }

/** The accounts of users who are not local. One is made at the first sign-in, and updated at each sign-in. */
export type ExternalUsers = ReturnType<typeof createExternalUsers>

/** Makes the {@link ExternalUsers} of this control plane. */
export function createExternalUsers({ store, clock }: { readonly store: Store; readonly clock: Clock }) {
  async function admitted(
    queries: Queries,
    identity: Identity,
    { groups, leftOut }: KeptGroups,
    user: StoredUser | null,
  ): Promise<UserAdmission> {
    const { type, username, subject } = identity
    const email = identity.email !== null && identity.email.length <= 320 ? identity.email : null
    if (!user) {
      const account = { username, type, subject, passwordHash: null, email, groups, enabled: true }
      const made = await insertUser(queries, { ...account, groupsLeftOut: leftOut, createdAt: clock.now() })
      if (!made) throw new Error(`the account ${type}/${username} was made meanwhile`)
      return { outcome: 'admitted', user: made, isNew: true, leftOut }
    }
    const isSame = user.email === email && user.subject === subject && user.groupsLeftOut === leftOut
    if (isSame && isSameList(user.groups, groups)) return { outcome: 'admitted', user, isNew: false, leftOut }
    const changed = await updateUser(queries, user.id, { email, groups, subject, groupsLeftOut: leftOut })
    return { outcome: 'admitted', user: changed ?? user, isNew: false, leftOut }
  }

  return {
    /**
     * The account of a user that signed in, with their current groups and address. A user with an id at the provider
     * keeps the account and its name when they are renamed there. Nobody gets an existing account because they were
     * given the name of its owner.
     */
    async admit(identity: Identity, config: Pick<RoleConfig, 'roles'>): Promise<UserAdmission> {
      const { type, username, subject } = identity
      if (!isFitName(username)) return { outcome: 'bad name' }
      const { groups, leftOut } = keptGroups(type, identity.groups, config)
      const kept = { groups, leftOut: leftOut + (identity.isCut ? 1 : 0) }
      return store.write('external-users.admit', async (queries): Promise<UserAdmission> => {
        const known = await findBySubjects(queries, identity)
        const user = known ?? (await findUserByName(queries, type, username))
        if (user && !known && !mayTakeByName(identity, user)) {
          return { outcome: type === 'ldap' && subject === null ? 'unproven' : 'taken', user }
        }
        if (user && !user.enabled) return { outcome: 'blocked', user }
        return admitted(queries, identity, kept, user)
      })
    },
  }
}

async function findBySubjects(queries: Queries, identity: Identity): Promise<StoredUser | null> {
  const { type, subject, formerSubjects = [] } = identity
  for (const one of subject === null ? [] : [subject, ...formerSubjects]) {
    const user = await findUserBySubject(queries, type, one)
    if (user) return user
  }
  return null
}

/**
 * Whether the account with that name belongs to the user although it has another id. With OpenID Connect it never does.
 * In a directory it does if the account never had an id, or if its id was another attribute.
 */
function mayTakeByName({ type, subject, isByName = false }: Identity, user: StoredUser): boolean {
  if (type !== 'ldap') return user.subject === subject
  if (user.subject === null || isByName) return true
  return subject !== null && attributeOf(subject) !== attributeOf(user.subject)
}

function attributeOf(subject: string): string {
  return subject.slice(0, subject.indexOf(' '))
}

/** Whether a name of a directory can be a username: it must not mislead the readers of a log or a list. */
function isFitName(username: string): boolean {
  return /^[^\p{C}]{1,200}$/u.test(username) && username.trim() === username
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at])
}
