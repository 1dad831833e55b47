import type { Selectable } from 'kysely'
import { definedOnly } from '../../defined-only.js'
import type { UserTable } from '../schema/accounts.js'
import type { Queries } from '../store.js'
import { Type } from 'typebox'
import { USER_TYPES, type UserType } from '../../words/user-type.js'
import { textsOfColumn } from '../sql/json-columns.js'
import { rowParser } from '../sql/row-parser.js'

/** An account as it is stored. */
export interface StoredUser {
  readonly id: number
  readonly username: string
  readonly type: UserType
  readonly passwordHash: string | null
  /** The id by which the provider knows a user who is not local; null when there is only the name. */
  readonly subject: string | null
  readonly email: string | null
  /** Without prefix. */
  readonly groups: readonly string[]
  readonly enabled: boolean
  /** Number of groups of the last sign-in that were not stored, because they were too many or too long. */
  readonly groupsLeftOut: number
  readonly createdAt: number
  /** True: the user has to change the password before they can do anything else. */
  readonly passwordMustChange: boolean
  /**
   * The id of the deleted account that had the name before, 0 when its id is unknown. Null when there was none, or an
   * admin accepted this account under the name.
   */
  readonly nameHadBy: number | null
}

/** An account to insert. A property that is left out has its default. */
export type NewUser = Omit<StoredUser, 'id' | 'subject' | 'groupsLeftOut' | 'passwordMustChange' | 'nameHadBy'> &
  Partial<Pick<StoredUser, 'subject' | 'groupsLeftOut' | 'passwordMustChange'>>
/** Changes of an account. A property that is left out stays. */
export type UserChanges = Partial<
  Pick<StoredUser, 'passwordHash' | 'email' | 'groups' | 'enabled' | 'subject' | 'groupsLeftOut' | 'passwordMustChange'>
>

/** The key of a name: upper and lower case are the same name, and so are different encodings of one letter. */
export function usernameKey(username: string): string {
  return username.normalize('NFKC').toLowerCase()
}

/** A name as it is stored and shown: as it was given, with one form for each letter (RFC 8265, UsernameCasePreserved). */
export function shownUsername(username: string): string {
  return username.normalize('NFC')
}

/**
 * Inserts an account. If a deleted account had the name, the new one remembers that.
 * @returns null when there is a user with that type and name already
 */
export async function insertUser(queries: Queries, user: NewUser): Promise<StoredUser | null> {
  const { type } = user
  const username = shownUsername(user.username)
  const nameHadBy = await findPastName(queries, type, username)
  const row = await queries
    .insertInto('user')
    .values({
      username,
      username_key: usernameKey(username),
      type,
      name_had_by: nameHadBy,
      password_hash: user.passwordHash,
      subject: user.subject,
      email: user.email,
      groups: JSON.stringify(user.groups),
      enabled: user.enabled ? 1 : 0,
      password_must_change: flagOf(user.passwordMustChange),
      groups_left_out: user.groupsLeftOut,
      created_at: user.createdAt,
    })
    .onConflict((conflict) => conflict.columns(['type', 'username_key']).doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ? parseUser(row) : null
}

/** An account by id, or null. */
export async function findUser(queries: Queries, id: number): Promise<StoredUser | null> {
  const row = await queries.selectFrom('user').selectAll().where('id', '=', id).executeTakeFirst()
  return row ? parseUser(row) : null
}

/** An account by type and name, or null. Upper and lower case do not matter. */
export async function findUserByName(queries: Queries, type: UserType, username: string): Promise<StoredUser | null> {
  const row = await queries
    .selectFrom('user')
    .selectAll()
    .where('type', '=', type)
    .where('username_key', '=', usernameKey(username))
    .executeTakeFirst()
  return row ? parseUser(row) : null
}

/** An account by type and by its id at the provider, or null. */
export async function findUserBySubject(queries: Queries, type: UserType, subject: string): Promise<StoredUser | null> {
  const row = await queries
    .selectFrom('user')
    .selectAll()
    .where('type', '=', type)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row ? parseUser(row) : null
}

/** All accounts by name. */
export async function listUsers(queries: Queries): Promise<StoredUser[]> {
  const rows = await queries.selectFrom('user').selectAll().orderBy('username_key').orderBy('type').execute()
  return rows.map(parseUser)
}

/** Whether there is any account. */
export async function hasUsers(queries: Queries): Promise<boolean> {
  return (await queries.selectFrom('user').select('id').limit(1).executeTakeFirst()) !== undefined
}

/** Changes the given properties. @returns null when the user does not exist */
export async function updateUser(queries: Queries, id: number, changes: UserChanges): Promise<StoredUser | null> {
  const { passwordHash, email, groups, enabled, subject, groupsLeftOut, passwordMustChange } = changes
  const columns = definedOnly({
    password_hash: passwordHash,
    email,
    groups: groups && JSON.stringify(groups),
    enabled: flagOf(enabled),
    password_must_change: flagOf(passwordMustChange),
    subject,
    groups_left_out: groupsLeftOut,
  })
  if (Object.keys(columns).length > 0) {
    await queries.updateTable('user').set(columns).where('id', '=', id).execute()
  }
  return findUser(queries, id)
}

/**
 * Deletes an account with its sessions. The name is remembered, so that the next account with that name does not count
 * as this one.
 * @returns false when the user did not exist
 */
export async function deleteUser(queries: Queries, id: number): Promise<boolean> {
  const user = await queries
    .deleteFrom('user')
    .where('id', '=', id)
    .returning(['type', 'username_key'])
    .executeTakeFirst()
  if (!user) return false
  await queries
    .insertInto('past_name')
    .values({ ...user, user_id: id })
    .onConflict((conflict) => conflict.columns(['type', 'username_key']).doUpdateSet({ user_id: id }))
    .execute()
  return true
}

/** The deleted account that had a name last, 0 when its id is unknown; null: nobody had it. */
export async function findPastName(queries: Queries, type: UserType, username: string): Promise<number | null> {
  const row = await queries
    .selectFrom('past_name')
    .select('user_id')
    .where('type', '=', type)
    .where('username_key', '=', usernameKey(username))
    .executeTakeFirst()
  return row?.user_id ?? null
}

/** From now on everything that names this user means this account. @returns null when the user does not exist */
export async function acceptName(queries: Queries, id: number): Promise<StoredUser | null> {
  await queries.updateTable('user').set({ name_had_by: null }).where('id', '=', id).execute()
  return findUser(queries, id)
}

const parseColumns = rowParser('user', { type: Type.Enum(USER_TYPES) })

/** Converts a row to an account. */
export function parseUser(stored: Selectable<UserTable>): StoredUser {
  const row = parseColumns(stored)
  return {
    id: row.id,
    username: row.username,
    type: row.type,
    passwordHash: row.password_hash,
    subject: row.subject,
    email: row.email,
    groups: textsOfColumn(row.groups),
    enabled: row.enabled === 1,
    groupsLeftOut: row.groups_left_out,
    createdAt: row.created_at,
    passwordMustChange: row.password_must_change === 1,
    nameHadBy: row.name_had_by,
  }
}

/** A column that is left out stays as it is. */
function flagOf(value: boolean | undefined): 0 | 1 | undefined {
  return value === undefined ? undefined : value ? 1 : 0
}
