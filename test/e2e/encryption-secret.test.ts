import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startProgram } from '../support/process.js'
import { AGENT, type Product, startProduct } from '../support/product.js'

let product: Product

beforeAll(async () => {
  product = await startProduct({
    // With PostgreSQL the secret is given.
    database: 'sqlite',
    forms: {
      'x.yml':
        'name: x\ntype: ansible\nroles: [default]\nplaybook: x.yml\ninventory: localhost,\nansibleCredentials: login\n',
    },
    playbooks: {
      'x.yml': '- hosts: all\n  connection: local\n  gather_facts: false\n  tasks: [{ansible.builtin.debug: }]\n',
    },
  })
  await product.admin.post('/credential', { name: 'login', user: 'u', password: 'a stored password' })
})

afterAll(() => product.close())

test('ENCRYPTION_SECRET is made once and kept, readable by its owner only', async () => {
  const path = join(product.folder, 'persistent/encryption-secret')
  expect(statSync(path).mode & 0o777).toBe(0o600)
  const secret = readFileSync(path, 'utf8')
  expect((await product.waitForEnd(await product.launch('x'))).status).toBe('success')
  await product.controlPlane.stop()
  await product.startControlPlane()
  expect(readFileSync(path, 'utf8')).toBe(secret)
  await product.waitForRunner()
  expect((await product.waitForEnd(await product.launch('x'))).status).toBe('success')
})

test('another ENCRYPTION_SECRET is reported at the start; jobs that need the credential fail with that reason', async () => {
  const path = join(product.folder, 'persistent/encryption-secret')
  const secret = readFileSync(path, 'utf8')
  await product.controlPlane.stop()
  writeFileSync(path, 'not the secret that it was')
  await product.startControlPlane()
  expect(product.controlPlane.said()).toContain('stored credentials cannot be opened: ENCRYPTION_SECRET is not the one')

  // No runner can connect, and /ready says so. A new key that somebody vouches for is the way on.
  expect(await product.admin.get('/ready')).toMatchObject({
    warnings: [expect.stringMatching('no runner can connect')],
  })
  const { fingerprint } = await product.admin.post<{ fingerprint: string }>('/service/key/rotate', {
    break_succession: true,
  })
  const state = { RTE_STATE_PATH: join(product.folder, 'rte-state') }
  const told = startProgram(AGENT, ['trust', '--fingerprint', fingerprint], state)
  expect((await told.exited).code).toBe(0)
  await product.waitForRunner()
  const job = await product.waitForEnd(await product.launch('x'))
  const reason = "The credential 'login' cannot be opened: ENCRYPTION_SECRET is not the one that it was stored with"
  expect(job).toMatchObject({ status: 'failed', status_reason: reason })
  expect(job.output).toContain(reason)

  // A new password for it makes it good again; the old one is not needed for that.
  const { records } = await product.admin.get<{ records: { id: number }[] }>('/credential')
  const path4 = `/credential/${records[0]?.id ?? 0}`
  expect((await product.admin.request('PUT', path4, { user: 'other' })).status).toBe(409)
  expect((await product.admin.request('PUT', path4, { password: 'a new password' })).status).toBe(200)
  expect((await product.waitForEnd(await product.launch('x'))).status).toBe('success')
  writeFileSync(path, secret)
})
