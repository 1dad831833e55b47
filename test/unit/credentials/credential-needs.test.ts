import { describe, expect, test } from 'vitest'
import {
  type CredentialNeeds,
  allNames,
  chooseCredentials,
  namesInList,
} from '../../../control-plane/src/credentials/job/needs.js'
import { SecretsProblem, createJobSealing } from '../../../control-plane/src/credentials/job/sealing.js'
import { createJobVault } from '../../../control-plane/src/credentials/job/sealed-values.js'
import { SecretBoxError, createSecretBox } from '../../../control-plane/src/credentials/encryption/secret-box.js'
import { parseField, parseWizardStep } from '../../../control-plane/src/forms/fields/parse-field.js'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import {
  credentialFieldsOf,
  credentialNeedsOf,
  credentialVariables,
  requireAllowedCredentials,
  withLaunchNames,
} from '../../../control-plane/src/jobs/needs/credential-needs.js'
import { MAX_SECRETS_BYTES, createIdentityKeys, openSecrets, publicKeyOf } from '@holdfast/protocol'

const needs = (credentials: Record<string, string>, ansible: string | null = null, vault: string | null = null) => ({
  credentials,
  ansibleCredentials: ansible,
  vaultCredentials: vault,
})

describe('the needs of a form', () => {
  test('are its credentials, ansibleCredentials and vaultCredentials', () => {
    const source = { name: 'x', credentials: { db: 'a,b' }, ansibleCredentials: 'login', vaultCredentials: 'vault' }
    expect(credentialNeedsOf(source)).toEqual(needs({ db: 'a,b' }, 'login', 'vault'))
    expect(credentialNeedsOf({})).toEqual(needs({}))
    expect(credentialNeedsOf({ credentials: null, ansibleCredentials: '', vaultCredentials: null })).toEqual(needs({}))
  })

  test.each([
    [{ credentials: ['a'] }],
    [{ credentials: { a: 1 } }],
    [{ ansibleCredentials: 3 }],
    [{ vaultCredentials: {} }],
  ])('of another shape is refused: %j', (source) => {
    expect(() => credentialNeedsOf(source)).toThrow('credentials')
  })

  test('are also its credential fields', () => {
    const fields = [
      { name: 'login', asCredential: true },
      { name: 'other' },
      { name: 'no', asCredential: false },
      { name: 'alias', type: 'credential' as const, expression: "'x'" },
    ].map(parseField)
    const wizard = [parseWizardStep({ subform: 'step' }), parseWizardStep({ subform: 'gone' })]
    const subforms = {
      step: [parseField({ name: 'of step', asCredential: true })],
      beside: [parseField({ name: 'b' })],
    }
    expect(credentialFieldsOf({ fields, wizard }, subforms)).toEqual(['login', 'alias', 'of step'])
  })
})

describe('names of a launch', () => {
  const form = needs({ db: 'static', keyed: 'key' }, 'login')

  test('win over those of the form, key by key, also for its credential fields', () => {
    expect(withLaunchNames(form, {}, { db: 'mine', login: 'chosen' }, ['login']).credentials).toEqual({
      db: 'mine',
      keyed: 'key',
      login: 'chosen',
    })
  })

  test('for variables that the form does not declare are dropped', () => {
    const sent = { other: 'x', ansible_password: 'x', ['__proto__']: 'x', constructor: 'x' }
    expect(withLaunchNames(form, {}, sent, [])).toEqual(form)
  })

  test('replace the form’s map when they come as a declared __credentials__', () => {
    const extravars = { __credentials__: { x: 'y' }, __ansibleCredentials__: 'a', __vaultCredentials__: 'v' }
    expect(withLaunchNames(form, extravars, {}, [])).toEqual(needs({ x: 'y' }, 'a', 'v'))
  })

  test.each<[Record<string, unknown>, Record<string, unknown>]>([
    [{}, { db: 5 }],
    [{}, { db: { password: 'x' } }],
    [{ __credentials__: { a: 1 } }, {}],
    [{ __ansibleCredentials__: [] }, {}],
  ])('that are not names are refused: %j %j', (extravars, sent) => {
    expect(() => withLaunchNames(form, extravars, sent, [])).toThrow(/must be/)
  })
})

describe('a,b', () => {
  const has =
    (...known: string[]) =>
    (name: string) =>
      known.includes(name)

  test('is a, else b', () => {
    expect(chooseCredentials(needs({ k: ' a , b ' }), has('a', 'b')).needs.credentials).toEqual({ k: 'a' })
    expect(chooseCredentials(needs({ k: 'a,b' }), has('b')).needs.credentials).toEqual({ k: 'b' })
    expect(chooseCredentials(needs({}, 'a,b', 'c,a'), has('a')).needs).toEqual(needs({}, 'a', 'a'))
  })

  test('is a problem when neither exists, and names them', () => {
    const chosen = chooseCredentials(needs({ k: 'a,b' }, 'gone'), has('x'))
    expect(chosen.problem).toBe("There is none of the credentials 'a', 'b'; There is no credential 'gone'")
    expect(chooseCredentials(needs({ k: ' , ' }), has()).problem).not.toBeNull()
  })

  test('mentions both names', () => {
    expect(namesInList('a,, b ')).toEqual(['a', 'b'])
    expect(allNames(needs({ k: 'a,b' }, 'b', 'c'))).toEqual(['a', 'b', 'c'])
  })
})

describe('a role’s credentials', () => {
  const allow =
    (allowedCredentials: string[] | null, name: string, isAdmin = false) =>
    () =>
      requireAllowedCredentials({ isAdmin, allowedCredentials }, { needs: needs({ k: name }), problem: null })

  test('are regular expressions for whole names', () => {
    expect(allow(['db.*', 'x'], 'db one')).not.toThrow()
    expect(allow(['db'], 'db one')).toThrow("Your roles do not allow the credential 'db one'")
    expect(allow(['a|b'], 'ab')).toThrow()
    expect(allow([], 'x')).toThrow()
    expect(allow(['x'], 'missing,x')).toThrow()
  })

  test('do not limit users without them, and no admin', () => {
    expect(allow(null, 'x')).not.toThrow()
    expect(allow([], 'x', true)).not.toThrow()
  })
})

describe('the secrets of a job', () => {
  const keys = createIdentityKeys()
  const target = {
    jobId: 1,
    runId: 'ab',
    fingerprint: 'f',
    sealingKey: publicKeyOf(keys.sealingPrivatePem),
  }
  const plain = { options: {}, id: 1, user: 'u', host: 'h', port: 1, description: 'd' }
  const known: Record<string, OpenCredential> = {
    login: { ...plain, name: 'login', type: 'userpass', password: 'login-secret' },
    key: { ...plain, name: 'key', type: 'ssh', password: 'line 1\r\nline 2' },
    vault: { ...plain, name: 'vault', type: 'vault', password: 'vault-secret' },
    huge: { ...plain, name: 'huge', type: 'userpass', password: 'x'.repeat(MAX_SECRETS_BYTES) },
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

  test('are objects under their keys, the login of ansible, the vault password, and values to hide', async () => {
    expect(await opened(needs({ db: 'login' }, 'login', 'vault'))).toEqual({
      variables: {},
      extravars: {
        db: { name: 'login', host: 'h', port: 1, user: 'u', password: 'login-secret' },
        ansible_user: 'u',
        ansible_password: 'login-secret',
      },
      key_files: [],
      vault_password: 'vault-secret',
      vaults: [],
      hidden: ['login-secret', 'vault-secret'],
      origins: ["the credential 'login'", "the credential 'vault'"],
    })
  })

  test('may be several vault passwords, each with an id', async () => {
    const source = { vaultCredentials: ['gone,vault', { name: 'login', id: 'prod' }] }
    const { needs: chosen } = chooseCredentials(credentialNeedsOf(source), (name) => Object.hasOwn(known, name))
    expect(allNames(chosen)).toEqual(['vault', 'login'])
    expect(credentialVariables(chosen)).toEqual({ __vaultCredentials__: ['vault', { id: 'prod', name: 'login' }] })
    expect(await opened(chosen)).toMatchObject({
      vault_password: null,
      vaults: [
        { id: 'vault', password: 'vault-secret' },
        { id: 'prod', password: 'login-secret' },
      ],
      hidden: ['vault-secret', 'login-secret'],
    })
    expect(withLaunchNames(chosen, { __vaultCredentials__: ['key'] }, {}, []).vaultCredentials).toEqual([
      { id: null, name: 'key' },
    ])
    expect(() => credentialNeedsOf({ vaultCredentials: [{ name: 'vault', id: 'a@b' }] })).toThrow('a list')
  })

  test('of type ssh are key files that end with a line feed', async () => {
    const content = 'line 1\nline 2\n'
    expect(await opened(needs({ git: 'key' }, 'key'))).toMatchObject({
      extravars: { ansible_user: 'u' },
      key_files: [
        { at: ['git', 'private_key_file'], content },
        { at: ['ansible_ssh_private_key_file'], content },
      ],
    })
  })

  test('go together with the passwords of the launch, which open for its run only', async () => {
    const values = { variables: { pin: 'typed-pin' }, hidden: ['typed-pin'] }
    expect(await opened(needs({ db: 'login' }), vault.seal('ab', values))).toMatchObject({
      variables: { pin: 'typed-pin' },
      extravars: { db: { password: 'login-secret' } },
      hidden: ['typed-pin', 'login-secret'],
    })
    await expect(seal(needs({}), target, vault.seal('another run', values))).rejects.toThrow(
      'The passwords of this job cannot be opened',
    )
  })

  test('are null if there are none', async () => {
    expect(await opened(needs({}))).toBeNull()
  })

  test.each<[ReturnType<typeof needs>, string]>([
    [needs({ a: 'gone' }), "There is no credential 'gone'"],
    [needs({}, 'closed'), "The credential 'closed' cannot be opened: ENCRYPTION_SECRET differs"],
    [needs({}, 'vault'), 'is of type vault and is no login'],
    [needs({}, null, 'key'), 'is a key and no vault password'],
    [needs({ a: 'huge' }), 'larger than'],
  ])('that cannot be opened are a problem with a reason: %j', async (of, reason) => {
    await expect(seal(of, target, null)).rejects.toThrow(SecretsProblem)
    await expect(seal(of, target, null)).rejects.toThrow(reason)
  })
})
