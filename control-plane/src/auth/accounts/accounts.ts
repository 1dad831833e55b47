import type { Clock } from '../../time/clock.js'
import { ConflictError, ForbiddenError, InvalidInputError, NotFoundError } from '../../errors.js'
import { deleteSessionsOfUser } from '../../store/accounts/sessions.js'
import type { Store } from '../../store/store.js'
import {
  type StoredUser,
  acceptName,
  deleteUser,
  findUser,
  insertUser,
  listUsers,
  updateUser,
  usernameKey,
} from '../../store/accounts/users.js'
import { checkGroups, checkPassword, checkUsername } from './account-rules.js'
import type { Caller } from '../sessions/caller.js'
import { networkOf } from '../sessions/network.js'
import type { Passwords } from '../sign-in/passwords.js'
import type { RoleSource } from '../roles/role-source.js'
import { warnOfNew } from '../providers/role-advice.js'
import { grantOf, roleSubjectOf } from '../roles/roles.js'
import { type SignIn, forgetGuesses } from '../sign-in/sign-in.js'

/** An account that an admin makes. `password` is in clear. */
export interface NewAccount {
  readonly username: string
  readonly password: string
  readonly groups?: readonly string[]
  readonly email?: string | null
  readonly enabled?: boolean
  /** The user has to change the password at the first sign-in. */
  readonly passwordMustChange?: boolean
}

/** Changes of an account. A property that is left out stays. */
export type AccountChanges = Partial<NewAccount>

/**
 * Changes the accounts, for admins and their owners. The caller is checked before. For an account that is not local,
 * only its property `enabled` can be changed here.
 */
export interface Accounts {
  list(): Promise<StoredUser[]>
  /** @throws NotFoundError */
  find(id: number): Promise<StoredUser>
  /** @throws InvalidInputError, ConflictError when the name is taken */
  create(account: NewAccount): Promise<StoredUser>
  /**
   * Changes the given properties. If the account is blocked or gets a new password, its sessions and API tokens end.
   * @throws NotFoundError, InvalidInputError, ConflictError when callers would take their own admin rights away
   */
  change(id: number, changes: AccountChanges, by: Caller): Promise<StoredUser>
  /** @throws NotFoundError, ConflictError for the caller's own account */
  remove(id: number, by: Caller): Promise<void>
  /**
   * From now on everything that names this user means this account, and not the deleted account that had the name.
   * @throws NotFoundError
   */
  acceptName(id: number): Promise<StoredUser>
  /** Roles that name the user, but mean a deleted account with that name. */
  rolesWithheld(user: StoredUser): Promise<readonly string[]>
  /**
   * Sets the caller's new password, and ends all sessions and API tokens.
   * @throws InvalidInputError, ForbiddenError, TooManyError
   */
  changeOwnPassword(
    by: Caller,
    passwords: { readonly current: string; readonly next: string },
    address: string,
  ): Promise<void>
}

/** What the accounts need of other parts. */
export interface AccountDependencies {
  readonly store: Store
  readonly passwords: Passwords
  readonly roles: RoleSource
  readonly signIn: SignIn
  readonly clock: Clock
  readonly log: { warn(fields: object, text: string): void }
}

/** Makes the {@link Accounts} of this control plane. */
export function createAccounts(deps: AccountDependencies): Accounts {
  const { store } = deps

  async function find(id: number): Promise<StoredUser> {
    const user = await findUser(store.read, id)
    if (!user) throw noSuchUser()
    return user
  }

  return {
    list: () => listUsers(store.read),
    find,
    async create(account) {
      checkUsername(account.username)
      checkPassword(account.password, account.username)
      const groups = checkGroups(account.groups ?? [])
      const passwordHash = await deps.passwords.hash(account.password)
      const user = await store.write('accounts.create', (queries) =>
        insertUser(queries, {
          username: account.username,
          type: 'local',
          passwordHash,
          email: account.email ?? null,
          groups,
          enabled: account.enabled ?? true,
          passwordMustChange: account.passwordMustChange ?? false,
          createdAt: deps.clock.now(),
        }),
      )
      if (!user) throw new ConflictError('user_exists', `There is already a user named ${account.username}`)
      warnOfNew(user, await deps.roles.current(), deps.log)
      return user
    },
    async change(id, changes, by) {
      const user = await find(id)
      if (changes.username !== undefined && usernameKey(changes.username) !== usernameKey(user.username)) {
        throw new InvalidInputError('username_fixed', 'A username cannot be changed: jobs belong to it')
      }
      if (user.type !== 'local') refuseForeignParts(user, changes)
      const groups = changes.groups === undefined ? undefined : checkGroupsOf(user, changes.groups)
      if (changes.password !== undefined) checkPassword(changes.password, user.username)
      await refuseOwnLoss(deps.roles, id, changes, by)
      const passwordHash = changes.password === undefined ? undefined : await deps.passwords.hash(changes.password)
      const { email, enabled, passwordMustChange = passwordHash === undefined ? undefined : false } = changes
      return applyChanges(store, id, { passwordHash, groups, email, enabled, passwordMustChange }, by)
    },
    async remove(id, by) {
      await find(id)
      if (id === by.id) throw new ConflictError('own_account', 'You cannot delete your own account')
      const outcome = await store.write('accounts.remove', async (queries) => {
        if (!(await findUser(queries, by.id))?.enabled) return 'caller gone' as const
        return deleteUser(queries, id)
      })
      if (outcome === 'caller gone') throw callerGone()
      if (!outcome) throw noSuchUser()
    },
    async acceptName(id) {
      const user = await store.write('accounts.accept-name', (queries) => acceptName(queries, id))
      if (!user) throw noSuchUser()
      return user
    },
    async rolesWithheld(user) {
      return grantOf(roleSubjectOf(user), await deps.roles.current()).rolesWithheld
    },
    async changeOwnPassword(by, { current, next }, address) {
      if (by.type !== 'local') {
        throw new InvalidInputError('not_local', 'Only a local account has a password here')
      }
      checkPassword(next, by.username)
      if (!(await deps.signIn.confirm(by.username, current, address))) {
        throw new ForbiddenError('wrong_password', 'The current password is wrong')
      }
      if (by.passwordMustChange && next === current) {
        throw new InvalidInputError('same_password', 'The new password must be another one')
      }
      const passwordHash = await deps.passwords.hash(next, networkOf(address))
      await applyChanges(store, by.id, { passwordHash, passwordMustChange: false }, by)
    },
  }
}

/** Admins cannot take their own admin rights away. So there is always one admin left. */
async function refuseOwnLoss(roles: RoleSource, id: number, changes: AccountChanges, by: Caller): Promise<void> {
  if (id !== by.id) return
  if (changes.enabled === false) throw new ConflictError('own_account', 'You cannot block your own account')
  if (changes.groups === undefined) return
  const groups = changes.groups.map((group) => `${by.type}/${group}`)
  if (!grantOf({ ...by, groups }, await roles.current()).isAdmin) {
    throw new ConflictError('own_account', 'You cannot take the admin role from your own account')
  }
}

/** Stores the changes. Sessions and tokens that have to end, end in the same write. */
async function applyChanges(
  store: Store,
  id: number,
  changes: Parameters<typeof updateUser>[2],
  by: Caller,
): Promise<StoredUser> {
  const endsSessions = changes.enabled === false || changes.passwordHash !== undefined
  const user = await store.write('accounts.change', async (queries) => {
    if (!(await findUser(queries, by.id))?.enabled) return 'caller gone' as const
    const changed = await updateUser(queries, id, changes)
    if (changed && endsSessions) await deleteSessionsOfUser(queries, id)
    // A new password also unlocks an account that was locked after wrong passwords.
    if (changed && changes.passwordHash !== undefined) await forgetGuesses(queries, changed.username)
    return changed
  })
  if (user === 'caller gone') throw callerGone()
  if (!user) throw noSuchUser()
  return user
}

/**
 * Refuses changes of properties that the directory or provider decides. These come with the next sign-in of the user,
 * who has no password here.
 */
function refuseForeignParts(user: StoredUser, { password, groups, email, passwordMustChange }: AccountChanges): void {
  const isSame = (given: unknown, own: unknown) => given === undefined || JSON.stringify(given) === JSON.stringify(own)
  if (password === undefined && passwordMustChange !== true && isSame(groups, user.groups) && isSame(email, user.email))
    return
  throw new InvalidInputError(
    'not_local',
    `Password, groups and address of a user of type ${user.type} are kept elsewhere; here they can be blocked or deleted`,
  )
}

/** The groups of a user who is not local are those of the directory or provider, whatever their names look like. */
function checkGroupsOf(user: StoredUser, groups: readonly string[]): string[] {
  return user.type === 'local' ? checkGroups(groups) : [...groups]
}

function noSuchUser(): NotFoundError {
  return new NotFoundError('user_not_found', 'There is no such user')
}

/** The error for an admin whose account another admin has deleted or blocked at the same moment. */
function callerGone(): ConflictError {
  return new ConflictError('own_account', 'Your own account was blocked or deleted meanwhile')
}
