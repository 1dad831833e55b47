import { beforeAll, afterAll, expect, test } from 'vitest'
import pg from 'pg'
import { createSecretBox } from '../../control-plane/src/credentials/encryption/secret-box.js'
import { newPerson } from '../cli/run-cli.js'
import { type AnotherNode, type Product, ADMIN_PASSWORD, startProduct } from '../support/product.js'
import { readProductRows } from '../support/product-database.js'
import { signIn } from '../support/rest.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { waitFor } from '../support/wait.js'

/** Both secrets are settings of two control planes on one database. They are replaced as the README says, and somebody always answers. */
const OLD = { encryption: 'the encryption secret of before', tokens: 'the secret of before that signs tokens' }
const NEW = { encryption: 'the encryption secret of today', tokens: 'the secret of today that signs tokens' }
const PASSWORD = 'a password that is stored'
/** More than are encrypted anew in one write. */
const CREDENTIALS = 60

const FORM = `name: deploy
type: ansible
roles: [default]
playbook: x.yml
runner: here
inventory: localhost,
credentials: {login: login 1}
approval: {title: Deploy, message: Now, roles: [default]}
launchValidation: enforce
fields: [{name: pin, type: password, label: Pin}]
`

type Secrets = typeof OLD
/** Read anew by every start of a control plane. */
const settings: Record<string, string> = {}
function setSecrets(today: Secrets, previous: Secrets | null): void {
  Object.assign(settings, {
    ENCRYPTION_SECRET: today.encryption,
    ACCESS_TOKEN_SECRET: today.tokens,
    ENCRYPTION_SECRET_PREVIOUS: previous?.encryption ?? '',
    ACCESS_TOKEN_SECRET_PREVIOUS: previous?.tokens ?? '',
  })
}

let product: Product
let node: AnotherNode
beforeAll(async () => {
  setSecrets(OLD, null)
  product = await startProduct({
    database: 'postgres',
    withAgent: false,
    controlPlane: settings,
    forms: { 'deploy.yml': FORM },
    playbooks: { 'x.yml': '' },
  })
  node = await product.startAnotherNode()
  await fill(product)
})
afterAll(() => product.close())

async function fill({ admin }: Product): Promise<void> {
  for (let number = 1; number <= CREDENTIALS; number += 1) {
    const credential = { name: `login ${number}`, type: 'userpass', user: 'x', password: PASSWORD }
    await admin.post('/credential', credential)
  }
}

/** Restarts both, one after the other: the other one answers, to the session that was there before, too. */
async function restartBoth(): Promise<void> {
  await product.controlPlane.stop('SIGTERM')
  await expectAnswers(node.address)
  await product.startControlPlane()
  await node.program.stop('SIGTERM')
  await expectAnswers(product.address)
  node = await product.startAnotherNode()
}

async function expectAnswers(address: string): Promise<void> {
  const headers = { authorization: `Bearer ${product.admin.token}` }
  expect((await fetch(`${address}/api/v2/profile`, { headers })).status).toBe(200)
}

/** How many stored values each secret opens. */
async function openedBy(secret: string, of = product): Promise<number> {
  const rows = await readProductRows<{ name: string; secret: Buffer }>(of, 'select name, secret from credential')
  const box = createSecretBox(secret)
  const opens = ({ name, secret: sealed }: (typeof rows)[number]) => {
    try {
      return box.open(sealed, name) === PASSWORD
    } catch {
      return false
    }
  }
  return rows.filter(opens).length
}

test('secrets that are settings are replaced while two control planes work, also when one is killed half way', async () => {
  const runner = await ScriptedRunner.join(product, 'here')
  const { id: jobId } = await product.admin.post<{ id: number }>('/job', {
    formName: 'deploy',
    rawFormData: { pin: 'correct horse 4711' },
  })
  // Both learn the new ones, then both use them.
  setSecrets(OLD, NEW)
  await restartBoth()
  setSecrets(NEW, OLD)
  await product.controlPlane.stop('SIGTERM')
  await product.startControlPlane()
  // What each of them stores meanwhile, the other one opens.
  const client = await signIn(node.address, 'admin', ADMIN_PASSWORD)
  await client.post('/credential', { name: 'by the older one', type: 'userpass', user: 'x', password: PASSWORD })
  await expectAnswers(product.address)
  expect([await openedBy(OLD.encryption), await openedBy(NEW.encryption)]).toEqual([CREDENTIALS + 1, 0])
  await node.program.stop('SIGTERM')
  node = await product.startAnotherNode()

  // One row is held, so that the control plane is killed between two writes of its pass.
  const holder = new pg.Client({ connectionString: product.databaseUrl ?? '' })
  await holder.connect()
  await holder.query('begin')
  await holder.query(`select 1 from credential where name = 'login ${CREDENTIALS}' for update`)
  const person = newPerson({ HOLDFAST_SERVER: product.address, HOLDFAST_TOKEN: product.admin.token })
  const rotating = person.start(['secret', 'rotate', 'encryption'])
  const some = await waitFor('a part to be encrypted anew', async () => (await openedBy(NEW.encryption)) || null)
  await product.controlPlane.stop('SIGKILL')
  expect((await rotating.ended).code).not.toBe(0)
  await holder.end()
  expect(some).toBeLessThan(CREDENTIALS)
  expect((await openedBy(NEW.encryption)) + (await openedBy(OLD.encryption))).toBe(CREDENTIALS + 1)

  // The other one goes on with it.
  await expectAnswers(node.address)
  const other = newPerson({ HOLDFAST_SERVER: node.address, HOLDFAST_TOKEN: product.admin.token })
  const { code, stdout } = await other.run(['secret', 'rotate', 'encryption', '--json'])
  expect({ code, ...(JSON.parse(stdout) as object) }).toMatchObject({ code: 0, unreadable: 0 })
  expect([await openedBy(OLD.encryption), await openedBy(NEW.encryption)]).toEqual([0, CREDENTIALS + 1])

  // The old ones are taken away: all that is stored opens, and what the old one signed is good no longer.
  await node.program.stop('SIGTERM')
  setSecrets(NEW, null)
  await product.startControlPlane()
  const headers = { authorization: `Bearer ${product.admin.token}` }
  expect((await fetch(`${product.address}/api/v2/profile`, { headers })).status).toBe(401)
  const admin = await signIn(product.address, 'admin', ADMIN_PASSWORD)
  await admin.post(`/job/${jobId}/approve`)
  expect(await runner.orderOf('x.yml')).toMatchObject({ job_id: jobId })
  await waitFor('the job to end', async () => (await admin.get(`/job/${jobId}`)).status === 'success')
  await runner.leave()
})
