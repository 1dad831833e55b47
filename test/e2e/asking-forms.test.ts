import { createHash } from 'node:crypto'
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import mysql from 'mysql2'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newQuickPerson } from '../cli/run-cli.js'
import { covers } from '../interface/covers.js'
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.js'
import { type MariadbServer, startMariadb } from '../support/mariadb.js'
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

const PLAYBOOK_OF_MACHINE = `- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - ansible.builtin.debug:
        msg: "SHOWN {{ machine | to_json(sort_keys=true) }}"
`

/** What the database of machines knows. One name tries to break out of the queries that it is put into. */
const INVENTORY = [
  'create database cmdb',
  'use cmdb',
  'create table site (name varchar(50), code varchar(50))',
  `insert into site values ('of admin', 'x'' or ''1''=''1'), ('gent admin', 'gen'), ('bruges', 'bru')`,
  'create table network (site varchar(50), cidr varchar(50), vlan int)',
  `insert into network values ('gen', '10.1.0.0/16', 10), ('gen', '10.9.0.0/16', 90), ('bru', '10.2.0.0/16', 20)`,
  'create table machine (site varchar(50), name varchar(50))',
  `insert into machine values ('gen', 'gen001'), ('gen', 'gen004'), ('bru', 'bru009')`,
  'create table disk_default (label varchar(50), gb int)',
  `insert into disk_default values ('data', 100), ('os', 20)`,
  "set password = password('hush-cmdb')",
]

const page = (names: readonly string[], next: string | null) => ({
  records: names.map((name) => ({ name, uuid: `uuid-${name}`, location: { site: name.slice(0, 3) }, noise: 1 })),
  _links: next === null ? {} : { next: { href: next } },
})

let storage: AnsweringServer
let vault: VaultStandIn
let mariadb: MariadbServer
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
  ;[vault, mariadb] = await Promise.all([startVaultStandIn(), startMariadb()])
  const inventory = mysql.createConnection({ host: '127.0.0.1', port: mariadb.port, user: 'root' }).promise()
  for (const sql of INVENTORY) await inventory.query(sql)
  await inventory.end()
  vault.secrets.set('secret/storage', { username: 'sam', password: 'hush-4711' })
  const forms = readdirSync(join(FOLDER, 'forms'))
  product = await startProduct({
    forms: Object.fromEntries(forms.map((name) => [name, readFileSync(join(FOLDER, 'forms', name), 'utf8')])),
    playbooks: { 'show.yml': PLAYBOOK, 'machine.yml': PLAYBOOK_OF_MACHINE },
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
  await product.admin.post('/credential', {
    name: 'cmdb',
    type: 'database',
    host: '127.0.0.1',
    port: mariadb.port,
    user: 'root',
    password: 'hush-cmdb',
    options: { db_type: 'mysql', db_name: 'cmdb' },
  })
  await product.admin.post('/credential', { name: 'storage-token', password: 'token-4711' })
})
afterAll(async () => {
  await product?.close()
  await storage?.close()
  await vault?.close()
  await mariadb?.close()
})

/** What a playbook said that it got. */
const shownIn = (output: string): unknown =>
  JSON.parse((/SHOWN (\{.*\})"/.exec(output)?.[1] ?? '').replaceAll('\\"', '"'))

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
  // Its default is the first choice, and there is none. What has no default waits.
  expect(empty.fields.svm).toMatchObject({ choices: [], errors: [] })
  expect(empty.fields.volumes).toMatchObject({ waiting: 'it waits for a value of svm' })

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
  expect(shownIn(String(job.output))).toEqual({
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

test('a form over a real database is filled in, and launched with the rows that the server found itself', async () => {
  const path = '/forms/New%20machine/evaluate'
  const first = await product.admin.post<Evaluation>(path, { rawFormData: { site: 'of admin' }, wait: 60 })
  expect(first.fields).toMatchObject({
    site: {
      choices: [
        { name: 'gent admin', code: 'gen' },
        { name: 'of admin', code: "x' or '1'='1" },
      ],
    },
    // The code of this site stays a value: it finds nothing, and not everything.
    network: { choices: [] },
    taken: { value: [] },
  })
  const forged = { site: 'bruges', network: '10.9.0.0/16' }
  const refused = await product.admin.request('POST', '/job', { formName: 'New machine', rawFormData: forged })
  expect(refused).toMatchObject({ status: 422, body: { details: { invalid: expect.arrayContaining(['site']) } } })

  const rawFormData = {
    site: 'gent admin',
    name: 'forged',
    disks: [
      { label: 'os', gb: 20 },
      { label: 'log', gb: 5 },
    ],
  }
  const { id } = await product.admin.post<{ id: number }>('/job', { formName: 'New machine', rawFormData })
  const job = await product.waitForEnd(id)
  expect(job.status, String(job.status_reason)).toBe('success')
  expect(shownIn(String(job.output))).toEqual({
    site: 'gent admin',
    network: '10.1.0.0/16',
    name: 'gen005',
    disks: [
      { label: 'os', gb: 20 },
      { label: 'log', gb: 5 },
    ],
  })
  expect(JSON.stringify([job, first])).not.toContain('hush-cmdb')
})

test('values alone are launched: the check asks the servers itself, whatever was asked before', async () => {
  const before = storage.asked.length
  const launch = async (formName: string, rawFormData: object) => {
    const { id } = await product.admin.post<{ id: number }>('/job', { formName, rawFormData })
    const job = await product.waitForEnd(id)
    expect(job.status, String(job.status_reason)).toBe('success')
    return shownIn(String(job.output))
  }
  // Nobody says a storage VM, a name, rows or a tier: the first ones, the next one and the defaults count.
  expect(await launch('New volume', { cluster: 'gen1' })).toMatchObject({
    volume: {
      cluster: 'gen1',
      svm: 'svm_a',
      name: 'gen_vol008',
      tier: 'gold',
      size: 10,
      exports: [{ client: '10.0.0.0/8', access: 'ro' }],
    },
  })
  expect(storage.asked.slice(before).map(({ path }) => path)).toEqual([
    '/api/cluster/peers?start=0',
    '/api/cluster/peers?start=2',
    '/api/svm/svms?cluster=uuid-gen1',
    '/api/volumes?svm=svm_a',
  ])
  expect(await launch('New machine', { site: 'gent admin' })).toMatchObject({
    site: 'gent admin',
    network: '10.1.0.0/16',
    name: 'gen005',
    disks: [
      { label: 'data', gb: 100 },
      { label: 'os', gb: 20 },
    ],
  })
})

test('what it needs of the world is said of the whole folder, without a server', async () => {
  const { code, stdout } = await newQuickPerson().run(['form', 'check', join(FOLDER, 'forms')])
  expect([code, stdout.split('\n')]).toEqual([
    0,
    [
      'New machine needs databases (cmdb (mysql), cmdb): site, network, taken, disks',
      'New machine needs jq: taken',
      'New volume needs stored credentials (storage)',
      'New volume needs REST services (fn.fnRestBasic, fn.fnRestJwtSecure, fn.fnRestAdvanced): cluster, svm, volumes',
      'New volume needs jq: cluster',
      'New volume needs files below FORM_FILES_PATH (fn.fnReadYamlFile): tier',
      '4 forms are good.',
      '',
    ],
  ])
})
