import { execFileSync } from 'node:child_process'
import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, randomBytes } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sqlite3 from 'sqlite3'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storedEvents, storedOutput } from '../support/exactness.js'
import { type Product, startProduct } from '../support/product.js'
import { type RecordingProxy, startRecordingProxy } from '../support/recording-proxy.js'
import { secretsBelow, secretsIn, secretsInProcesses } from '../support/secret-search.js'
import { waitFor } from '../support/wait.js'
import { covers } from '../interface/covers.js'

/**
 * Secrets are planted as credentials of every kind; a playbook proves that it got them and shows them on purpose, in
 * every form. Then they are looked for everywhere: nobody may find one.
 */
const unguessable = () =>
  randomBytes(12)
    .toString('base64url')
    .replace(/^[-_]+/, 'x')
const privateKey = generateKeyPairSync('rsa', { modulusLength: 2048 }).privateKey
const SECRETS = {
  login: `pä"ss {{ ${unguessable()}`,
  key: privateKey.export({ type: 'pkcs1', format: 'pem' }).toString(),
  vault: `vault ${unguessable()}`,
  /** Of another id, as there may be one for each environment. */
  secondVault: `second ${unguessable()}`,
  ansible: `ansible-${unguessable()}`,
  file: `file'${unguessable()}`,
  /** Typed into password fields of the form, of a row and of a page that a step takes. */
  typed: `typed \\ "${unguessable()}" {{ 1 + 1 }}`,
  lines: `first ${unguessable()}\nsecond ${unguessable()}`,
  inRow: `row-${unguessable()}`,
  /** What stands in the encrypted file is no credential, but the playbook shows only its hash. */
  inVault: `inside-${unguessable()}`,
  inSecondVault: `second-inside-${unguessable()}`,
}

const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

const FORM = `name: secrets
type: ansible
roles: [default]
playbook: secrets.yml
inventory: localhost,
credentials: {db: "missing one,database login", keyed: deploy key, from_file: of the file}
ansibleCredentials: hosts login
vaultCredentials: [vault password, {name: password of prod, id: prod}]
launchValidation: enforce
fields:
  - {name: pin, type: password, model: app.pin}
  - {name: lines, type: password}
  - {name: friends, type: list, subform: friend}
  - {name: address, type: expression, runLocal: true, expression: "'db://u:' + encodeURIComponent('$(pin)') + '@db'"}
  - {name: both, type: expression, runLocal: true, expression: "'$(pin) and more'"}
`

const SUBFORM = `name: friend
type: subform
roles: [default]
fields:
  - {name: who}
  - {name: code, type: password}
`

function playbook(folder: string): string {
  const hashOf = (expression: string) => `{{ (${expression}) | hash('sha256') }}`
  return `- name: "play of {{ db.password }}"
  hosts: localhost
  gather_facts: false
  connection: local
  vars_files: [encrypted.yml, prod.yml]
  tasks:
    - name: prove what came
      ansible.builtin.copy:
        dest: ${join(folder, 'proof')}
        content: "${[
          'db.password',
          'keyed.password',
          'from_file.password',
          'ansible_password',
          'in_vault',
          'in_prod',
          'app.pin',
          'lines',
          'friends[0].code',
        ]
          .map(hashOf)
          .join(' ')} {{ db.user }} {{ db.host }}:{{ db.port }} {{ ansible_user }}"
    - name: use the key as ssh would
      ansible.builtin.command: ssh-keygen -y -f {{ keyed.private_key_file }}
      register: public
    - name: keep the public half
      ansible.builtin.copy: {dest: "${join(folder, 'public')}", content: "{{ public.stdout }}"}
    - name: "show {{ db.password }} and {{ ansible_password }}"
      ansible.builtin.debug:
        msg:
          - "{{ db.password }} {{ keyed.password }} {{ from_file.password }} {{ ansible_password }}"
          - "{{ db | to_json }} {{ keyed | to_json | to_json }} {{ db | to_nice_yaml }}"
          - "{{ db.password | b64encode }} {{ keyed.password | b64encode }} {{ ansible_password | b64encode }}"
          - "{{ ('user:' + ansible_password) | b64encode }} {{ ('u:' + from_file.password) | b64encode }}"
          - "{{ db.password | urlencode }} {{ keyed.password | urlencode }} {{ from_file.password | urlencode }}"
          - "{{ {ansible_password: {from_file.password: 1}} }}"
    - name: "passwords {{ app.pin }} {{ friends[0].code }}"
      ansible.builtin.debug:
        msg:
          - "{{ app.pin }} {{ lines }} {{ friends }} {{ address }} {{ both }}"
          - "{{ app | to_json | to_json }} {{ lines | b64encode }} {{ ('u:' + friends[0].code) | b64encode }}"
          - "{{ app.pin | urlencode }} {{ lines.splitlines() }}"
    - name: publish
      ansible.builtin.set_stats: {data: {published: "{{ app.pin }}", about: "is {{ friends[0].code }}"}}
    - name: lines
      ansible.builtin.debug: {var: keyed.password.splitlines()}
    - name: a loop
      ansible.builtin.debug: {msg: "{{ item }}"}
      loop: ["{{ db.password }}", "{{ ansible_password }}"]
    - name: a failure
      ansible.builtin.fail: {msg: "no {{ from_file.password }} for {{ ansible_password }}"}
      ignore_errors: true
    - name: too long for a line
      ansible.builtin.set_fact: {long: "{{ 'x' * 200000 }}{{ (ansible_password + ' ') * 5000 }}"}
    - name: long output
      ansible.builtin.debug: {var: long}
    - name: a host named so
      ansible.builtin.add_host: {name: "host-{{ ansible_password }}", groups: more}
    - name: wait while everything is searched
      ansible.builtin.wait_for: {path: "${join(folder, 'gate')}", sleep: 1}
- name: on that host
  hosts: more
  gather_facts: false
  connection: local
  tasks:
    - ansible.builtin.debug: {msg: here}
`
}

let product: Product
let proxy: RecordingProxy
let folder: string

async function addCredential(name: string, more: Record<string, unknown>): Promise<void> {
  await product.admin.post('/credential', { name, ...more })
}

/** Writes a file that ansible-vault has encrypted. @param id in its first line; without one every password is tried */
function encrypt(name: string, text: string, password: string, id: string | null = null): void {
  const [path, passwordFile] = [join(folder, name), join(folder, 'vault-password')]
  writeFileSync(path, text)
  writeFileSync(passwordFile, password)
  const by = id === null ? ['--vault-password-file', passwordFile] : ['--vault-id', `${id}@${passwordFile}`]
  execFileSync('ansible-vault', ['encrypt', ...by, path])
}

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-secrets-'))
  encrypt('encrypted.yml', `in_vault: ${SECRETS.inVault}\n`, SECRETS.vault)
  encrypt('prod.yml', `in_prod: ${SECRETS.inSecondVault}\n`, SECRETS.secondVault, 'prod')
  product = await startProduct({
    // Looks into the file of the database.
    database: 'sqlite',
    forms: {
      'secrets.yml': FORM,
      'friend.yml': SUBFORM,
      'lost.yml': FORM.replace('name: secrets', 'name: lost').replace('deploy key', 'gone'),
    },
    playbooks: {
      'secrets.yml': playbook(folder),
      'encrypted.yml': readFileSync(join(folder, 'encrypted.yml'), 'utf8'),
      'prod.yml': readFileSync(join(folder, 'prod.yml'), 'utf8'),
    },
    controlPlane: { LOG_LEVEL: 'trace' },
    agent: { LOG_LEVEL: 'trace' },
    dial: async (address) => {
      proxy = await startRecordingProxy(address)
      return proxy.address
    },
    prepare: async (at) => {
      const entry = { name: 'of the file', user: 'f', password: SECRETS.file }
      writeFileSync(join(at, 'persistent/credentials.yaml'), JSON.stringify({ credentials: [entry] }))
      return { controlPlane: {}, agent: {} }
    },
  })
  const login = { user: 'dbuser', password: SECRETS.login, host: 'db.example.com', port: 5432 }
  await addCredential('database login', login)
  await addCredential('deploy key', { type: 'ssh', user: 'git', password: SECRETS.key })
  await addCredential('vault password', { type: 'vault', password: SECRETS.vault })
  await addCredential('password of prod', { type: 'vault', password: SECRETS.secondVault })
  await addCredential('hosts login', { user: 'deployer', password: SECRETS.ansible })
})

afterAll(async () => {
  await product.close()
  await proxy.close()
  rmSync(folder, { recursive: true, force: true })
})

const isCredentialFile = (path: string) => path.endsWith('/credentials.yaml')

/** The orders in the spool of the runner. */
function claimsOf(folder: string): string {
  const jobs = join(folder, 'rte-state/spool/jobs')
  return readdirSync(jobs)
    .map((name) => readFileSync(join(jobs, name, 'claim.json'), 'utf8'))
    .join('')
}

/** Everything that the programs keep: database with its log, spool, keys, logs. */
const foundOnDisk = () => secretsBelow(product.folder, SECRETS, isCredentialFile)

async function everyAnswer(jobId: number): Promise<string> {
  const { admin } = product
  const events = await storedEvents(product, jobId)
  const one = await Promise.all(events.map(({ order }) => admin.get(`/job/${jobId}/events/${order}`)))
  const paths = [
    '/job',
    '/audit',
    `/job/${jobId}`,
    `/job/${jobId}/rawformdata`,
    `/job/${jobId}?text=true`,
    `/job/${jobId}/events`,
    `/job/${jobId}/outline`,
    `/job/${jobId}/matrix`,
    `/job/${jobId}/output/index`,
    '/credential',
    '/forms',
  ]
  const answers = await Promise.all(paths.map((path) => admin.get(path)))
  const raw = async (path: string) => (await admin.raw(path)).bytes.toString()
  const texts = await Promise.all([`/job/${jobId}/download`, `/job/${jobId}/output`].map(raw))
  // A search tells whether a text is there, so it must not find one either.
  for (const secret of Object.values(SECRETS)) {
    const [part = ''] = secret.split('\n').filter((line) => line.length > 4 && !line.startsWith('-----'))
    const found = await admin.get<{ count: number }>(`/job/${jobId}/output/search?q=${encodeURIComponent(part)}`)
    expect([part, found.count]).toEqual([part, 0])
  }
  return [...one, ...answers, ...texts]
    .map((answer) => (typeof answer === 'string' ? answer : JSON.stringify(answer)))
    .join('\n')
}

/** All rows of all tables, as text and as their bytes. */
async function everyRow(): Promise<string> {
  const database = new sqlite3.Database(join(product.folder, 'persistent/holdfast.db'), sqlite3.OPEN_READONLY)
  const all = (sql: string) =>
    new Promise<Record<string, unknown>[]>((resolve, reject) => {
      database.all(sql, (error, rows) => (error ? reject(error) : resolve(rows as Record<string, unknown>[])))
    })
  const tables = await all("select name from sqlite_master where type = 'table'")
  const rows = (await Promise.all(tables.map(({ name }) => all(`select * from "${String(name)}"`)))).flat()
  await new Promise((resolve) => database.close(resolve))
  const values = rows.flatMap((row) => Object.values(row))
  return values
    .map((value) => (Buffer.isBuffer(value) ? value.toString('latin1') + value.toString() : String(value)))
    .join('\n')
}

describe('secrets of credentials', () => {
  test('reach the playbook and are found nowhere else, while it runs and afterwards', async () => {
    covers('launch.credentials', 'credential.playbook')
    const rawFormData = {
      pin: SECRETS.typed,
      lines: SECRETS.lines,
      friends: [{ who: 'Eve', code: SECRETS.inRow }],
    }
    const launch = { formName: 'secrets', rawFormData }
    const { id: jobId } = await product.admin.post<{ id: number }>('/job', launch)
    await waitFor('the playbook to wait', async () =>
      (await storedOutput(product, jobId)).includes('wait while everything is searched'),
    )
    expect(claimsOf(product.folder)).toContain('"sealed":"A')
    expect(foundOnDisk()).toEqual([])
    expect(secretsInProcesses(SECRETS)).toEqual([])
    writeFileSync(join(folder, 'gate'), '')

    const job = await product.waitForEnd(jobId)
    expect(job.status, String(job.output)).toBe('success')
    const { login, key, file, ansible, inVault, inSecondVault, typed, lines, inRow } = SECRETS
    const hashes = [login, key, file, ansible, inVault, inSecondVault, typed, lines, inRow].map(sha256)
    expect(readFileSync(join(folder, 'proof'), 'utf8')).toBe(`${hashes.join(' ')} dbuser db.example.com:5432 deployer`)
    const publicKey = createPublicKey(createPrivateKey(SECRETS.key)).export({ format: 'jwk' })
    expect(readFileSync(join(folder, 'public'), 'utf8')).toContain('ssh-rsa AAAA')
    const modulus = Buffer.from(String(publicKey.n), 'base64url')
    expect(
      Buffer.from(readFileSync(join(folder, 'public'), 'utf8').split(' ')[1] ?? '', 'base64').includes(modulus),
    ).toBe(true)

    expect(foundOnDisk()).toEqual([])
    expect(secretsIn(await everyRow(), SECRETS)).toEqual([])
    const answers = await everyAnswer(jobId)
    expect(secretsIn(answers, SECRETS)).toEqual([])
    expect(secretsIn(proxy.down(), SECRETS)).toEqual([])
    expect(secretsIn(proxy.up(), SECRETS)).toEqual([])
    // The whole channel is sealed, so that nobody on the way sees even the sealed secrets.
    expect(proxy.down().length).toBeGreaterThan(1000)
    expect(proxy.down().includes('"sealed":"A')).toBe(false)
    expect(String(job.output)).toContain('host-********')
    expect(job.credentials).toEqual({ db: 'database login', keyed: 'deploy key', from_file: 'of the file' })
    expect(job.extravars).toMatchObject({
      __credentials__: job.credentials,
      __ansibleCredentials__: 'hosts login',
      __vaultCredentials__: ['vault password', { name: 'password of prod', id: 'prod' }],
    })
    expect(job.extravars).toMatchObject({
      app: { pin: '********' },
      lines: '********',
      address: '********',
      both: '********',
      friends: [{ who: 'Eve', code: '********' }],
    })
  })

  test('in the database are found by this search when they are there', async () => {
    const { count } = await product.admin.get<{ count: number }>('/credential')
    expect(count).toBe(6)
    expect(secretsBelow(product.folder, SECRETS)).toEqual([
      `${join(product.folder, 'persistent/credentials.yaml')}: file`,
    ])
    expect(secretsIn(Buffer.from(SECRETS.login).toString('base64'), SECRETS)).toEqual(['login'])
  })

  test('that cannot be had end the job before anything is handed to a runner, with the reason', async () => {
    covers('credential.missing')
    const before = proxy.down().length
    const id = await product.launch('lost', { pin: 'any', lines: 'any', friends: [] })
    const job = await product.admin.get(`/job/${id}?text=true`)
    expect(job).toMatchObject({ status: 'failed', status_reason: "There is no credential 'gone'" })
    expect(job.output).toContain("There is no credential 'gone'")
    expect(proxy.down().subarray(before).includes('"offer"')).toBe(false)
    expect(existsSync(join(product.folder, 'rte-state/spool/jobs', String(id)))).toBe(false)
  })
})
