import { describe, expect, test } from 'vitest'
import { ForbiddenError, RefusedValuesError } from '../../../control-plane/src/errors.js'
import {
  credentialVariables,
  forbiddenCredential,
  mayUseCredential,
  requireKnownNames,
  withLaunchNames,
} from '../../../control-plane/src/jobs/needs/credential-needs.js'
import { requireRunnerAllowed, runnerProblem } from '../../../control-plane/src/jobs/needs/runner-choice.js'

const EXISTING = new Set(['one', 'two', 'forbidden'])
const DECLARED = new Set(['database', 'login'])
const ANYONE = { isAdmin: false, allowedCredentials: null }

function check(sent: Record<string, unknown>, allowedCredentials: string[] | null = null) {
  const has = (name: string) => EXISTING.has(name)
  return () => requireKnownNames(has, { isAdmin: false, allowedCredentials }, DECLARED, sent)
}

const needs = (credentials: Record<string, string>) => ({
  credentials,
  ansibleCredentials: null,
  vaultCredentials: null,
})

describe('names of credentials that a client sends', () => {
  test.each([[{}], [{ database: 'one' }], [{ database: 'one', login: 'gone,two' }], [{ database: '', login: null }]])(
    'are taken if the form declares them and they exist: %j',
    (sent) => {
      expect(check(sent)).not.toThrow()
    },
  )

  test('for what the form does not declare are refused unless they are empty, with the name that was meant', () => {
    expect(check({ other: '', another: null })).not.toThrow()
    expect(check({ databse: 'one' })).toThrow(/^The form takes no credential for "databse"; did you mean database\?$/)
    expect(check({ zzzzzzzz: 'one' })).toThrow(/^The form takes no credential for "zzzzzzzz"$/)
    expect(check({ database: 'one', zzzzzzzz: 'one' })).toThrow('"zzzzzzzz"')
  })

  test('are refused if there is no such credential', () => {
    expect(check({ login: 'two', database: 'gone' })).toThrow("There is no credential 'gone'")
  })

  test('are refused by the roles first, so nobody learns which others exist', () => {
    for (const name of ['forbidden', 'gone']) {
      expect(check({ database: name }, ['one', 'two'])).toThrow(ForbiddenError)
    }
    expect(check({ database: 'one' }, ['one'])).not.toThrow()
  })

  test.each([[5], [['one']], [{ a: 'one' }], [true]])('are texts: %j', (name) => {
    expect(check({ database: name })).toThrow(RefusedValuesError)
  })
})

describe('names in reserved variables', () => {
  const form = { credentials: { db: 'static' }, ansibleCredentials: 'login', vaultCredentials: 'vault' }
  const with_ = (extravars: Record<string, unknown>) => withLaunchNames(form, extravars, {}, [])

  test('may be empty, which takes the name of the form away, or null', () => {
    expect(with_({ __ansibleCredentials__: '' }).ansibleCredentials).toBeNull()
    expect(with_({ __ansibleCredentials__: null }).ansibleCredentials).toBe('login')
    expect(with_({ __vaultCredentials__: null }).vaultCredentials).toBe('vault')
    for (const none of [null, '', {}]) expect(with_({ __credentials__: none }).credentials).toEqual({})
    const empty = JSON.parse('{"a":"","b":"x","__proto__":"y"}') as object
    expect(with_({ __credentials__: empty }).credentials).toEqual({ b: 'x' })
  })

  test('are refused by the name of the variable if they are no names', () => {
    expect(() => with_({ __credentials__: 'x' })).toThrow('__credentials__ must be an object of names')
    expect(() => with_({ __ansibleCredentials__: 5 })).toThrow('__ansibleCredentials__ must be the name')
    expect(() => with_({ __vaultCredentials__: 5 })).toThrow(
      '__vaultCredentials__ must be the name of a credential, or',
    )
  })

  test('are told to the playbook only where there are some', () => {
    expect(credentialVariables(needs({}))).toEqual({})
    expect(credentialVariables({ ...needs({ a: 'b' }), ansibleCredentials: 'c', vaultCredentials: 'd' })).toEqual({
      __credentials__: { a: 'b' },
      __ansibleCredentials__: 'c',
      __vaultCredentials__: 'd',
    })
  })
})

describe('the roles of a user', () => {
  test.each([
    [{ isAdmin: true, allowedCredentials: [] }, 'x', true],
    [ANYONE, 'x', true],
    [{ isAdmin: false, allowedCredentials: [] }, 'x', false],
    [{ isAdmin: false, allowedCredentials: ['a', 'x.'] }, 'xy', true],
    [{ isAdmin: false, allowedCredentials: ['a', 'x.'] }, 'xyz', false],
  ])('%j and the credential %s: %s', (user, name, isAllowed) => {
    expect(mayUseCredential(user)(name)).toBe(isAllowed)
    expect(forbiddenCredential(user, needs({ k: name }))).toBe(isAllowed ? null : name)
  })

  const runner = { name: 'edge' } as NonNullable<Parameters<typeof requireRunnerAllowed>[0]['runner']>

  test.each([
    [null, { isAdmin: false, allowedRunners: [] }, true],
    [runner, { isAdmin: true, allowedRunners: [] }, true],
    [runner, { isAdmin: false, allowedRunners: null }, true],
    [runner, { isAdmin: false, allowedRunners: ['far', 'edge'] }, true],
    [runner, { isAdmin: false, allowedRunners: ['far'] }, false],
  ])('allow a runner: %#', (chosen, user, isAllowed) => {
    const run = () => requireRunnerAllowed({ runner: chosen, problem: null }, user)
    if (isAllowed) expect(run).not.toThrow()
    else expect(run).toThrow("do not allow jobs on the runner 'edge'")
  })
})

test.each([
  ['approved', true, null],
  ['approved', false, "The runner 'edge' is turned off"],
  ['waiting', true, "The runner 'edge' is not approved"],
  ['denied', false, "The runner 'edge' is not approved"],
] as const)('a runner that is %s and on: %s', (state, enabled, problem) => {
  expect(runnerProblem({ name: 'edge', state, enabled })).toBe(problem)
})
