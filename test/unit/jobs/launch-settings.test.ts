import { expect, test } from 'vitest'
import { RefusedValuesError } from '../../../control-plane/src/errors.js'
import type { AnsibleForm } from '../../../control-plane/src/forms/form.js'
import { playbookVariables } from '../../../control-plane/src/jobs/launch/extravars.js'
import { refuseUnknown, stricter } from '../../../control-plane/src/jobs/launch/launch-values.js'
import { planJob } from '../../../control-plane/src/jobs/launch/plan-job.js'
import { MASK } from '../../../control-plane/src/jobs/secrets/masking.js'
import { refuseMasks } from '../../../control-plane/src/jobs/secrets/sent-masks.js'
import { caller, form } from './launch-parts.js'

const built = (settings: Partial<AnsibleForm>, values: Record<string, unknown> = {}) =>
  playbookVariables(form(settings), values, caller)

test.each<[Partial<AnsibleForm>, Record<string, unknown>, object]>([
  [{}, {}, {}],
  [{ check: true }, {}, { __check__: true }],
  [{ diff: true }, {}, { __diff__: true }],
  [{ verbose: true }, {}, { __verbose__: true }],
  [{ tags: 'a', inventory: ['d,'] }, {}, { __tags__: 'a', __inventory__: ['d,'] }],
  [{ limit: 'b', playbookSubPath: './c/' }, {}, { __limit__: 'b', __playbookSubPath__: 'c' }],
  [{ limit: 'b' }, { __limit__: null }, { __limit__: 'b' }],
  [{ playbook: './././site.yml' }, {}, {}],
])('the playbook is told of what the form %j has, with the values %j', (settings, values, told) => {
  expect(built(settings, values).extravars).toEqual({ __playbook__: 'site.yml', ...told })
})

test('a setting that is empty in the values is off', () => {
  const empty = { __tags__: [], __limit__: '', __playbookSubPath__: '', __playbook__: '', __inventory__: [] }
  const off = { tags: null, limit: null, playbookSubPath: null, playbook: 'site.yml', inventory: [] }
  expect(built({ tags: 'a', limit: 'b', playbookSubPath: 'c' }, empty).playbook).toMatchObject(off)
})

test.each([
  ['__inventory__', 'inventories/prod', true],
  ['__inventory__', '../../inventories/prod', true],
  ['__inventory__', '/srv/playbooks/hosts', true],
  ['__inventory__', 'a/../../group_vars/all', false],
  ['__inventory__', '/srv/{{ x }}', false],
  ['__inventory__', 'web1,/etc/x', false],
  ['__playbook__', 'roles/site.yml', true],
  ['__playbook__', 'site.YAML', true],
  ['__playbook__', '.hidden/site.yml', false],
  ['__playbook__', 'host_vars/site.yml', false],
  ['__playbook__', 'site.yml.bak', false],
  ['__playbook__', 'site', false],
])('a value may name as %s the file %s: %j', (key, value, isTaken) => {
  const run = () => built({}, { [key]: value })
  if (isTaken) expect(run).not.toThrow()
  else expect(run).toThrow(RefusedValuesError)
  // The author of the form may name any file.
  if (key === '__playbook__') expect(() => built({ playbook: value })).not.toThrow()
})

test.each([
  ['__inventory__', ['web,', '/srv/a long password']],
  ['__limit__', 'a long password'],
  ['__tags__', 'x,a long password'],
  ['__playbook__', 'a long password.yml'],
  ['__playbookSubPath__', 'x/a long password'],
])('a password in %s is refused, because a command line can be read by others', async (key, value) => {
  const nothing = { runnerOf: () => ({ runner: null, problem: null }), hasCredential: () => false }
  const launch = (secret: string) => {
    const secrets = { values: [secret], keys: new Set<string>() }
    const plain = { settings: form(), credentialFields: [], credentials: {} }
    return planJob(nothing, caller, { ...plain, values: { [key]: value }, secrets })
  }
  await expect(launch('a long password')).rejects.toThrow(RefusedValuesError)
  await expect(launch('another password')).resolves.toMatchObject({ runner: null })
})

test.each([
  ['refuse', [], false],
  ['refuse', [{ name: 'hots', nearest: 'host' }], true],
  ['warn', [{ name: 'hots', nearest: 'host' }], false],
  ['ignore', [{ name: 'hots', nearest: null }], false],
] as const)('with the setting "%s", values without a field, %j, are refused: %j', (setting, names, isRefused) => {
  const run = () => refuseUnknown(setting, names)
  if (isRefused) expect(run).toThrow(RefusedValuesError)
  else expect(run).not.toThrow()
})

test('the stricter of two modes of checking counts', () => {
  const modes = ['off', 'log', 'enforce'] as const
  for (const [one, setting] of modes.entries()) {
    expect(stricter(setting, null)).toBe(setting)
    for (const [other, ofForm] of modes.entries()) expect(stricter(setting, ofForm)).toBe(modes[Math.max(one, other)])
  }
})

test.each([
  [['pin'], { a: [{ b: MASK }] }, true],
  [['pin'], { a: `no ${MASK}` }, false],
  [[], { a: MASK, b: [MASK], c: { d: MASK } }, false],
  [[], { my_token: MASK }, true],
  [[], { a: [{ token: [MASK] }] }, true],
  [[], { token: 'x', a: null }, false],
])('of a form with the passwords %j, the masks in %j are refused: %j', (passwordFields, values, isRefused) => {
  const run = () => refuseMasks({ form: { passwordFields }, maskPattern: /token/i }, null, values)
  if (isRefused) expect(run).toThrow(RefusedValuesError)
  else expect(run).not.toThrow()
})
