import { join } from 'node:path'
import { insertUser } from '../../control-plane/src/store/accounts/users.js'
import { openStore } from '../../control-plane/src/store/open-store.js'

const ADA = {
  type: 'local' as const,
  username: 'ada',
  passwordHash: null,
  email: null,
  groups: [],
  enabled: true,
  createdAt: 7,
}

/** Makes the database of an installation in this folder, with one account that nobody can sign in to: ada. */
export async function makeSmallDatabase(folder: string): Promise<void> {
  const store = await openStore({ kind: 'sqlite', path: join(folder, 'holdfast.db') })
  await store.write('test.user', (queries) => insertUser(queries, ADA))
  await store.close()
}
