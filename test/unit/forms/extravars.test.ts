import { describe, expect, test } from 'vitest'
import { ForbiddenError, RefusedValuesError } from '../../../control-plane/src/errors.js'
import type { AnsibleForm } from '../../../control-plane/src/forms/form.js'
import { parseField } from '../../../control-plane/src/forms/fields/parse-field.js'
import { ofClient, playbookVariables, userVariable } from '../../../control-plane/src/jobs/launch/extravars.js'
import { MASK, maskValues } from '../../../control-plane/src/jobs/secrets/masking.js'
import { covers } from '../../interface/covers.js'
import { caller, form } from '../jobs/launch-parts.js'

const fields = (...names: string[]) => names.map((name) => parseField({ name }))
const build = (form: AnsibleForm, sent: Record<string, unknown>, by = caller) =>
  playbookVariables(form, { ...ofClient(form, {}, sent), ansibleforms_user: userVariable(by, form.userExtravars) }, by)

describe('extra variables of a launch', () => {
  test('a reserved key counts only if the form declares it; the verbose switch always counts', () => {
    const sent = { __playbook__: 'evil.yml', __limit__: 'web', __verbose__: true, plain: 1 }
    const { extravars, playbook } = build(form({ fields: fields('__limit__') }), sent)
    expect(playbook).toMatchObject({ playbook: 'site.yml', limit: 'web', verbose: true })
    expect(extravars).toMatchObject({ __playbook__: 'site.yml', __limit__: 'web', __verbose__: true, plain: 1 })
  })

  test('static properties set their keys unless a declared field has them', () => {
    const { playbook } = build(form({ tags: 'a', inventory: ['x'], check: true }), {})
    expect(playbook).toMatchObject({ tags: 'a', inventory: ['x'], check: true })
    const declaring = form({ tags: 'a', inventory: ['x'], fields: fields('__tags__', '__inventory__') })
    expect(build(declaring, { __tags__: ['b', 'c'], __inventory__: 'y,' }).playbook).toMatchObject({
      tags: 'b,c',
      inventory: ['y,'],
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
    const run = () => build(form({ fields: fields(key) }), { [key]: value })
    expect(run).toThrow(RefusedValuesError)
    expect(run).toThrow(key)
  })

  test.each([
    ['__inventory__', '{{ x }},'],
    ['__inventory__', ['a,', 'group_vars/all.yml']],
    ['__inventory__', 'site.yml'],
    ['__limit__', 'all,@/etc/passwd'],
    ['__limit__', '@hosts'],
    ['__tags__', 'a,{{ x }}'],
    ['__tags__', ['a', '-b']],
    ['__playbook__', 'group_vars/all.yml'],
    ['__playbook__', 'ansible.cfg'],
    ['__playbookSubPath__', '{{ x }}'],
  ])('%s of %j would be more than data for ansible: it is refused and named', (key, value) => {
    const run = () => build(form({ fields: fields(key) }), { [key]: value })
    expect(run).toThrow(RefusedValuesError)
    expect(run).toThrow(`${key} is refused: `)
  })

  test('the author of the form may name any file, as its own or as a choice; templates are refused there, too', () => {
    const own = form({ inventory: ['prod.cfg'], limit: '@retry', listedInventories: ['test.cfg'] })
    expect(build(own, {}).playbook.ofForm).toEqual({ inventory: true, limit: true })
    const declaring = { ...own, fields: fields('__inventory__', '__limit__') }
    const chosen = build(declaring, { __inventory__: ['test.cfg', 'prod.cfg'], __limit__: 'web' }).playbook
    expect(chosen.ofForm).toEqual({ inventory: true, limit: false })
    expect(build(declaring, { __inventory__: ['test.cfg', 'x,'] }).playbook.ofForm.inventory).toBe(true)
    expect(build(declaring, { __inventory__: ['test.cfg', 'hosts'] }).playbook.ofForm.inventory).toBe(false)
    expect(() => build(declaring, { __inventory__: ['test.cfg', 'other.cfg'] })).toThrow('other.cfg')
    for (const change of [{ inventory: ['{{ x }},'] }, { limit: '{{ x }}' }, { tags: '{{ x }}' }, { skipTags: '-x' }]) {
      expect(() => build(form(change), {})).toThrow(RefusedValuesError)
    }
  })

  test('a name that looks like a template is refused at any depth, unless the form allows templates', () => {
    let deep: unknown = { '{{ x }}': 1 }
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep]
    expect(() => build(form(), { deep })).toThrow('deep is refused: the name "{{ x }}" in it')
    expect(() => build(form(), { '{% x %}': 1 })).toThrow(RefusedValuesError)
    expect(build(form({ allowJinjaInExtravars: true }), { a: { '{{ x }}': 1 } }).extravars.a).toEqual({ '{{ x }}': 1 })
  })

  test('the server sets the launching user, whatever the client sent', () => {
    const { extravars } = build(form(), { ansibleforms_user: { username: 'root' } })
    expect(extravars.ansibleforms_user).toMatchObject({ username: 'ann', id: 7, type: 'local' })
  })

  test('a key named __proto__ changes nothing', () => {
    const { extravars } = build(form(), JSON.parse('{"__proto__":{"check":true}}') as Record<string, unknown>)
    expect(Object.getPrototypeOf(extravars)).toBe(Object.prototype)
  })
})

describe('properties of a form for the launch', () => {
  test('ansibleforms_user is trimmed by userExtravars: none, or the named keys', () => {
    covers('property.user')
    expect(build(form({ userExtravars: ['username', 'groups', 'x'] }), {}).extravars.ansibleforms_user).toEqual({
      username: 'ann',
      groups: ['local/ops'],
    })
    expect(build(form({ userExtravars: [] }), {}).extravars.ansibleforms_user).toEqual({})
  })

  test('keepExtravars and allowJinjaInExtravars set their keys, and a declared field overrides them', () => {
    const both = form({ keepExtravars: true, allowJinjaInExtravars: true })
    expect(build(both, {}).extravars).toMatchObject({ __keepExtravars__: true, __allowJinjaInExtravars__: true })
    const declaring = form({ allowJinjaInExtravars: true, fields: fields('__allowJinjaInExtravars__') })
    expect(build(declaring, { __allowJinjaInExtravars__: false }).playbook.allowJinjaInExtravars).toBe(false)
  })

  test('__verbose__ without allowVerboseMode is refused, also when a field of the form sets it', () => {
    const by = { ...caller, options: { ...caller.options, allowVerboseMode: false } }
    expect(() => build(form({ fields: fields('__verbose__') }), { __verbose__: true }, by)).toThrow(ForbiddenError)
    expect(build(form({ verbose: true }), {}, by).playbook.verbose).toBe(true)
  })
})

describe('masking', () => {
  test('by key pattern and password field, at any depth', () => {
    const value = {
      user: 'u',
      DB_Password: 'p',
      list: [{ pin: '1', token: 't' }],
      deep: { secret_key: { a: 1, b: 'two', c: ['three', true] } },
      none: { password: null },
    }
    expect(maskValues(value, /password|secret|token/i, new Set(['pin']))).toEqual({
      user: 'u',
      DB_Password: MASK,
      list: [{ pin: MASK, token: MASK }],
      deep: { secret_key: { a: 1, b: MASK, c: [MASK, true] } },
      none: { password: null },
    })
  })
})
