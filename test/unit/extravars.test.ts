import { describe, expect, test } from 'vitest'
import type { Caller } from '../../control-plane/src/auth/caller.js'
import { RefusedValuesError } from '../../control-plane/src/errors.js'
import type { AnsibleForm } from '../../control-plane/src/forms/form.js'
import { buildExtravars } from '../../control-plane/src/jobs/extravars.js'
import { MASK, maskValues } from '../../control-plane/src/jobs/masking.js'

const caller: Caller = {
  id: 7,
  username: 'ann',
  type: 'local',
  email: null,
  groups: ['local/ops'],
  roles: ['default'],
  options: {
    allowVerboseMode: true,
    allowJobRelaunch: false,
    showAllJobLogs: false,
    manageAllJobs: false,
    allowApiTokens: false,
  },
  isAdmin: false,
  allowedRunners: null,
  sessionId: 's',
}

function form(changes: Partial<AnsibleForm> = {}): AnsibleForm {
  return {
    type: 'ansible',
    name: 'f',
    roles: ['default'],
    description: null,
    categories: [],
    runner: null,
    abortable: true,
    allowRelaunch: true,
    source: {},
    playbook: 'site.yml',
    playbookSubPath: null,
    inventory: [],
    tags: null,
    limit: null,
    check: false,
    diff: false,
    verbose: false,
    allowJinjaInExtravars: false,
    fileFields: [],
    fieldNames: [],
    passwordFields: [],
    ...changes,
  }
}

describe('extra variables of a launch', () => {
  test('a reserved key counts only when the form declares it; the verbose switch always', () => {
    const sent = { __playbook__: 'evil.yml', __limit__: 'web', __verbose__: true, plain: 1 }
    const { extravars, playbook } = buildExtravars(form({ fieldNames: ['__limit__'] }), sent, caller)
    expect(playbook).toMatchObject({ playbook: 'site.yml', limit: 'web', verbose: true })
    expect(extravars).toMatchObject({ __playbook__: 'site.yml', __limit__: 'web', __verbose__: true, plain: 1 })
  })

  test('static properties fill their keys unless a declared field holds them', () => {
    const { playbook } = buildExtravars(form({ tags: 'a', inventory: ['x'], check: true }), {}, caller)
    expect(playbook).toMatchObject({ tags: 'a', inventory: ['x'], check: true })
    const fields = form({ tags: 'a', inventory: ['x'], fieldNames: ['__tags__', '__inventory__'] })
    expect(buildExtravars(fields, { __tags__: ['b', 'c'], __inventory__: 'y' }, caller).playbook).toMatchObject({
      tags: 'b,c',
      inventory: ['y'],
    })
  })

  test.each([
    ['__limit__', 5],
    ['__inventory__', [1]],
    ['__check__', 'yes'],
    ['__playbook__', '../../etc/passwd'],
    ['__playbook__', '/etc/passwd'],
    ['__playbookSubPath__', 'a/../../b'],
  ])('%s of %j is refused, naming it', (key, value) => {
    const run = () => buildExtravars(form({ fieldNames: [key] }), { [key]: value }, caller)
    expect(run).toThrow(RefusedValuesError)
    expect(run).toThrow(key)
  })

  test('the launching user is the server’s word, whatever was sent', () => {
    const { extravars } = buildExtravars(form(), { ansibleforms_user: { username: 'root' } }, caller)
    expect(extravars.ansibleforms_user).toMatchObject({ username: 'ann', id: 7, type: 'local' })
  })

  test('a key named __proto__ changes nothing', () => {
    const { extravars } = buildExtravars(
      form({ fieldNames: ['__proto__'] }),
      JSON.parse('{"__proto__":{"check":true}}'),
      caller,
    )
    expect(Object.getPrototypeOf(extravars)).toBe(Object.prototype)
  })
})

describe('masking', () => {
  test('by key pattern and password field, at any depth', () => {
    const value = {
      user: 'u',
      DB_Password: 'p',
      list: [{ pin: '1', token: 't' }],
      deep: { secret_key: { a: 1 } },
      none: { password: null },
    }
    expect(maskValues(value, /password|secret|token/i, new Set(['pin']))).toEqual({
      user: 'u',
      DB_Password: MASK,
      list: [{ pin: MASK, token: MASK }],
      deep: { secret_key: MASK },
      none: { password: null },
    })
  })
})
