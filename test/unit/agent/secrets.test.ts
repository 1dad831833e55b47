import {
  createIdentityKeys,
  type JobOrder,
  type JobSecrets,
  publicKeyOf,
  SealError,
  sealSecrets,
} from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { createSecretsOpener, secretsText, type VariableRules } from '../../../runner-agent/src/playbook/secrets.js'

/** The secrets of a job on their way to its supervisor. */
const NONE: JobSecrets = {
  variables: {},
  extravars: {},
  key_files: [],
  vault_password: null,
  vaults: [],
  hidden: [],
  origins: [],
}
const RULES: VariableRules = { allowJinja: false, withPaths: (variables) => variables }

interface Told {
  readonly pipes: Record<string, string>
  readonly files: Record<string, string>
  readonly hidden: string[]
}

function told(secrets: Partial<JobSecrets>, rules: Partial<VariableRules> = {}): Told {
  const text = secretsText({ ...NONE, ...secrets }, { ...RULES, ...rules })
  expect(text.endsWith('\n')).toBe(true)
  expect(text.indexOf('\n')).toBe(text.length - 1)
  return JSON.parse(text) as Told
}

describe('what a supervisor is told', () => {
  test('has only the pipes that the job needs', () => {
    expect(Object.keys(told({}).pipes)).toEqual(['secret-vars', 'secret-values'])
    const all = told({
      variables: { a: 'x' },
      vault_password: 'vault',
      vaults: [
        { id: 'one', password: 'first' },
        { id: 'two', password: 'second' },
      ],
      hidden: ['x', 'vault'],
      origins: ['the field', 'the credential'],
    })
    expect(all.pipes).toMatchObject({
      'vault-password': 'vault',
      'vault-password-0': 'first',
      'vault-password-1': 'second',
      'secret-values': '{"words":["x","vault"],"origins":["the field","the credential"]}',
    })
    expect(all.pipes['launch-vars']).toContain('"a" : !unsafe "x"')
    expect([all.hidden, all.files]).toEqual([['x', 'vault'], {}])
  })

  test('has variables of the launch by the rules of the order, and those of credentials always as data', () => {
    const secrets = { variables: { a: '/up/1' }, extravars: { b: '{{ c }}' } }
    const rules = { allowJinja: true, withPaths: () => ({ a: '/job/uploads/1/file' }) }
    const { pipes } = told(secrets, rules)
    expect(pipes['launch-vars']).toContain('? "a" : "/job/uploads/1/file"')
    expect(pipes['secret-vars']).toContain('? !unsafe "b" : !unsafe "{{ c }}"')
  })

  test('has each key as a file, with its mark in the place of its path', () => {
    const extravars = { ssh: { key: null, user: 'me' }, other: 1 }
    const { pipes, files } = told({
      extravars,
      key_files: [
        { at: ['ssh', 'key'], content: 'KEY ONE' },
        { at: ['top'], content: 'KEY TWO' },
      ],
    })
    const marks = Object.entries(files)
    expect(marks.map(([, content]) => content)).toEqual(['KEY ONE', 'KEY TWO'])
    for (const [mark] of marks) {
      expect(mark).toMatch(/^holdfast-file-[0-9a-f]{32}$/)
      expect(pipes['secret-vars']).toContain(mark)
    }
    expect(pipes['secret-vars']).not.toContain('KEY')
    // What was given stays as it is: a start may be tried again.
    expect(extravars).toEqual({ ssh: { key: null, user: 'me' }, other: 1 })
  })

  test.each([
    [['nowhere', 'key']],
    [['text', 'key']],
    [['list', '0']],
    [['__proto__', 'key']],
    [['constructor', 'key']],
    [['__proto__']],
    [['map', '__proto__']],
    [['none', 'key']],
    [[]],
  ])('has no key at %j, which is no place for one', (at) => {
    const extravars = { text: 'x', list: [{}], map: {}, none: null }
    expect(() => told({ extravars, key_files: [{ at, content: 'KEY' }] })).toThrow(
      'a place for a key that is not there',
    )
  })
})

describe('the secrets of an order', () => {
  const keysOf = (fingerprint: string) => ({ fingerprint, sealingPrivatePem: createIdentityKeys().sealingPrivatePem })
  const [before, today] = [keysOf('a'.repeat(64)), keysOf('b'.repeat(64))]
  const orderOf = (text: string | null, keys = today): JobOrder => {
    const binding = { jobId: 1, runId: 'r', fingerprint: keys.fingerprint }
    const sealed = text === null ? null : sealSecrets(text, publicKeyOf(keys.sealingPrivatePem), binding)
    return { job_id: 1, run_id: 'r', sealed } as JobOrder
  }
  const open = createSecretsOpener(() => [today, before])

  test('are opened with the keys of today or with former ones', () => {
    for (const keys of [today, before]) {
      expect(open(orderOf(JSON.stringify({ ...NONE, hidden: [keys.fingerprint] }), keys))?.hidden).toEqual([
        keys.fingerprint,
      ])
    }
    expect(open(orderOf(null))).toBeNull()
  })

  test('are not those of another runner, or of another run', () => {
    const order = orderOf(JSON.stringify(NONE))
    expect(() => createSecretsOpener(() => [before])(order)).toThrow(SealError)
    expect(() => open({ ...order, run_id: 's' })).toThrow(SealError)
    expect(() => open({ ...order, job_id: 2 })).toThrow(SealError)
  })

  test.each(['{"extravars": {"password": "CANARY"}}', 'CANARY', '{"extravars"'])(
    'that are not what they should be are refused without a word of them: %s',
    (text) => {
      expect(() => open(orderOf(text))).toThrow('are not what this agent understands; update it')
    },
  )
})
