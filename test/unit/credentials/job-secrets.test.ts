import { describe, expect, test } from 'vitest'
import { MAX_SECRETS_BYTES, createIdentityKeys, openSecrets, publicKeyOf } from '@holdfast/protocol'
import { VaultProblem } from '../../../control-plane/src/credentials/hashicorp/request.js'
import type { CredentialNeeds } from '../../../control-plane/src/credentials/job/needs.js'
import { createJobSealing } from '../../../control-plane/src/credentials/job/sealing.js'
import { vaultIdOf, vaultNamesOf, vaultNeedsOf } from '../../../control-plane/src/credentials/job/vault-needs.js'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'

const LOGIN: OpenCredential = {
  id: 1,
  name: 'login',
  type: 'userpass',
  description: '',
  user: null,
  host: 'h',
  port: 1,
  password: 'hush',
  options: {},
}

describe('the vault passwords of a job', () => {
  test.each([
    [undefined, null],
    [null, null],
    ['', null],
    [[], null],
    ['a,b', 'a,b'],
    [
      ['a', { name: 'b', id: 'x' }, { name: 'c' }],
      [
        { id: null, name: 'a' },
        { id: 'x', name: 'b' },
        { id: null, name: 'c' },
      ],
    ],
  ])('written as %j are %j', (given, needs) => {
    expect(vaultNeedsOf(given)).toEqual(needs)
  })

  test('have ids that a command line can take, and names', () => {
    expect(vaultIdOf({ id: 'x', name: 'a' })).toBe('x')
    expect(vaultIdOf({ id: null, name: `a@b\n${'c'.repeat(200)}` })).toBe(`a_b_${'c'.repeat(96)}`)
    expect([vaultNamesOf(null), vaultNamesOf('a'), vaultNamesOf([{ id: null, name: 'b' }])]).toEqual([[], ['a'], ['b']])
  })
})

describe('the secrets of a job', () => {
  const keys = createIdentityKeys()
  const sealingKey = publicKeyOf(keys.sealingPrivatePem)
  const target = { jobId: 1, runId: 'ab', fingerprint: 'f', sealingKey }
  const NOTHING: CredentialNeeds = { credentials: {}, ansibleCredentials: null, vaultCredentials: null }

  async function sealed(needs: Partial<CredentialNeeds>, more: Partial<OpenCredential> = {}) {
    const credential = { ...LOGIN, user: 'sam', password: 'hush', ...more }
    const none = { open: () => ({ variables: {}, hidden: [] }) }
    const seal = createJobSealing({ open: () => Promise.resolve(credential) }, none)
    const text = await seal({ ...NOTHING, ...needs }, target, null)
    return text === null
      ? null
      : (JSON.parse(openSecrets(text, keys.sealingPrivatePem, target)) as { extravars: object })
  }

  test.each<[Partial<OpenCredential>, object]>([
    [{ type: 'userpass' }, {}],
    [{ type: 'ssh' }, {}],
    [
      { type: 'database', options: { db_type: 'mysql', db_name: 'a', secure: true } },
      { is_database: true, db_type: 'mysql', db_name: 'a', secure: true },
    ],
    [{ type: 'database' }, { is_database: true, db_type: null, db_name: null, secure: false }],
    [
      { type: 'certificate', options: { certificate: 'c', ca: 'a' } },
      { certificate: 'c', ca: 'a' },
    ],
    [{ type: 'certificate' }, { certificate: null, ca: null }],
  ])('have of a credential with %j the further values %j', async (more, extras) => {
    const secrets = await sealed({ credentials: { x: 'login' } }, more)
    const own = { name: 'login', host: 'h', port: 1, user: 'sam', password: 'hush' }
    expect(secrets?.extravars).toEqual({ x: { ...own, ...extras } })
  })

  test.each(['vault', 'token', 'certificate'] as const)('have no login of type %s for ansible', async (type) => {
    await expect(sealed({ ansibleCredentials: 'login' }, { type })).rejects.toThrow(
      `is of type ${type} and is no login`,
    )
  })

  test.each(['ssh', 'certificate'] as const)('have no vault password of type %s', async (type) => {
    const problem = 'is a key and no vault password'
    await expect(sealed({ vaultCredentials: 'login' }, { type })).rejects.toThrow(problem)
    await expect(sealed({ vaultCredentials: [{ id: null, name: 'login' }] }, { type })).rejects.toThrow(problem)
  })

  test('have a login of ansible without a user, when there is none', async () => {
    expect((await sealed({ ansibleCredentials: 'login' }, { user: null }))?.extravars).toEqual({
      ansible_password: 'hush',
    })
    expect((await sealed({ ansibleCredentials: 'login' }, { type: 'database' }))?.extravars).toEqual({
      ansible_user: 'sam',
      ansible_password: 'hush',
    })
  })

  test('have one vault password, or several with their ids', async () => {
    const one = { vault_password: 'hush', vaults: [] }
    expect(await sealed({ vaultCredentials: 'login' })).toMatchObject(one)
    const several = { vault_password: null, vaults: [{ id: 'login', password: 'hush' }] }
    expect(await sealed({ vaultCredentials: [{ id: null, name: 'login' }] })).toMatchObject(several)
  })

  test('have so many bytes at most, and not one more', async () => {
    const text = JSON.stringify(await sealed({ ansibleCredentials: 'login' }, { password: '' }))
    // It is the password and a text that is hidden.
    const room = MAX_SECRETS_BYTES - Buffer.byteLength(text)
    const longest = 'a'.repeat(Math.floor(room / 2))
    const user = room % 2 === 0 ? 'sam' : 'sam1'
    expect(await sealed({ ansibleCredentials: 'login' }, { password: longest, user })).not.toBeNull()
    await expect(sealed({ ansibleCredentials: 'login' }, { password: longest, user: `${user}1` })).rejects.toThrow(
      `are larger than ${MAX_SECRETS_BYTES} bytes`,
    )
  })

  test('that Vault does not give are a problem in its words, and other errors stay what they are', async () => {
    const sealing = (error: Error) =>
      createJobSealing({ open: () => Promise.reject(error) }, { open: () => ({ variables: {}, hidden: [] }) })(
        { ...NOTHING, ansibleCredentials: 'login' },
        target,
        null,
      )
    await expect(sealing(new VaultProblem('it is sealed'))).rejects.toMatchObject({
      name: 'SecretsProblem',
      message: "The credential 'login' cannot be opened: it is sealed",
    })
    await expect(sealing(new RangeError('other'))).rejects.toThrow(RangeError)
  })
})
