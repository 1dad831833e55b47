import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '../../support/wait.js'
import { heldTimers } from '../held-timers.js'
import { type TestServer, startServer } from '../server.js'

/** How often the service looks whether its earlier secret is needed, and how long it keeps one at least. */
const LOOK_MS = 60_000
const SETTLE_MS = 10 * 60_000

const held = heldTimers()
let server: TestServer
/** The clock that does not jump. */
const steady = { time: 0, now: () => steady.time }
beforeAll(async () => {
  // Its secrets are in files only there.
  server = await startServer({ database: 'sqlite', timers: held.timers, steady, settings: { ENCRYPTION_SECRET: '' } })
})
afterAll(() => server.close())

const isEarlierThere = () => existsSync(join(server.folder, 'encryption-secret.previous'))

async function stored(): Promise<Buffer> {
  const logins = server.store.read.selectFrom('credential').select('secret').where('name', '=', 'login')
  return (await logins.executeTakeFirstOrThrow()).secret
}

const putBack = (secret: Buffer) =>
  server.store.write('test.put', (queries) =>
    queries.updateTable('credential').set({ secret }).where('name', '=', 'login').execute(),
  )

test('the earlier encryption secret stays as long as something needs it, and is then forgotten', async () => {
  const call = (method: string, path: string, json?: unknown) =>
    server.call(method, path, { token: server.admin, json })
  // More than a page of others comes before it. The key of the service is encrypted, too.
  for (const name of [...Array.from({ length: 100 }, (_, number) => `other ${number}`), 'login'])
    expect((await call('POST', '/credential', { name, user: 'x', password: 'kept' })).status).toBe(200)
  const old = await stored()
  expect((await call('POST', '/secret/encryption/rotate')).body).toMatchObject({ reencrypted: 102, unreadable: 0 })
  expect(isEarlierThere()).toBe(true)

  // A slow request stores what it encrypted before the rotation.
  await putBack(old)
  steady.time += SETTLE_MS
  held.move(LOOK_MS)
  await waitFor('it to be encrypted anew', async () => !(await stored()).equals(old))
  expect(isEarlierThere()).toBe(true)

  // Passes go one after the other, so the one before has ended when this one finds nothing left.
  expect((await call('POST', '/secret/encryption/rotate')).body).toMatchObject({ reencrypted: 0, unreadable: 0 })
  // A clock that somebody sets makes no time pass.
  server.clock.move(SETTLE_MS)
  held.move(LOOK_MS)
  expect((await call('POST', '/secret/encryption/rotate')).body).toMatchObject({ reencrypted: 0, unreadable: 0 })
  expect(isEarlierThere()).toBe(true)
  steady.time += SETTLE_MS
  held.move(LOOK_MS)
  await waitFor('the earlier secret to be forgotten', () => !isEarlierThere())
  expect((await call('POST', '/secret/encryption/rotate')).body).toMatchObject({ reencrypted: 102, unreadable: 0 })

  // What nobody can open any more is counted, and left as it is.
  await putBack(old)
  expect((await call('POST', '/secret/encryption/rotate')).body).toMatchObject({ reencrypted: 0, unreadable: 1 })
  expect(await stored()).toEqual(old)
})
