import { expect, test } from 'vitest'
import { RefusedValuesError } from '../../../control-plane/src/errors.js'
import { parseField } from '../../../control-plane/src/forms/fields/parse-field.js'
import type { AnsibleForm } from '../../../control-plane/src/forms/form.js'
import { ofClient, playbookVariables, userVariable } from '../../../control-plane/src/jobs/launch/extravars.js'
import { covers } from '../../interface/covers.js'
import { caller, form } from '../jobs/launch-parts.js'

const fields = (...names: string[]) => names.map((name) => parseField({ name }))
const build = (of: AnsibleForm, sent: Record<string, unknown>) =>
  playbookVariables(
    of,
    { ...ofClient(of, {}, sent), ansibleforms_user: userVariable(caller, of.userExtravars) },
    caller,
  )

test('a reserved key counts only if the form declares it, in place of the property of the form', () => {
  const sent = { __playbook__: 'evil.yml', __limit__: 'web', __verbose__: true }
  const { playbook } = build(form({ tags: 'a', check: true, fields: fields('__limit__') }), sent)
  expect(playbook).toMatchObject({ playbook: 'site.yml', limit: 'web', verbose: true, tags: 'a', check: true })
  const declaring = form({ tags: 'a', inventory: ['x'], fields: fields('__tags__', '__inventory__') })
  expect(build(declaring, { __tags__: ['b', 'c'], __inventory__: 'y,' }).playbook).toMatchObject({
    tags: 'b,c',
    inventory: ['y,'],
  })
})

test.each([
  ['__limit__', 5],
  ['__limit__', '@hosts'],
  ['__inventory__', [1]],
  ['__inventory__', ['a,', 'group_vars/all.yml']],
  ['__check__', 'yes'],
  ['__tags__', ['a', '-b']],
  ['__playbook__', '../../etc/passwd'],
  ['__playbook__', '/etc/passwd'],
  ['__playbook__', 'group_vars/all.yml'],
  ['__playbookSubPath__', 'a/../../b'],
  ['__playbookSubPath__', '{{ x }}'],
])('%s of %j is refused, naming it', (key, value) => {
  const run = () => build(form({ fields: fields(key) }), { [key]: value })
  expect(run).toThrow(RefusedValuesError)
  expect(run).toThrow(key)
})

test('the author of the form may name any file, as its own or as a choice; templates are refused there, too', () => {
  const own = form({ inventory: ['prod.cfg'], limit: '@retry', listedInventories: ['test.cfg'] })
  expect(build(own, {}).playbook.ofForm).toEqual({ inventory: true, limit: true })
  const declaring = { ...own, fields: fields('__inventory__', '__limit__') }
  const chosen = (...inventory: string[]) => build(declaring, { __inventory__: inventory, __limit__: 'web' }).playbook
  expect(chosen('test.cfg', 'prod.cfg').ofForm).toEqual({ inventory: true, limit: false })
  expect(chosen('test.cfg', 'hosts').ofForm.inventory).toBe(false)
  expect(() => chosen('test.cfg', 'other.cfg')).toThrow('other.cfg')
  for (const change of [{ inventory: ['{{ x }},'] }, { limit: '{{ x }}' }, { tags: '{{ x }}' }, { skipTags: '-x' }]) {
    expect(() => build(form(change), {})).toThrow(RefusedValuesError)
  }
})

test('a name that looks like a template is refused at any depth, unless the form allows templates', () => {
  let deep: unknown = { '{{ x }}': 1 }
  for (let depth = 0; depth < 100_000; depth += 1) deep = [deep]
  expect(() => build(form(), { deep })).toThrow('deep is refused: the name "{{ x }}" in it')
  expect(build(form({ allowJinjaInExtravars: true }), { a: { '{{ x }}': 1 } }).extravars.a).toEqual({ '{{ x }}': 1 })
})

test('the server sets the launching user, trimmed by userExtravars, and no key changes the prototype', () => {
  covers('property.user')
  const forged = JSON.parse('{"ansibleforms_user":{"username":"root"},"__proto__":{"check":true}}') as object
  const { extravars } = build(form({ userExtravars: ['username', 'groups'] }), { ...forged })
  expect(extravars.ansibleforms_user).toEqual({ username: 'ann', groups: ['local/ops'] })
  expect(build(form(), { ...forged }).extravars.ansibleforms_user).toMatchObject({
    username: 'ann',
    id: 7,
    type: 'local',
  })
  expect(Object.getPrototypeOf(extravars)).toBe(Object.prototype)
})
