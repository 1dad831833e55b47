import { createIdentityKeys, openSecrets, publicKeyOf } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { SecretBoxError, createSecretBox } from '../../../control-plane/src/credentials/encryption/secret-box.js'
import { type CredentialNeeds, allNames, chooseCredentials } from '../../../control-plane/src/credentials/job/needs.js'
import { createJobVault } from '../../../control-plane/src/credentials/job/sealed-values.js'
import { SecretsProblem, createJobSealing } from '../../../control-plane/src/credentials/job/sealing.js'
import { vaultIdOf, vaultNeedsOf } from '../../../control-plane/src/credentials/job/vault-needs.js'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import {
  credentialNeedsOf,
  forbiddenCredential,
  requireDeclaredNames,
  requireKnownNames,
  withLaunchNames,
} from '../../../control-plane/src/jobs/needs/credential-needs.js'

const needs = (credentials: Record<string, string>, ansible: string | null = null, vault: string | null = null) => ({
  credentials,
  ansibleCredentials: ansible,
  vaultCredentials: vault,
})

test.each<[form: Record<string, unknown>, needed: CredentialNeeds | string]>([
  [{ credentials: { db: 'a,b' }, ansibleCredentials: 'c', vaultCredentials: 'd' }, needs({ db: 'a,b' }, 'c', 'd')],
  [{ credentials: null, ansibleCredentials: '', vaultCredentials: null }, needs({})],
  [{ credentials: ['a'] }, 'credentials'],
  [{ credentials: { a: 1 } }, 'credentials'],
  [{ ansibleCredentials: 3 }, 'ansibleCredentials'],
  [{ vaultCredentials: [{ name: 'vault', id: 'a@b' }] }, 'a list'],
])('the form %j needs %j', (form, needed) => {
  if (typeof needed === 'string') expect(() => credentialNeedsOf(form)).toThrow(needed)
  else expect(credentialNeedsOf(form)).toEqual(needed)
})

test.each<[extravars: object, sent: object, chosen: CredentialNeeds | RegExp]>([
  [{}, { db: 'mine', login: 'chosen' }, needs({ db: 'mine', keyed: 'key', login: 'chosen' }, 'login')],
  [{}, { other: 'x', ansible_password: 'x', constructor: 'x' }, needs({ db: 'static', keyed: 'key' }, 'login')],
  [{ __credentials__: { x: 'y', z: '' }, __vaultCredentials__: 'v' }, {}, needs({ x: 'y' }, 'login', 'v')],
  [{ __credentials__: null, __ansibleCredentials__: '' }, {}, needs({})],
  [{ __ansibleCredentials__: null }, {}, needs({ db: 'static', keyed: 'key' }, 'login')],
  [{}, { db: { password: 'x' } }, /must be/],
  [{ __credentials__: { a: 1 } }, {}, /must be/],
  [{ __ansibleCredentials__: [] }, {}, /must be/],
])('of a launch with %j that sends %j come %j', (extravars, sent, chosen) => {
  const form = needs({ db: 'static', keyed: 'key' }, 'login')
  const run = () => withLaunchNames(form, { ...extravars }, { ...sent }, ['login'])
  if (chosen instanceof RegExp) expect(run).toThrow(chosen)
  else expect(run()).toEqual(chosen)
})

test.each<[existing: string[], needed: CredentialNeeds, chosen: CredentialNeeds | string]>([
  [['a', 'b'], needs({ k: ' a , b ' }), needs({ k: 'a' })],
  [['b'], needs({ k: 'a,b' }), needs({ k: 'b' })],
  [['a'], needs({}, 'a,b', 'c,a'), needs({}, 'a', 'a')],
  [[], needs({ k: 'a,b' }, 'gone'), "There is none of the credentials 'a', 'b'; There is no credential 'gone'"],
])('where there are %j, %j are %j', (existing, needed, chosen) => {
  const { needs: found, problem } = chooseCredentials(needed, (name) => existing.includes(name))
  if (typeof chosen === 'string') expect(problem).toBe(chosen)
  else expect(found).toEqual(chosen)
})

test.each<[sent: object, allowed: string[] | null, refusal: string | null]>([
  [{ database: 'one', login: 'gone,two' }, null, null],
  [{ database: '', login: null, other: '' }, null, null],
  [{ databse: 'one' }, null, '"databse"; did you mean database?'],
  [{ login: 'two', database: 'gone' }, null, "There is no credential 'gone'"],
  // The roles come first, so nobody learns which others exist.
  [{ database: 'forbidden' }, ['one'], "do not allow the credential 'forbidden'"],
  [{ database: 'gone' }, ['one'], "do not allow the credential 'gone'"],
  [{ database: 'one' }, ['one'], null],
  [{ database: ['one'] }, null, 'must be an object of names'],
])('a client that sends %j and may use %j: %s', (sent, allowedCredentials, refusal) => {
  const has = (name: string) => ['one', 'two', 'forbidden'].includes(name)
  const declared = new Set(['database', 'login'])
  const run = () => {
    requireDeclaredNames(declared, { ...sent })
    requireKnownNames(has, { isAdmin: false, allowedCredentials }, { ...sent })
  }
  if (refusal === null) expect(run).not.toThrow()
  else expect(run).toThrow(refusal)
})

test.each<[allowed: string[] | null, name: string, mayUse: boolean, isAdmin?: boolean]>([
  [['db.*', 'x'], 'db one', true],
  [['db'], 'db one', false],
  [['a|b'], 'ab', false],
  [[], 'x', false],
  [null, 'x', true],
  [[], 'x', true, true],
])('a role with the credentials %j may use %s: %s', (allowedCredentials, name, mayUse, isAdmin = false) => {
  expect(forbiddenCredential({ isAdmin, allowedCredentials }, needs({ k: name }))).toBe(mayUse ? null : name)
})

describe('the secrets of a job', () => {
  const keys = createIdentityKeys()
  const sealingKey = publicKeyOf(keys.sealingPrivatePem)
  const target = { jobId: 1, runId: 'ab', fingerprint: 'f', sealingKey }
  const plain = { options: {}, id: 1, user: 'u', host: 'h', port: 1, description: 'd' }
  const known: Record<string, OpenCredential> = {
    login: { ...plain, name: 'login', type: 'userpass', password: 'login-secret' },
    nobody: { ...plain, name: 'nobody', type: 'userpass', password: 'login-secret', user: null },
    key: { ...plain, name: 'key', type: 'ssh', password: 'line 1\r\nline 2' },
    vault: { ...plain, name: 'vault', type: 'vault', password: 'vault-secret' },
    db: { ...plain, name: 'db', type: 'database', password: 'p', options: { db_type: 'mysql', db_name: 'a' } },
    cert: { ...plain, name: 'cert', type: 'certificate', password: 'p', options: { certificate: 'c', ca: 'a' } },
  }
  const vault = createJobVault(createSecretBox('a secret that only this test uses'))
  const seal = createJobSealing(
    {
      open: (name) =>
        name === 'closed'
          ? Promise.reject(new SecretBoxError('ENCRYPTION_SECRET differs'))
          : Promise.resolve(known[name] ?? null),
    },
    vault,
  )
  const opened = async (of: CredentialNeeds, values: Buffer | null = null) => {
    const sealed = await seal(of, target, values)
    return sealed === null ? null : (JSON.parse(openSecrets(sealed, keys.sealingPrivatePem, target)) as unknown)
  }
  const own = { host: 'h', port: 1, user: 'u' }
  const content = 'line 1\nline 2\n'

  test.each<[needed: CredentialNeeds, secrets: object | null]>([
    [needs({}), null],
    [needs({ a: 'login' }), { extravars: { a: { ...own, name: 'login', password: 'login-secret' } } }],
    [needs({}, 'login'), { extravars: { ansible_user: 'u', ansible_password: 'login-secret' } }],
    [needs({}, 'nobody'), { extravars: { ansible_password: 'login-secret' } }],
    [needs({}, null, 'vault'), { vault_password: 'vault-secret', vaults: [], hidden: ['vault-secret'] }],
    [needs({ git: 'key' }), { key_files: [{ at: ['git', 'private_key_file'], content }] }],
    [
      needs({}, 'key'),
      { extravars: { ansible_user: 'u' }, key_files: [{ at: ['ansible_ssh_private_key_file'], content }] },
    ],
    [
      needs({ a: 'db' }),
      { extravars: { a: { ...own, is_database: true, db_type: 'mysql', db_name: 'a', secure: false } } },
    ],
    [needs({ a: 'cert' }), { extravars: { a: { ...own, certificate: 'c', ca: 'a' } } }],
  ])('for %j are %j', async (needed, secrets) => {
    const found = await opened(needed)
    if (secrets === null) expect(found).toBeNull()
    else expect(found).toMatchObject(secrets)
  })

  test('may have several vault passwords, each with an id that a command line can take', async () => {
    const source = { vaultCredentials: ['gone,vault', { name: 'login', id: 'prod' }] }
    const { needs: chosen } = chooseCredentials(credentialNeedsOf(source), (name) => Object.hasOwn(known, name))
    expect(allNames(chosen)).toEqual(['vault', 'login'])
    expect(await opened(chosen)).toMatchObject({
      vault_password: null,
      vaults: [
        { id: 'vault', password: 'vault-secret' },
        { id: 'prod', password: 'login-secret' },
      ],
    })
    expect(vaultIdOf({ id: null, name: 'a@b\nc' })).toBe('a_b_c')
    expect(vaultNeedsOf(['a', { name: 'c' }])).toEqual([
      { id: null, name: 'a' },
      { id: null, name: 'c' },
    ])
  })

  test('go together with the passwords of the launch, which open for its run only', async () => {
    const values = { variables: { pin: 'typed-pin' }, hidden: ['typed-pin'] }
    expect(await opened(needs({ db: 'login' }), vault.seal('ab', values))).toMatchObject({
      variables: { pin: 'typed-pin' },
      extravars: { db: { password: 'login-secret' } },
      hidden: ['typed-pin', 'login-secret'],
    })
    const ofAnother = seal(needs({}), target, vault.seal('another run', values))
    await expect(ofAnother).rejects.toThrow('The passwords of this job cannot be opened')
  })

  test.each<[CredentialNeeds, string]>([
    [needs({ a: 'gone' }), "There is no credential 'gone'"],
    [needs({}, 'closed'), "The credential 'closed' cannot be opened: ENCRYPTION_SECRET differs"],
    [needs({}, 'vault'), 'is of type vault and is no login'],
    [needs({}, 'cert'), 'is of type certificate and is no login'],
    [needs({}, null, 'key'), 'is a key and no vault password'],
  ])('that cannot be had for %j are a problem with a reason', async (of, reason) => {
    await expect(seal(of, target, null)).rejects.toThrow(SecretsProblem)
    await expect(seal(of, target, null)).rejects.toThrow(reason)
  })
})
