import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import type { Selectable } from 'kysely'
import type { CredentialTable } from '../schema/service.js'
import type { Queries } from '../store.js'

/** The stored options of a credential: plain values. The room of credentials chooses their names. */
const StoredOptions = Type.Record(Type.String(), Type.Union([Type.String(), Type.Boolean()]))
const storedOptions = Compile(StoredOptions)

/** A credential as it is stored, with an encrypted secret. Times are milliseconds since the epoch. */
export interface StoredCredential {
  readonly id: number
  readonly name: string
  readonly type: string
  readonly user: string | null
  readonly host: string | null
  readonly port: number | null
  readonly description: string
  readonly options: Readonly<Record<string, string | boolean>>
  readonly secret: Buffer
  readonly createdAt: number
  readonly updatedAt: number
}

/** A credential to insert. */
export type NewCredential = Omit<StoredCredential, 'id'>

/** By name. */
export async function listCredentials(queries: Queries): Promise<StoredCredential[]> {
  return (await queries.selectFrom('credential').selectAll().orderBy('name').execute()).map(parseCredential)
}

/** A credential by id, or null. */
export async function findCredential(queries: Queries, id: number): Promise<StoredCredential | null> {
  const row = await queries.selectFrom('credential').selectAll().where('id', '=', id).executeTakeFirst()
  return row ? parseCredential(row) : null
}

/** A credential by name, or null. */
export async function findCredentialByName(queries: Queries, name: string): Promise<StoredCredential | null> {
  const row = await queries.selectFrom('credential').selectAll().where('name', '=', name).executeTakeFirst()
  return row ? parseCredential(row) : null
}

/** @returns null when there is already a credential with that name */
export async function insertCredential(queries: Queries, credential: NewCredential): Promise<StoredCredential | null> {
  const row = await queries
    .insertInto('credential')
    .values({ ...columnsOf(credential), created_at: credential.createdAt })
    .onConflict((conflict) => conflict.column('name').doNothing())
    .returningAll()
    .executeTakeFirst()
  return row ? parseCredential(row) : null
}

/**
 * Replaces a credential if nobody has changed it since it was read. Otherwise two changes at once could combine a
 * secret with a name that it is not bound to.
 * @returns null when it was changed or deleted meanwhile, or when another one has that name
 */
export async function replaceCredential(
  queries: Queries,
  before: StoredCredential,
  credential: NewCredential,
): Promise<StoredCredential | null> {
  const current = await findCredential(queries, before.id)
  const holder = await findCredentialByName(queries, credential.name)
  if (!current?.secret.equals(before.secret) || (holder !== null && holder.id !== before.id)) return null
  const row = await queries
    .updateTable('credential')
    .set(columnsOf(credential))
    .where('id', '=', before.id)
    .returningAll()
    .executeTakeFirst()
  return row ? parseCredential(row) : null
}

/** @returns false when there was no such credential */
export async function deleteCredential(queries: Queries, id: number): Promise<boolean> {
  const { numDeletedRows } = await queries.deleteFrom('credential').where('id', '=', id).executeTakeFirst()
  return numDeletedRows > 0n
}

function columnsOf(credential: NewCredential) {
  const { name, type, user, host, port, description, secret, updatedAt } = credential
  const options = JSON.stringify(credential.options)
  return { name, type, user_name: user, host, port, description, options, secret, updated_at: updatedAt }
}

function parseCredential(row: Selectable<CredentialTable>): StoredCredential {
  const { id, name, type, user_name: user, host, port, description, secret } = row
  const options = storedOptions.Parse(JSON.parse(row.options ?? '{}'))
  const times = { createdAt: row.created_at, updatedAt: row.updated_at }
  return { id, name, type, user, host, port, description, options, secret, ...times }
}
