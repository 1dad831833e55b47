import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { startProgram } from '../support/process.js'
import { ROOT } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { createTestDatabase } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'

test('two nodes that start at once on nothing make one set of tables, one first account and one password', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-first-'))
  const database = await createTestDatabase('', 'postgres')
  const environment = {
    PERSISTENT_PATH: folder,
    PORT: '0',
    LOG_FORMAT: 'json',
    DATABASE_URL: database.url,
    ACCESS_TOKEN_SECRET: 'signs what only tests use',
    ENCRYPTION_SECRET: 'encrypts what only tests use',
  }
  const nodes = [1, 2].map(() => startProgram(join(ROOT, 'control-plane/bin/holdfast.js'), ['serve'], environment))
  try {
    const addresses = await Promise.all(
      nodes.map((node) =>
        waitFor('the node to listen', () => {
          if (!node.isRunning()) throw new Error(node.said())
          return /"address":"([^"]+)","version"/.exec(node.said())?.[1]
        }),
      ),
    )
    // It is said by the one that made the account.
    expect(nodes.filter((node) => node.said().includes('First start: sign in as'))).toHaveLength(1)
    const password = readFileSync(join(folder, 'initial-admin-password'), 'utf8').trim()
    for (const address of addresses) {
      const admin = await signIn(address, 'admin', password)
      expect(await admin.get('/profile')).toMatchObject({ username: 'admin', passwordMustChange: true })
    }
  } finally {
    await Promise.all(nodes.map((node) => node.stop('SIGTERM')))
    await database.remove()
    rmSync(folder, { recursive: true, force: true })
  }
})
