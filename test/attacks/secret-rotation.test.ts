import { createHmac } from 'node:crypto'
import { readFileSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createSecretBox } from '../../control-plane/src/credentials/encryption/secret-box.js'
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { readRows } from '../support/database-file.js'

/** Somebody has seen the secrets of the service: they are replaced while it runs, and are then good for nothing. */
let product: Product
let receiver: AnsweringServer
const PASSWORD = 'a password that is stored'
const TARGET_SECRET = 'signs what a target is told'

/** A webhook comes, and is signed with the secret of its target. */
async function expectSignedHook(): Promise<void> {
  expect(await product.admin.post('/notification-target/1/test')).toMatchObject({ state: 'sent', problem: null })
  const { headers, body = '' } = receiver.asked.at(-1) ?? {}
  const [, time = ''] = /^t=(\d+),/.exec(String(headers?.['x-holdfast-signature'])) ?? []
  const signature = createHmac('sha256', TARGET_SECRET).update(`${time}.${body}`).digest('hex')
  expect(headers?.['x-holdfast-signature']).toBe(`t=${time},v1=${signature}`)
}

beforeAll(async () => {
  // The service keeps its secrets in files only there; elsewhere they are settings (test/unit/credentials/secret-ring).
  receiver = await startAnsweringServer({ '/hook': {} })
  const controlPlane = { WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' }
  product = await startProduct({ withAgent: false, database: 'sqlite', controlPlane })
  const url = `${receiver.url}/hook`
  await product.admin.post('/notification-target', { name: 'chat', url, events: [], secret: TARGET_SECRET })
  for (let number = 1; number <= 60; number += 1) {
    await product.admin.post('/credential', {
      name: `login ${number}`,
      type: 'userpass',
      user: 'x',
      password: PASSWORD,
    })
  }
})
afterAll(async () => {
  await product.close()
  await receiver.close()
})

const secretOf = (name: string) => readFileSync(join(product.folder, 'persistent', name), 'utf8').trim()

test('a new encryption secret encrypts everything anew; the old one opens nothing any more', async () => {
  const old = secretOf('encryption-secret')
  // The credentials, the secret of the target and the key of the service.
  expect(await product.admin.post('/secret/encryption/rotate')).toMatchObject({ reencrypted: 62, unreadable: 0 })
  const next = secretOf('encryption-secret')
  expect(next).not.toBe(old)
  const rows = await readRows<{ name: string; secret: Buffer }>(product, 'select name, secret from credential')
  expect(rows).toHaveLength(60)
  for (const { name, secret } of rows) {
    expect(() => createSecretBox(old).open(secret, name)).toThrow()
    expect(createSecretBox(next).open(secret, name)).toBe(PASSWORD)
  }
  await expectSignedHook()
  const folder = join(product.folder, 'persistent')
  const kept = readdirSync(folder).filter((name) => name.startsWith('encryption-secret'))
  for (const name of kept) expect([name, statSync(join(folder, name)).mode & 0o777]).toEqual([name, 0o600])
})

test('a rotation that was interrupted is brought to its end, after a restart too', async () => {
  const before = secretOf('encryption-secret')
  await product.controlPlane.stop('SIGKILL')
  await product.startControlPlane()
  // The secret before today's is still known, so this makes no further one.
  expect(await product.admin.post('/secret/encryption/rotate')).toMatchObject({ reencrypted: 0, unreadable: 0 })
  expect(secretOf('encryption-secret')).toBe(before)
  await expectSignedHook()
})

test('a new secret for tokens: sessions that are there go on, also after a restart', async () => {
  const { admin } = product
  const old = secretOf('access-token-secret')
  await admin.post('/secret/access-token/rotate')
  expect(secretOf('access-token-secret')).not.toBe(old)
  // Signed before, and good until it expires.
  expect(await admin.get('/profile')).toMatchObject({ username: 'admin' })
  const fresh = await signIn(product.address, 'admin', ADMIN_PASSWORD)
  expect(await fresh.get('/profile')).toMatchObject({ username: 'admin' })
  await product.controlPlane.stop('SIGTERM')
  await product.startControlPlane()
  expect(await admin.get('/profile')).toMatchObject({ username: 'admin' })
  expect(await fresh.get('/profile')).toMatchObject({ username: 'admin' })
})

test('it is for admins only', async () => {
  await product.admin.post('/user', { username: 'sam', password: ADMIN_PASSWORD })
  const sam = await signIn(product.address, 'sam', ADMIN_PASSWORD)
  await expect(sam.post('/secret/encryption/rotate')).rejects.toThrow('403')
  await expect(sam.post('/secret/access-token/rotate')).rejects.toThrow('403')
})
