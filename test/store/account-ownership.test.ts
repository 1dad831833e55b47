import { expect, test } from 'vitest'
import { deleteUser, findUserByName, insertUser } from '../../control-plane/src/store/accounts/users.js'
import { openTestStore } from '../support/test-database.js'
import { KINDS, temporaryFolder } from './nodes.js'

const ACCOUNT = { type: 'local' as const, passwordHash: null, email: null, groups: [], enabled: true }

test.each(KINDS)(
  'on %s, the id of an account that is gone is never given again, and its name is known',
  async (kind) => {
    const folder = await temporaryFolder()
    const store = await openTestStore(folder.path, kind)
    try {
      const add = (createdAt: number) =>
        store.write('test.add', (queries) => insertUser(queries, { ...ACCOUNT, username: 'bob', createdAt }))
      const bob = await add(200)
      expect(bob?.nameHadBy).toBeNull()
      await store.write('test.delete', (queries) => deleteUser(queries, bob?.id ?? 0))
      expect(await findUserByName(store.read, 'local', 'bob')).toBeNull()
      const next = await add(400)
      expect(next?.id).toBeGreaterThan(bob?.id ?? 0)
      expect(next?.nameHadBy).toBe(bob?.id)
    } finally {
      await store.close()
      await folder.remove()
    }
  },
)
