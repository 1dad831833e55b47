import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { pino } from 'pino'
import { startControlPlane } from '../../control-plane/src/main.js'
import { readSettings } from '../../control-plane/src/settings.js'
import { startFaultyProxy } from '../chaos/kit/faulty-proxy.js'
import { type Chance, seeded } from '../chaos/kit/seed.js'
import { startProgram } from '../support/process.js'
import { ROOT } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { type TestDatabase, createTestDatabase } from '../support/test-database.js'
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

const CUT = 'wherever the database goes away during a start, the start goes on when it is back'

/** How often the connections are cut in a start on empty tables, and in a start on tables that are there. */
const CUTS_OF_FIRST = 3
const CUTS_OF_LATER = 12

test(
  CUT,
  seeded('test/nodes/first-start.test.ts', CUT, async (chance) => {
    const used = await createTestDatabase('', 'postgres')
    const folder = mkdtempSync(join(tmpdir(), 'holdfast-first-'))
    try {
      const first = await startThroughProxy(used, folder, null)
      for (const at of cutsIn(chance, first, CUTS_OF_FIRST)) {
        const empty = await createTestDatabase('', 'postgres')
        await startThroughProxy(empty, mkdtempSync(join(folder, 'first-')), at)
        await empty.remove()
      }
      const later = await startThroughProxy(used, folder, null)
      for (const at of cutsIn(chance, later, CUTS_OF_LATER)) await startThroughProxy(used, folder, at)
    } finally {
      await used.remove()
      rmSync(folder, { recursive: true, force: true })
    }
  }),
)

/** Places in what a start says to the database, one in each of so many parts of the same length. */
function cutsIn(chance: Chance, bytes: number, count: number): number[] {
  const part = bytes / count
  return Array.from({ length: count }, (_, index) => 1 + Math.floor((index + chance.next()) * part))
}

/**
 * Starts and stops a control plane.
 * @param cutAt after so many bytes to the database every connection is cut; null: none is
 * @returns how many bytes it said to the database until it listened
 */
async function startThroughProxy({ url }: TestDatabase, folder: string, cutAt: number | null): Promise<number> {
  const proxy = await startFaultyProxy(url.replace('postgres://', 'http://'))
  const environment = {
    PERSISTENT_PATH: folder,
    PORT: '0',
    DATABASE_URL: url.replace(/:\d+\//, `:${new URL(proxy.address).port}/`),
    ACCESS_TOKEN_SECRET: 'signs what only tests use',
    ENCRYPTION_SECRET: 'encrypts what only tests use',
    ADMIN_PASSWORD: 'correct horse battery',
  }
  try {
    if (cutAt !== null) void proxy.cutAfter('up', cutAt).then(() => proxy.cut())
    const settings = readSettings({ environment, flags: {}, readFile: () => '' }, false)
    const { address, close } = await startControlPlane(settings, {
      log: pino({ level: 'silent' }),
      hashCost: QUICK_HASH,
    })
    const said = proxy.carried('up')
    proxy.forgetCuts()
    try {
      await signIn(address, 'admin', environment.ADMIN_PASSWORD)
    } finally {
      await close()
    }
    return said
  } finally {
    await proxy.close()
  }
}

const QUICK_HASH = { memoryCost: 1024, timeCost: 1, parallelism: 1 }
