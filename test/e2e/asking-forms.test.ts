import { createHash } from 'node:crypto'
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../interface/covers.js'
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.js'
import { type Product, ROOT, startProduct } from '../support/product.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'
import { VAULT_ROLE, type VaultStandIn, startVaultStandIn } from '../support/vault-stand-in.js'

/** Forms after the patterns of production, filled in and launched: a storage system behind a real HTTP server. */
const FOLDER = join(ROOT, 'test/e2e/asking-forms')

const PLAYBOOK = `- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - ansible.builtin.debug:
        msg: "SHOWN {{ {'volume': volume, 'retires': retires} | to_json(sort_keys=true) }}"
    - ansible.builtin.debug:
        msg: "PROOF {{ access.user }} {{ access.password | hash('sha256') }} {{ access.password }}"
`

const page = (names: readonly string[], next: string | null) => ({
  records: names.map((name) => ({ name, uuid: `uuid-${name}`, location: { site: name.slice(0, 3) }, noise: 1 })),
  _links: next === null ? {} : { next: { href: next } },
})

let storage: AnsweringServer
let vault: VaultStandIn
let product: Product
beforeAll(async () => {
  storage = await startAnsweringServer({
    '/api/cluster/peers': ({ path }, response) =>
      response.end(
        JSON.stringify(
          path.endsWith('start=0') ? page(['bru1', 'bru2'], '/api/cluster/peers?start=2') : page(['gen1'], null),
        ),
      ),
    '/api/svm/svms': ({ headers, path }, response) =>
      headers.authorization === 'Bearer token-4711' && path.endsWith('cluster=uuid-gen1')
        ? response.end('{"records": [{"name": "svm_a"}, {"name": "svm_b"}]}')
        : response.writeHead(403).end(),
    '/api/volumes': { records: [{ name: 'gen_vol001' }, { name: 'gen_vol007' }] },
  })
  vault = await startVaultStandIn()
  vault.secrets.set('secret/storage', { username: 'sam', password: 'hush-4711' })
  const forms = readdirSync(join(FOLDER, 'forms'))
  product = await startProduct({
    forms: Object.fromEntries(forms.map((name) => [name, readFileSync(join(FOLDER, 'forms', name), 'utf8')])),
    playbooks: { 'show.yml': PLAYBOOK },
    config: `roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: default, groups: [] }\nconstants: { STORAGE: '${storage.url}' }\n`,
    controlPlane: {
      REST_ALLOWED_HOSTS: '127.0.0.1',
      VAULT_ADDR: vault.url,
      VAULT_ROLE_ID: VAULT_ROLE.role_id,
      VAULT_SECRET_ID: VAULT_ROLE.secret_id,
    },
    prepare: (folder) => {
      cpSync(join(FOLDER, 'files'), join(folder, 'persistent/files'), { recursive: true })
      const ca = join(folder, 'vault-ca.pem')
      writeFileSync(ca, TEST_CERTIFICATE.cert)
      return Promise.resolve({ controlPlane: { VAULT_CACERT: ca }, agent: {} })
    },
  })
  await product.admin.post('/credential', { name: 'storage', password: 'vault:secret/storage' })
  await product.admin.post('/credential', { name: 'storage-token', password: 'token-4711' })
})
afterAll(async () => {
  await product?.close()
  await storage?.close()
  await vault?.close()
})

interface Evaluation {
  readonly fields: Readonly<Record<string, Readonly<{ value?: unknown; choices?: unknown[]; errors: unknown[] }>>>
}

test('a form that asks a storage system is filled in, and launched with what the server found itself', async () => {
  covers('field.expression', 'field.waiting')
  const evaluate = (rawFormData: object) =>
    product.admin.post<Evaluation>('/forms/New%20volume/evaluate', { rawFormData, wait: 60 })
  const empty = await evaluate({})
  expect(empty.fields.cluster?.choices).toEqual([
    { name: 'bru1', uuid: 'uuid-bru1', site: 'bru' },
    { name: 'bru2', uuid: 'uuid-bru2', site: 'bru' },
    { name: 'gen1', uuid: 'uuid-gen1', site: 'gen' },
  ])
  expect(empty.fields.svm).toMatchObject({ waiting: 'it waits for a value of cluster.uuid' })

  const rawFormData = { cluster: 'gen1', size: 200, exports: [{ client: '192.168.7.0/24', access: 'rw' }] }
  const filled = await evaluate(rawFormData)
  expect(filled.fields).toMatchObject({
    svm: { choices: ['svm_a', 'svm_b'], value: 'svm_a' },
    volumes: { value: [{ name: 'gen_vol007' }, { name: 'gen_vol001' }] },
    name: { value: 'gen_vol008' },
    tier: { value: { name: 'gold', max_gb: 100 } },
    size: { errors: [{ type: 'maxValue' }] },
  })
  const refused = await product.admin.request('POST', '/job', { formName: 'New volume', rawFormData })
  expect(refused).toMatchObject({ status: 422, body: { details: { invalid: ['size'], waiting: [] } } })

  const good = { ...rawFormData, tier: 'silver', name: 'forged', volumes: ['forged'] }
  const { id } = await product.admin.post<{ id: number }>('/job', { formName: 'New volume', rawFormData: good })
  const job = await product.waitForEnd(id)
  expect(job.status, String(job.status_reason)).toBe('success')
  const shown = /SHOWN (\{.*\})"/.exec(String(job.output))?.[1] ?? ''
  expect(JSON.parse(shown.replaceAll('\\"', '"'))).toEqual({
    volume: {
      cluster: 'gen1',
      svm: 'svm_a',
      name: 'gen_vol008',
      tier: 'silver',
      size: 200,
      exports: [{ client: '192.168.7.0/24', access: 'rw', network: '192.168.7.0' }],
    },
    retires: '2031-01',
  })
  // The storage system was asked with it, and the playbook has it: neither the job nor the output shows it.
  const { authorization } = storage.asked.find(({ path }) => path.includes('peers'))?.headers ?? {}
  expect(authorization).toBe(`Basic ${Buffer.from('sam:hush-4711').toString('base64')}`)
  const hash = createHash('sha256').update('hush-4711').digest('hex')
  expect(String(job.output)).toContain(`PROOF sam ${hash} ********`)
  expect(JSON.stringify([job, empty, filled])).not.toMatch(/hush|4711/)
})
