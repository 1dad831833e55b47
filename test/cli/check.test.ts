import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { openStore } from '../../control-plane/src/store/open-store.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'
import { newQuickPerson } from './run-cli.js'

/** `holdfast check`, as an admin types it on the host of the control plane. */
let folder: string
/** Answers like a control plane, and like a provider that calls itself something else. */
const server: Server = createServer((request, response) => {
  if (request.url === '/base/api/v2/live') response.end('{}')
  else if (request.url === '/realm/.well-known/openid-configuration') response.end('{"issuer":"https://other.example"}')
  else response.writeHead(404).end()
})
let port: number

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  port = (server.address() as AddressInfo).port
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

interface Given {
  readonly settings?: Readonly<Record<string, string>>
  readonly files?: Readonly<Record<string, string>>
}

/** A new data folder with these files, and what the check says of it. */
async function check({ settings = {}, files = {} }: Given = {}, path = newFolder()) {
  for (const [name, text] of Object.entries(files)) writeFileSync(join(path, name), text)
  const environment = { PERSISTENT_PATH: path, PORT: '0', ...settings }
  const { code, stdout, stderr } = await newQuickPerson().run(['check'], { environment })
  expect(stderr).toBe('')
  return { code, said: stdout.replaceAll(path, 'DATA') }
}

function newFolder(): string {
  const path = mkdtempSync(join(folder, 'data-'))
  chmodSync(path, 0o700)
  return path
}

it('says of each thing that a first start finds it or makes it', async () => {
  const { code, said } = await check()
  expect(said.replaceAll(/^ok +(\S.*?): .*$/gm, '$1')).toBe(
    `data folder\ndisk\nforms folder\nplaybook folder\ndatabase\ncertificate\nport\nconfig.yaml\nforms\nA control plane can run here.\n`,
  )
  expect(code).toBe(0)
})

it('names what is wrong with the folders, and changes nothing', async () => {
  const path = newFolder()
  chmodSync(path, 0o755)
  writeFileSync(join(path, 'encryption-secret'), 'x', { mode: 0o644 })
  const { code, said } = await check({}, path)
  expect(said).toContain('warning  data folder: other users can look into DATA, where secrets are\n')
  expect(said).toContain('-> chmod 0600 DATA/encryption-secret\n')
  expect(code).toBe(0)

  const nowhere = await check({ settings: { PERSISTENT_PATH: join(folder, 'no', 'such', 'folder') } })
  expect(nowhere.said).toMatch(/^PROBLEM {2}data folder: .* cannot be made: .*\n +-> make it: install -d -m 0700/m)
  expect(nowhere.code).toBe(1)
})

it('names what of the playbooks cannot travel to a runner', async () => {
  const path = newFolder()
  mkdirSync(join(path, 'playbooks'))
  symlinkSync('/usr/bin/python3', join(path, 'playbooks', 'python'))
  const { code, said } = await check({}, path)
  expect(said).toMatch(
    /^warning {2}playbook folder: 1 entry of DATA\/playbooks cannot travel to runners: python \(an absolute link\)\n +-> /m,
  )
  expect(code).toBe(0)

  writeFileSync(join(path, 'playbooks', 'big'), Buffer.alloc(1024 * 1024 + 1))
  expect((await check({ settings: { RTE_FILES_MAX_MB: '1' } }, path)).said).toMatch(
    /^warning {2}playbook folder: .*1 MB/m,
  )
})

it('knows tables of this release, those of another one, and a file that is no database', async () => {
  const path = newFolder()
  const place = { kind: 'sqlite', path: join(path, 'holdfast.db') } as const
  const store = await openStore(place)
  expect((await check({}, path)).said).toContain('database: SQLite, DATA/holdfast.db: tables of this release\n')
  await store.write('test.forget', (queries) => queries.deleteFrom('kysely_migration' as never).execute())
  await store.close()
  expect((await check({}, path)).said).toMatch(/^warning {2}database: .*: tables of an older release; .*\n.*backup/m)

  const garbage = await check({
    files: { 'holdfast.db': 'this is no database, only a text that is long enough'.repeat(99) },
  })
  expect(garbage.said).toMatch(/^PROBLEM {2}database: .*\n +-> is the file whole\?/m)
  expect(garbage.code).toBe(1)
})

it('says that a server of PostgreSQL cannot be reached, without the password of its address', async () => {
  const secrets = { ACCESS_TOKEN_SECRET: 'a'.repeat(40), ENCRYPTION_SECRET: 'b'.repeat(40) }
  const DATABASE_URL = 'postgres://holdfast:canary-password@127.0.0.1:1/holdfast'
  const { code, said } = await check({ settings: { DATABASE_URL, ...secrets } })
  expect(said).toMatch(/^PROBLEM {2}database: .*\n +-> look at DATABASE_URL/m)
  expect(said).not.toContain('canary-password')
  expect(code).toBe(1)
})

it('knows whether a control plane or another program has the port', async () => {
  const PORT = String(port)
  const ours = await check({ settings: { PORT, BASE_URL: '/base' } })
  expect(ours.said).toContain(`port: a control plane answers at 127.0.0.1:${port}\n`)
  expect(ours.code).toBe(0)
  const other = await check({ settings: { PORT } })
  expect(other.said).toContain(`PROBLEM  port: 127.0.0.1:${port} is taken by another program\n`)
  expect(other.code).toBe(1)
})

it('says for which name the certificate is, and whether its file exists', async () => {
  const files = { 'cert.pem': TEST_CERTIFICATE.cert, 'key.pem': TEST_CERTIFICATE.key }
  const path = newFolder()
  const tls = { HTTPS: '1', HTTPS_CERT: join(path, 'cert.pem'), HTTPS_KEY: join(path, 'key.pem') }
  const settings = { ...tls, PUBLIC_URL: 'https://localhost:8443' }
  expect((await check({ settings, files }, path)).said).toMatch(/^ok {7}certificate: valid until .* 2120 GMT$/m)
  const wrongName = await check({ settings: { ...tls, PUBLIC_URL: 'https://jobs.example.com' } }, path)
  expect(wrongName.said).toContain('PROBLEM  certificate: not for jobs.example.com, which PUBLIC_URL says\n')
  const missing = await check({ settings: { ...settings, HTTPS_KEY: join(path, 'nothing.pem') } }, path)
  expect(missing.said).toMatch(/^PROBLEM {2}certificate: HTTPS_KEY: cannot read /m)
  expect((await check({ settings: { LISTEN_HOST: '0.0.0.0' } })).said).toMatch(/^warning {2}certificate: none, /m)
})

it('says where config.yaml is wrong, and how many forms are wrong', async () => {
  const path = newFolder()
  const { code, said } = await check({ files: { 'config.yaml': 'roles:\n  - nmae: admin\n' } }, path)
  expect(said).toMatch(/^PROBLEM {2}config\.yaml: DATA\/config\.yaml, line 2: /m)
  expect(code).toBe(1)
  const forms = mkdtempSync(join(folder, 'forms-'))
  writeFileSync(join(forms, 'good.yml'), 'name: Good\ntype: ansible\nplaybook: a.yml\nroles: [default]\nfields: []\n')
  writeFileSync(join(forms, 'bad.yml'), 'name: Bad\ntype: nothing\n')
  const withForms = await check({ settings: { FORMS_FOLDER_PATH: forms } })
  expect(withForms.said).toContain('warning  forms: good: 1, wrong: 1\n')
  expect(withForms.code).toBe(0)
})

it('says whether the providers of sign-in can be reached', async () => {
  const config = `roles:
  - name: admin
    groups: [local/admins]
ldap:
  url: ldap://127.0.0.1:${port}
  tls: { plain: true }
  searchBase: dc=example,dc=org
oidc:
  issuer: http://127.0.0.1:${port}/realm
  clientId: holdfast
`
  const { code, said } = await check({ files: { 'config.yaml': config } })
  expect(said).toContain(`ok       sign-in by ldap: ldap://127.0.0.1:${port} takes connections\n`)
  expect(said).toMatch(/^PROBLEM {2}sign-in by oidc: .* names another issuer: https:\/\/other\.example$/m)
  expect(code).toBe(1)
  const closed = await check({
    files: { 'config.yaml': config.replace(`ldap://127.0.0.1:${port}`, 'ldap://127.0.0.1:1') },
  })
  expect(closed.said).toMatch(/^PROBLEM {2}sign-in by ldap: ldap:\/\/127\.0\.0\.1:1 cannot be reached: .*ECONNREFUSED/m)
})

it('ends with exit code 2 for a wrong setting', async () => {
  const { code, stderr } = await newQuickPerson().run(['check'], { environment: { PORT: 'many' } })
  expect(stderr).toContain('PORT')
  expect(code).toBe(2)
})
