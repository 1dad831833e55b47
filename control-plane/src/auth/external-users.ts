import type { Clock } from '../clock.js'
import type { Store } from '../store/store.js'
import { type StoredUser, findUserByName, findUserBySubject, insertUser, updateUser } from '../store/users.js'
import type { UserType } from './caller.js'

/** Somebody whom a directory or a provider vouches for. */
export interface Identity {
  readonly type: Exclude<UserType, 'local'>
  readonly username: string
  /** What the provider knows them by, whatever their name is; null: the name is all there is. */
  readonly subject: string | null
  readonly email: string | null
  /** Without prefix. */
  readonly groups: readonly string[]
}

/** What became of somebody who was vouched for. */
export type Admission =
  | { readonly outcome: 'admitted'; readonly user: StoredUser }
  /** An admin blocked the account. */
  | { readonly outcome: 'blocked'; readonly user: StoredUser }
  /** The name belongs to somebody else here. */
  | { readonly outcome: 'taken'; readonly user: StoredUser }
  | { readonly outcome: 'bad name' }

/** The accounts of users who are not local: one is made at the first sign-in, and brought up to date at each. */
export interface ExternalUsers {
  /**
   * The account of somebody who was vouched for, with the groups and the address that they have now. Whom the provider
   * knows by a subject keeps the account and its name when they are renamed there, and nobody gets an account because
   * they were given the name of somebody who had it before.
   */
  admit(identity: Identity): Promise<Admission>
}

/** Groups that are kept of one user, and characters of a group. */
const MOST_GROUPS = 5000
const LONGEST_GROUP = 256

export function createExternalUsers({ store, clock }: { readonly store: Store; readonly clock: Clock }): ExternalUsers {
  return {
    async admit(identity) {
      const { type, username, subject } = identity
      if (!isFitName(username)) return { outcome: 'bad name' }
      const groups = fitGroups(identity.groups)
      const email = identity.email !== null && identity.email.length <= 320 ? identity.email : null
      return store.write('external-users.admit', async (queries): Promise<Admission> => {
        const known = subject === null ? null : await findUserBySubject(queries, type, subject)
        const user = known ?? (await findUserByName(queries, type, username))
        if (!user) {
          const account = { username, type, subject, passwordHash: null, email, groups, enabled: true }
          const made = await insertUser(queries, { ...account, createdAt: clock.now() })
          if (!made) throw new Error(`the account ${type}/${username} was made meanwhile`)
          return { outcome: 'admitted', user: made }
        }
        if (user.subject !== subject) return { outcome: 'taken', user }
        if (!user.enabled) return { outcome: 'blocked', user }
        if (user.email === email && isSameList(user.groups, groups)) return { outcome: 'admitted', user }
        return { outcome: 'admitted', user: (await updateUser(queries, user.id, { email, groups })) ?? user }
      })
    },
  }
}

/** Whether a name of a directory can be a username: a log or a list must not be fooled by it. */
function isFitName(username: string): boolean {
  return /^[^\p{C}]{1,200}$/u.test(username) && username.trim() === username
}

function fitGroups(groups: readonly string[]): string[] {
  const fit = groups.filter((group) => group.length <= LONGEST_GROUP && /^[^\p{C}]+$/u.test(group))
  return [...new Set(fit)].sort().slice(0, MOST_GROUPS)
}

function isSameList(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && one.every((item, at) => item === other[at])
}
