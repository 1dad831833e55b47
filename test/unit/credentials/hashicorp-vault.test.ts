import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import { type HashicorpVault, createHashicorpVault } from '../../../control-plane/src/credentials/hashicorp/vault.js'
import { withVaultSecret } from '../../../control-plane/src/credentials/stored/vault-secret.js'
import type { VaultSettings } from '../../../control-plane/src/credentials/hashicorp/settings.js'
import { readSettings } from '../../../control-plane/src/settings.js'
import { TEST_CERTIFICATE } from '../../support/test-certificate.js'
import { VAULT_ROLE, type VaultStandIn, startVaultStandIn } from '../../support/vault-stand-in.js'

let server: VaultStandIn
let folder: string
let caPath: string
let vault: HashicorpVault
let now: number
/** What waits for its time, by milliseconds. */
let timers: { readonly ms: number; readonly run: () => void }[]
let warned: string[]

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-vault-'))
  caPath = join(folder, 'ca.pem')
  writeFileSync(caPath, TEST_CERTIFICATE.cert)
  server = await startVaultStandIn()
})
afterAll(async () => {
  await server.close()
  rmSync(folder, { recursive: true })
})
beforeEach(() => {
  now = 0
  timers = []
  warned = []
  server.isSealed = false
  server.asked.splice(0)
  server.tokens.clear()
  server.tokens.set('static', { ttl: 0, renewable: false })
  server.secrets.clear()
  server.secrets.set('secret/team/db', { password: 'canary-1', username: 'sam', 'api key': 'canary-2', port: 5432 })
})
afterEach(() => vault?.close())

const approle = {
  kind: 'approle',
  roleId: VAULT_ROLE.role_id,
  secretId: VAULT_ROLE.secret_id,
  mount: 'approle',
} as const

function open(settings: Partial<VaultSettings> = {}): HashicorpVault {
  const login = { kind: 'token', token: 'static' } as const
  const all = { address: server.url, login, namespace: null, mount: null, caPath, keepMs: 30_000, ...settings }
  vault = createHashicorpVault(all, {
    steady: { now: () => now },
    timers: {
      after(ms, run) {
        const timer = { ms, run }
        timers.push(timer)
        return () => void (timers = timers.filter((one) => one !== timer))
      },
      every: () => () => undefined,
    },
    log: { warn: (fields) => warned.push(JSON.stringify(fields)) },
  })
  return vault
}

const credential = (password: string, more: Partial<OpenCredential> = {}): OpenCredential => ({
  id: 1,
  name: 'db',
  type: 'userpass',
  user: null,
  host: 'db',
  port: null,
  description: '',
  options: {},
  ...more,
  password,
})
const secretOf = async (password: string, more: Partial<OpenCredential> = {}) => {
  const { user, password: secret } = await withVaultSecret(credential(password, more), vault)
  return [user, secret]
}

describe('a reference', () => {
  test('gives password and user of the secret, or the named value', async () => {
    open()
    expect(await secretOf('vault:secret/team/db')).toEqual(['sam', 'canary-1'])
    expect(await secretOf('vault:secret/team/db', { user: 'own' })).toEqual(['own', 'canary-1'])
    expect(await secretOf('vault:secret/team/db#username')).toEqual(['sam', 'sam'])
    expect(await secretOf('no reference')).toEqual([null, 'no reference'])
  })

  test.each([
    [{ login: 'ann', token: 'canary-t' }, ['ann', 'canary-t']],
    [{ api_key: 'canary-k', secret: 'canary-s' }, [null, 'canary-k']],
    [{ user: 'ben', login: 'ann', apikey: 'canary-a' }, ['ben', 'canary-a']],
    [{ password: 'canary-p', token: 'canary-t', secret: 'canary-s' }, [null, 'canary-p']],
    [{ password: '', secret: 'canary-s' }, [null, 'canary-s']],
  ])('knows the names of the product family: %j', async (secret, expected) => {
    server.secrets.set('secret/named', secret)
    open()
    expect(await secretOf('vault:secret/named')).toEqual(expected)
  })

  test('may have characters that cannot be in a path, and a mount of several parts', async () => {
    server.secrets.set('kv/of/a?b/c%d', { password: 'odd' })
    open({ mount: 'kv/of', namespace: 'admin/' })
    expect(await secretOf('vault:kv/of/a?b/c%d')).toEqual([null, 'odd'])
    expect(server.lastHeaders).toMatchObject({ 'x-vault-namespace': 'admin/' })
  })
})

test('a secret is read again after the time for which it is kept', async () => {
  open()
  await Promise.all([secretOf('vault:secret/team/db'), secretOf('vault:secret/team/db#username')])
  server.secrets.set('secret/team/db', { password: 'newer' })
  now = 29_999
  expect(await secretOf('vault:secret/team/db')).toEqual(['sam', 'canary-1'])
  now = 30_000
  expect(await secretOf('vault:secret/team/db')).toEqual([null, 'newer'])
  expect(server.asked.filter((one) => one.startsWith('GET secret'))).toHaveLength(2)
})

describe('problems are named without a secret', () => {
  test.each([
    ['vault:secret/none', /Vault has no secret vault:secret\/none/],
    ['vault:secret/gone', /was deleted/],
    ['vault:secret/team/db#none', /has no text 'none'/],
    ['vault:secret/team/db#port', /has no text 'port'/],
  ])('%s', async (text, reason) => {
    server.secrets.set('secret/gone', null)
    open()
    await expect(secretOf(text)).rejects.toThrow(reason)
    await expect(secretOf(text)).rejects.toThrow(/^(?!.*canary)/)
  })

  test('a server that is sealed, away or not trusted', async () => {
    open()
    server.isSealed = true
    await expect(secretOf('vault:secret/team/db')).rejects.toThrow('sealed')
    server.isSealed = false
    expect(await secretOf('vault:secret/team/db')).toEqual(['sam', 'canary-1'])
    open({ caPath: null })
    await expect(secretOf('vault:secret/team/db')).rejects.toThrow(/cannot be asked: .*certificate/)
    open({ address: 'https://127.0.0.1:1' })
    await expect(secretOf('vault:secret/team/db')).rejects.toThrow(/cannot be asked: .*ECONNREFUSED/)
  })

  test('a token or login that is refused', async () => {
    open({ login: { kind: 'token', token: 'canary-of-token' } })
    await expect(secretOf('vault:secret/team/db')).rejects.toThrow(/permission denied \(403\)$/)
    open({ login: { ...approle, secretId: 'canary-wrong' } })
    await expect(secretOf('vault:secret/team/db')).rejects.toThrow(/AppRole login.*invalid role(?!.*canary)/)
  })

  test('a key that does not fit its type, and no Vault at all', async () => {
    open()
    await expect(secretOf('vault:secret/team/db', { type: 'ssh' })).rejects.toThrow('must be a private key')
    await expect(withVaultSecret(credential('vault:secret/db'), null)).rejects.toThrow('no Vault is set (VAULT_ADDR)')
  })
})

describe('the token', () => {
  test('of an AppRole is renewed before it ends', async () => {
    open({ login: approle })
    await secretOf('vault:secret/team/db')
    expect(timers.map(({ ms }) => ms)).toEqual([400_000])
    timers.splice(0).forEach(({ run }) => run())
    await expect.poll(() => timers.length).toBe(1)
    expect(server.asked).toContain('POST auth/token/renew-self')
    expect(warned).toEqual([])
  })

  test('of an AppRole that cannot be renewed, or was revoked, is replaced by a new login', async () => {
    open({ login: approle, keepMs: 0 })
    await secretOf('vault:secret/team/db')
    server.tokens.clear()
    expect(await secretOf('vault:secret/team/db')).toEqual(['sam', 'canary-1'])
    server.tokens.clear()
    timers.splice(0).forEach(({ run }) => run())
    await expect.poll(() => warned).toEqual(['{"problem":"permission denied (403)"}'])
    expect(await secretOf('vault:secret/team/db')).toEqual(['sam', 'canary-1'])
    expect(server.asked.filter((one) => one.endsWith('login'))).toHaveLength(3)
  })

  test('of the settings is renewed, too, and again when that fails', async () => {
    server.tokens.set('static', { ttl: 90, renewable: true })
    open()
    await secretOf('vault:secret/team/db')
    expect(timers.map(({ ms }) => ms)).toEqual([60_000])
    server.isSealed = true
    timers.splice(0).forEach(({ run }) => run())
    await expect.poll(() => timers.map(({ ms }) => ms)).toEqual([10_000])
    server.isSealed = false
    timers.splice(0).forEach(({ run }) => run())
    await expect.poll(() => timers.map(({ ms }) => ms)).toEqual([60_000])
    expect(warned).toEqual(['{"problem":"it is sealed (503)"}'])
  })
})

test('settings name the server and one of two ways to log in', () => {
  const read = (environment: Record<string, string>) =>
    readSettings({ environment, flags: {}, readFile: () => 'from-a-file' }, false).hashicorpVault
  const VAULT_ADDR = 'https://vault.example.com:8200/'
  const address = 'https://vault.example.com:8200'
  expect(read({})).toBeNull()
  expect(read({ VAULT_ADDR, VAULT_TOKEN_FILE: '/a' })).toEqual({
    address,
    namespace: null,
    mount: null,
    caPath: null,
    keepMs: 30_000,
    login: { kind: 'token', token: 'from-a-file' },
  })
  const role = { VAULT_ROLE_ID: 'r', VAULT_SECRET_ID: 's', VAULT_APPROLE_MOUNT: '/own/' }
  const more = { VAULT_NAMESPACE: 'team', VAULT_KV_MOUNT: 'kv/of/', VAULT_CACERT: '/ca.pem', VAULT_CACHE_SECONDS: '0' }
  expect(read({ VAULT_ADDR, ...role, ...more })).toEqual({
    address,
    namespace: 'team',
    mount: 'kv/of',
    caPath: '/ca.pem',
    keepMs: 0,
    login: { kind: 'approle', roleId: 'r', secretId: 's', mount: 'own' },
  })
  expect(() => read({ VAULT_ADDR })).toThrow('needs VAULT_TOKEN, or VAULT_ROLE_ID and VAULT_SECRET_ID')
  expect(() => read({ VAULT_ADDR: 'vault:8200', VAULT_TOKEN: 't' })).toThrow('VAULT_ADDR: must be an address')
})
