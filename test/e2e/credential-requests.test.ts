import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import { covers } from '../interface/covers.js'

/** What a launch with credentials answers. Without a runner each job that is created fails at once. */
let product: Product
let ann: RestClient

const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], credentials: ["team .*"]}
  - {name: default, groups: []}
`
const form = (name: string, more: string) =>
  `name: ${name}\ntype: ansible\nroles: [default]\nplaybook: x.yml\n${more}\n`

const FORMS = {
  'allowed.yml': form('allowed', 'credentials: {db: team database}'),
  'stand-in.yml': form('stand-in', 'credentials: {db: "team none,team database,secret one"}'),
  'forbidden.yml': form('forbidden', 'credentials: {db: secret one}'),
  'login.yml': form('login', 'ansibleCredentials: secret one'),
  'vault.yml': form('vault', 'vaultCredentials: secret one'),
  'field.yml': form('field', 'fields: [{name: chosen, type: text, asCredential: true}]'),
  'mistaken.yml': form(
    'mistaken',
    'credentials: {db: team database}\nfields: [{name: pin, type: password}, {name: chosen, type: text, asCredential: true}]',
  ),
  'broken.yml': form('broken', 'credentials: [a, b]'),
}

const launch = (client: RestClient, formName: string, more: Record<string, unknown> = {}) =>
  client.request('POST', '/job', { formName, rawFormData: {}, ...more })

async function launched(client: RestClient, formName: string, more: Record<string, unknown> = {}) {
  const answer = await launch(client, formName, more)
  expect(answer.status, JSON.stringify(answer.body)).toBe(200)
  return client.get(`/job/${(answer.body as { id: number }).id}?text=true`)
}

beforeAll(async () => {
  product = await startProduct({ withAgent: false, config: CONFIG, forms: FORMS })
  await product.admin.post('/user', { username: 'ann', password: ADMIN_PASSWORD, groups: ['ops'] })
  ann = await signIn(product.address, 'ann', ADMIN_PASSWORD)
  for (const name of ['team database', 'secret one']) {
    await product.admin.post('/credential', { name, password: `canary of ${name}` })
  }
})

afterAll(() => product.close())

describe('a launch with credentials', () => {
  test('takes the first of several that there is', async () => {
    covers('credential.choice')
    expect((await launched(ann, 'stand-in')).credentials).toEqual({ db: 'team database' })
  })

  test.each(['forbidden', 'login', 'vault'])(
    'that a role’s list does not allow is 403 before any job exists: %s',
    async (name) => {
      covers('role.limits')
      const before = await product.admin.get<{ count: number }>('/job')
      const answer = await launch(ann, name)
      expect(answer).toMatchObject({ status: 403, body: { code: 'credential_not_allowed' } })
      expect((await product.admin.get<{ count: number }>('/job')).count).toBe(before.count)
      expect((await launch(product.admin, name)).status).toBe(200)
    },
  )

  test('masks a password that was typed as the name of one, and no other name', async () => {
    const values = { rawFormData: { pin: 'hush', chosen: 'hush' } }
    const job = await launched(product.admin, 'mistaken', values)
    expect(job).toMatchObject({ status: 'failed', credentials: { db: 'team database', chosen: '********' } })
    expect(JSON.stringify(job)).not.toContain('hush')
  })
})
