import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { expectExact, keepWritten, storedOutput } from '../support/exactness.js'
import { GATED_FORM, gatedPlaybook, gatesIn } from '../support/gated-playbook.js'
import { POSTGRES_PASSWORD, type PostgresServer, startPostgres } from '../support/postgres.js'
import { type Product, startProduct } from '../support/product.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'
import { waitFor } from '../support/wait.js'

/** The whole product on PostgreSQL over TLS, with a real playbook that writes on while everything that stores it is killed. */
let server: PostgresServer
let product: Product
beforeAll(async () => {
  server = await startPostgres()
  product = await startProduct({
    forms: { 'gated.yml': GATED_FORM },
    prepare: (folder) => {
      const authority = join(folder, 'authority.pem')
      writeFileSync(authority, TEST_CERTIFICATE.cert)
      const environment = {
        DATABASE_URL: `${server.urlOf('postgres').replace('127.0.0.1', 'localhost')}?sslmode=verify-full`,
        NODE_EXTRA_CA_CERTS: authority,
        ACCESS_TOKEN_SECRET: 'signs what only tests use',
        ENCRYPTION_SECRET: 'encrypts what only tests use',
      }
      return Promise.resolve({ controlPlane: environment, agent: { GATES: folder, RTE_PASS_ENVIRONMENT: 'GATES' } })
    },
    playbooks: { 'gated.yml': gatedPlaybook("{{ lookup('env', 'GATES') }}", 3) },
  })
})
afterAll(async () => {
  await product.close()
  await server.close()
})

test('kill -9 of the database server, of the control plane and of both while output streams: exact, and run once', async () => {
  const gates = gatesIn(product.folder)
  const job = await product.launch('gated')
  const written = await keepWritten(product, job)
  const stored = (text: string) =>
    waitFor(`${text} to be stored`, async () => (await storedOutput(product, job)).includes(text))
  await waitFor('gate 1', () => gates.isReached(1))

  gates.open(1)
  await server.kill()
  // The playbook does not wait for whoever stores what it says.
  await waitFor('gate 2', () => gates.isReached(2))
  await server.start()
  await stored('part 2 item 9')

  gates.open(2)
  await product.controlPlane.stop('SIGKILL')
  await waitFor('gate 3', () => gates.isReached(3))
  await product.startControlPlane()
  await stored('part 3 item 9')

  gates.open(3)
  await Promise.all([server.kill(), product.controlPlane.stop('SIGKILL')])
  await Promise.all([server.start(), product.startControlPlane()])
  expect(await product.waitForEnd(job)).toMatchObject({ status: 'success', abandoned_at: null })
  await expectExact(product, job, written)
  expect(gates.starts()).toBe(1)
  expect(product.controlPlane.said()).not.toContain(POSTGRES_PASSWORD)
})
