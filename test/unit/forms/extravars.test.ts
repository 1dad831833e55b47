import { expect, test } from 'vitest'
import { RefusedValuesError } from '../../../control-plane/src/errors.js'
import { parseField } from '../../../control-plane/src/forms/fields/parse-field.js'
import type { AnsibleForm } from '../../../control-plane/src/forms/form.js'
import { ofClient, playbookVariables, userVariable } from '../../../control-plane/src/jobs/launch/extravars.js'
import { caller, form } from '../jobs/launch-parts.js'

const fields = (...names: string[]) => names.map((name) => parseField({ name }))
const build = (of: AnsibleForm, sent: Record<string, unknown>) =>
  playbookVariables(
    of,
    { ...ofClient(of, {}, sent), ansibleforms_user: userVariable(caller, of.userExtravars) },
    caller,
  )

test.each([
  ['__limit__', 5],
  ['__inventory__', [1]],
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
