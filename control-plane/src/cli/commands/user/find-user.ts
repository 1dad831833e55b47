import type { Client, User } from '@holdfast/client'
import { UnknownNameError, UsageError } from '../../errors.js'

/**
 * Finds an account by its id, by its name, or by kind and name (`ldap/jane`).
 * @throws NotFoundError when there is none, UsageError when there are several
 */
export async function userNamed(client: Client, idOrName: string): Promise<User> {
  const { records } = await client.listUsers()
  const meant = records.filter(({ id, username, type }) =>
    [String(id), username, `${type}/${username}`].includes(idOrName),
  )
  const [user] = meant
  if (!user)
    throw new UnknownNameError(`There is no user with the id or name ${idOrName}; holdfast user list shows them.`)
  if (meant.length === 1) return user
  const which = meant.map(({ id, type, username }) => `${id} (${type}/${username})`).join(', ')
  throw new UsageError(`Several users are called ${idOrName}: ${which}. Give the id, or the kind and the name.`)
}
