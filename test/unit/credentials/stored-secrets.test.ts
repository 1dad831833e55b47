import { generateKeyPairSync } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { createHashicorpVault } from '../../../control-plane/src/credentials/hashicorp/vault.js'
import { type VaultRequest, reasonOf } from '../../../control-plane/src/credentials/hashicorp/request.js'
import { vaultReferenceOf } from '../../../control-plane/src/credentials/hashicorp/reference.js'
import {
  type CredentialType,
  type OpenCredential,
  givenOptions,
  problemOfSecret,
} from '../../../control-plane/src/credentials/stored/credential.js'
import { withVaultSecret } from '../../../control-plane/src/credentials/stored/vault-secret.js'
import { heldTimers } from '../../api/held-timers.js'

const CERTIFICATE = '-----BEGIN CERTIFICATE-----'
const PEM = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
const openssh = (cipher: string) =>
  `-----BEGIN OPENSSH PRIVATE KEY-----\n${Buffer.concat([
    Buffer.from('openssh-key-v1\0'),
    Buffer.from([0, 0, 0, cipher.length]),
    Buffer.from(cipher),
  ]).toString('base64')}\n-----END OPENSSH PRIVATE KEY-----\n`

describe('the secret of a credential', () => {
  test.each<[CredentialType, string, object]>([
    ['userpass', 'x', {}],
    ['vault', 'x', {}],
    ['token', 'x', {}],
    ['database', 'x', { db_type: 'mysql' }],
    ['ssh', PEM, {}],
    ['ssh', openssh('none'), {}],
    ['ssh', 'vault:kv/key', {}],
    ['certificate', PEM, { certificate: CERTIFICATE }],
  ])('of type %s is good as it is: %j', (type, secret, options) => {
    expect(problemOfSecret(type, secret, options)).toBeNull()
  })

  test.each<[CredentialType, string, object, string]>([
    ['database', 'x', {}, 'the type database needs options.db_type'],
    ['certificate', PEM, {}, 'the type certificate needs options.certificate'],
    ['ssh', 'x', {}, 'the password of a credential of type ssh must be a private key (PEM or OpenSSH)'],
    ['certificate', 'x', { certificate: CERTIFICATE }, 'of type certificate must be a private key (PEM)'],
    ['ssh', openssh('aes256-ctr'), {}, 'must not have a passphrase'],
    ['ssh', PEM.replace('PRIVATE', 'ENCRYPTED PRIVATE'), {}, 'must not have a passphrase'],
  ])('of type %s is a problem: %j with %j', (type, secret, options, problem) => {
    expect(problemOfSecret(type, secret, options)).toContain(problem)
  })

  test('has the options that are said, and none that is null', () => {
    const all = { db_type: 'mysql', db_name: 'a', secure: false, ca: CERTIFICATE, certificate: CERTIFICATE } as const
    expect(givenOptions(all)).toEqual(all)
    expect(givenOptions({ db_type: null, db_name: null, secure: null, ca: null, certificate: null })).toEqual({})
    expect(givenOptions({})).toEqual({})
  })
})

test.each([
  ['vault:kv/a', { path: 'kv/a', key: null }],
  ['vault:kv/a/b#user', { path: 'kv/a/b', key: 'user' }],
  ['vault:kv', null],
  ['vault:/kv/a', null],
  ['vault:kv/a/', null],
  ['vault:kv//a', null],
  ['vault:kv/../a', null],
  ['vault:kv/./a', null],
  ['vault:kv/..', null],
  ['vault:kv/a b', null],
  ['vault:kv/a#', null],
  ['Vault:kv/a', null],
])('the text %s names the secret %j', (text, reference) => {
  expect(vaultReferenceOf(text)).toEqual(reference)
})

const LOGIN: OpenCredential = {
  id: 1,
  name: 'login',
  type: 'userpass',
  description: '',
  user: null,
  host: 'h',
  port: 1,
  password: 'vault:kv/a',
  options: {},
}

describe('a secret of Vault', () => {
  const read = (values: Record<string, unknown>, more: Partial<OpenCredential> = {}) =>
    withVaultSecret({ ...LOGIN, ...more }, { read: () => Promise.resolve(values), close: () => undefined })

  test.each(['password', 'token', 'api_key', 'apikey', 'secret'])(
    'has its password under the name %s',
    async (name) => {
      expect(await read({ other: 'x', [name]: 'hush' })).toMatchObject({ password: 'hush', user: null })
    },
  )

  test.each(['username', 'user', 'login'])('has its user under the name %s', async (name) => {
    expect(await read({ password: 'hush', [name]: 'sam' })).toMatchObject({ user: 'sam' })
    expect(await read({ password: 'hush', [name]: 'sam' }, { user: 'own' })).toMatchObject({ user: 'own' })
  })

  test('has the password under the first of these names that is a text', async () => {
    expect(await read({ secret: 'no', password: 'hush' })).toMatchObject({ password: 'hush' })
    expect(await read({ password: '', token: 5, secret: 'hush' })).toMatchObject({ password: 'hush' })
    expect(await read({ password: 'no', pin: 'hush' }, { password: 'vault:kv/a#pin' })).toMatchObject({
      password: 'hush',
    })
  })

  test.each([
    [{ pin: 'x' }, {}, "the secret vault:kv/a of Vault has no text 'password'"],
    [{ password: 'x' }, { password: 'vault:kv/a#toString' }, "has no text 'toString'"],
    [{ password: 'x' }, { type: 'ssh' }, 'the secret vault:kv/a of Vault does not fit: the password of a credential'],
  ] as const)('with %j for %j is a problem', async (values, more, problem) => {
    await expect(read(values, more)).rejects.toThrow(problem)
  })

  test('is asked for only when the password names one, and is a problem without a Vault', async () => {
    expect(await withVaultSecret({ ...LOGIN, password: 'plain' }, null)).toMatchObject({ password: 'plain' })
    await expect(withVaultSecret(LOGIN, null)).rejects.toThrow(
      'its secret is vault:kv/a, and no Vault is set (VAULT_ADDR)',
    )
  })
})

describe('Vault', () => {
  const settings = {
    address: 'https://vault',
    login: { kind: 'token', token: 't' },
    namespace: null,
    mount: null,
    caPath: null,
    keepMs: 1000,
  } as const
  /** A Vault whose token lives for so many seconds, with what it was asked for. */
  function made(ttl = 0) {
    const held = heldTimers()
    const asked: string[] = []
    const send = ({ method, url }: VaultRequest) => {
      const path = url.slice('https://vault/v1/'.length)
      asked.push(`${method} ${path}`)
      const body = path.startsWith('auth') ? { data: { ttl, renewable: true } } : { data: { data: { path } } }
      return Promise.resolve({ status: 200, body })
    }
    const clock = { ms: 0 }
    const log = { warn: () => undefined }
    const vault = createHashicorpVault(settings, { timers: held.timers, steady: { now: () => clock.ms }, log, send })
    return { vault, asked, clock, held, readsOf: (path: string) => asked.filter((one) => one.endsWith(path)).length }
  }

  test('is asked for a secret again when its time is over, and not a moment before', async () => {
    const { vault, clock, readsOf } = made()
    const times = async (ms: number) => {
      clock.ms = ms
      await vault.read({ path: 'kv/a', key: null })
      return readsOf('kv/data/a')
    }
    expect([await times(0), await times(999), await times(1000)]).toEqual([1, 1, 2])
  })

  test('has 1000 secrets kept at most, and those that were read last', async () => {
    const { vault, readsOf } = made()
    for (let n = 0; n < 1000; n += 1) await vault.read({ path: `kv/${n}`, key: null })
    await vault.read({ path: 'kv/0', key: null })
    expect(readsOf('kv/data/0')).toBe(1)
    await vault.read({ path: 'kv/more', key: null })
    await vault.read({ path: 'kv/1', key: null })
    await vault.read({ path: 'kv/0', key: null })
    expect([readsOf('kv/data/1'), readsOf('kv/data/0')]).toEqual([1, 2])
  })

  test('renews its token after two thirds of its time, and never one without an end', async () => {
    const { vault, held, asked } = made(90)
    await vault.read({ path: 'kv/a', key: null })
    expect(held.waitsFor(60_000)).toBe(true)
    held.move(60_000)
    await expect.poll(() => asked).toContain('POST auth/token/renew-self')
    vault.close()
    const endless = made(0)
    await endless.vault.read({ path: 'kv/a', key: null })
    expect(endless.held.count()).toBe(0)
  })

  test('gives its reason when it refuses', () => {
    expect(reasonOf(503, {}, [])).toBe('it is sealed (503)')
    expect(reasonOf(403, { errors: ['x'] }, [])).toBe('permission denied (403)')
    expect(reasonOf(400, { errors: ['a', 5, 'b'] }, [])).toBe('a; b (400)')
    expect(reasonOf(400, { errors: 'a' }, [])).toBe('it gives no reason (400)')
  })
})
