import { describe, expect, test } from 'vitest'
import { ForbiddenError, RefusedValuesError } from '../../../control-plane/src/errors.js'
import type { AnsibleForm } from '../../../control-plane/src/forms/form.js'
import { requirePlainNames } from '../../../control-plane/src/jobs/launch/command-words.js'
import {
  playbookVariables,
  requireVerboseAllowed,
  userVariable,
} from '../../../control-plane/src/jobs/launch/extravars.js'
import { refuseUnknown, refuseUploads, stricter } from '../../../control-plane/src/jobs/launch/launch-values.js'
import { planJob } from '../../../control-plane/src/jobs/launch/plan-job.js'
import { requireShallow } from '../../../control-plane/src/jobs/record/depth.js'
import { MASK } from '../../../control-plane/src/jobs/secrets/masking.js'
import { refuseMasks } from '../../../control-plane/src/jobs/secrets/sent-masks.js'
import { uploadProblem } from '../../../control-plane/src/uploads/verify.js'
import { caller, form } from './launch-parts.js'

const LONGEST = 4096

const built = (settings: Partial<AnsibleForm>, values: Record<string, unknown> = {}) =>
  playbookVariables(form(settings), values, caller)

describe('a setting of a playbook', () => {
  test.each([
    ['__playbook__', (length: number) => `${'a'.repeat(length - 4)}.yml`],
    ['__playbookSubPath__', (length: number) => 'a'.repeat(length)],
    ['__inventory__', (length: number) => [`/${'a'.repeat(length - 1)}`]],
    ['__tags__', (length: number) => 'a'.repeat(length)],
    ['__limit__', (length: number) => 'a'.repeat(length)],
  ])('%s may be as long as an order can carry, and no longer', (key, textOf) => {
    expect(() => built({}, { [key]: textOf(LONGEST) })).not.toThrow()
    const tooLong = () => built({}, { [key]: textOf(LONGEST + 1) })
    expect(tooLong).toThrow(RefusedValuesError)
    expect(tooLong).toThrow(`${key} must be shorter`)
  })

  test.each([
    [{ check: true }, '__check__'],
    [{ diff: true }, '__diff__'],
    [{ verbose: true }, '__verbose__'],
    [{ allowJinjaInExtravars: true }, '__allowJinjaInExtravars__'],
    [{ keepExtravars: true }, '__keepExtravars__'],
  ])('of the form that is on is told to the playbook: %j', (settings, key) => {
    expect(built(settings).extravars).toEqual({ __playbook__: 'site.yml', [key]: true })
  })

  test('that is off or empty is not told to the playbook', () => {
    expect(built({}).extravars).toEqual({ __playbook__: 'site.yml' })
    const empty = { __tags__: [], __limit__: '', __playbookSubPath__: '', __playbook__: '', __inventory__: [] }
    expect(built({ tags: 'a', limit: 'b', playbookSubPath: 'c' }, empty).playbook).toMatchObject({
      tags: null,
      limit: null,
      playbookSubPath: null,
      playbook: 'site.yml',
      inventory: [],
    })
  })

  test('that the form has is told to the playbook, and null leaves it', () => {
    const settings = { tags: 'a', limit: 'b', playbookSubPath: './c/', inventory: ['d,'], playbook: './././site.yml' }
    const told = {
      __playbook__: 'site.yml',
      __playbookSubPath__: 'c',
      __inventory__: ['d,'],
      __tags__: 'a',
      __limit__: 'b',
    }
    expect(built(settings).extravars).toEqual(told)
    expect(built(settings, { __tags__: null, __limit__: null, __inventory__: null }).extravars).toMatchObject(told)
  })

  test('is of the form as long as the values say the same', () => {
    const own = { inventory: ['a.cfg'], limit: 'web', listedInventories: ['b.cfg'] }
    const ofForm = (values: Record<string, unknown>) => built(own, values).playbook.ofForm
    expect(ofForm({ __inventory__: 'a.cfg', __limit__: 'web' })).toEqual({ inventory: true, limit: true })
    expect(ofForm({ __inventory__: 'b.cfg', __limit__: 'db' })).toEqual({ inventory: true, limit: false })
    expect(ofForm({ __inventory__: 'hosts' })).toEqual({ inventory: false, limit: true })
  })

  test.each([
    ['inventories/prod', true],
    ['../inventories/prod', true],
    ['../../inventories/prod', true],
    ['/srv/playbooks/hosts', true],
    ['a/../../group_vars/all', false],
    ['{{ x }}', false],
    ['/srv/{{ x }}', false],
    ['web1,/etc/x', false],
  ])('that is an inventory of the values: %s', (inventory, isTaken) => {
    const run = () => built({}, { __inventory__: inventory }).playbook.inventory
    if (isTaken) expect(run()).toEqual([inventory])
    else expect(run).toThrow(RefusedValuesError)
  })

  test('that is an inventory of the form may be a file whose name has a comma', () => {
    expect(built({ inventory: ['inventories/a,b'] }).playbook.inventory).toEqual(['inventories/a,b'])
    expect(() => built({ inventory: ['inventories/{{ a }},b'] })).toThrow('__inventory__ is refused')
    expect(() => built({}, { __inventory__: 'inventories/a,b' })).toThrow('__inventory__ is refused')
  })

  test.each([
    ['roles/site.yml', true],
    ['site.YAML', true],
    ['site.json', true],
    ['.hidden/site.yml', false],
    ['.site.yml', false],
    ['Vars/site.yml', false],
    ['host_vars/site.yml', false],
    ['site.yml.bak', false],
    ['site', false],
  ])('that is a playbook of the values has the name of a playbook: %s', (playbook, isTaken) => {
    const run = () => built({}, { __playbook__: playbook }).playbook.playbook
    if (isTaken) expect(run()).toBe(playbook)
    else expect(run).toThrow('__playbook__ is refused')
    // The author of the form may name any file.
    expect(built({ playbook }).playbook.playbook).toBe(playbook)
  })
})

test.each([
  [undefined, true],
  [null, true],
  [false, true],
  [0, true],
  ['', true],
  [true, false],
  [1, false],
  ['false', false],
])('without the right to it, __verbose__ of %j is taken: %s', (__verbose__, isTaken) => {
  const options = { ...caller.options, allowVerboseMode: false }
  const run = () => requireVerboseAllowed({ __verbose__ }, { options })
  if (isTaken) expect(run).not.toThrow()
  else expect(run).toThrow(ForbiddenError)
  expect(() => requireVerboseAllowed({ __verbose__ }, caller)).not.toThrow()
})

test('the launching user has an email only if the account has one', () => {
  const whole = userVariable({ ...caller, email: 'ann@example.com' }, null)
  expect(whole).toMatchObject({
    username: 'ann',
    id: 7,
    type: 'local',
    email: 'ann@example.com',
    groups: ['local/ops'],
  })
  expect(Object.keys(userVariable(caller, null))).toEqual(['username', 'id', 'type', 'groups', 'roles', 'options'])
})

test('names that look like a template are refused in objects, in lists of objects, and not as values', () => {
  expect(() => requirePlainNames({ a: '{{ x }}', b: [null, ['{{ x }}'], { c: '{% x %}' }], d: null })).not.toThrow()
  expect(() => requirePlainNames({ '{{ a }}': 1 })).toThrow('{{ a }} is refused: its name looks like a template')
  expect(() => requirePlainNames({ a: [{ b: [{ '{% c %}': 1 }] }] })).toThrow('a is refused: the name "{% c %}" in it')
})

test.each([
  ['__inventory__', ['web,', '/srv/a long password']],
  ['__limit__', 'a long password'],
  ['__tags__', 'x,a long password'],
  ['__playbook__', 'a long password.yml'],
  ['__playbookSubPath__', 'x/a long password'],
])('a password in %s is refused, because a command line can be read by others', async (key, value) => {
  const nothing = { runnerOf: () => ({ runner: null, problem: null }), hasCredential: () => false }
  const launch = (secret: string) =>
    planJob(nothing, caller, {
      settings: form(),
      values: { [key]: value },
      credentialFields: [],
      credentials: {},
      secrets: { values: [secret], keys: new Set() },
    })
  await expect(launch('a long password')).rejects.toThrow(`${key} holds a password`)
  await expect(launch('another password')).resolves.toMatchObject({ runner: null })
})

describe('values without a field', () => {
  const refuse = (unknownFields: 'refuse' | 'warn' | 'ignore', ...names: (readonly [string, string | null])[]) =>
    refuseUnknown(
      unknownFields,
      names.map(([name, nearest]) => ({ name, nearest })),
    )

  test('are refused with the names that were probably meant', () => {
    expect(() => refuse('refuse')).not.toThrow()
    expect(() => refuse('refuse', ['hots', null])).toThrow(/\(no field is called hots\)$/)
    expect(() => refuse('refuse', ['hots', 'host'])).toThrow(/\(no field is called hots, did you mean host\?\)$/)
    expect(() => refuse('refuse', ['a', null], ['hots', 'host'], ['c', null])).toThrow(
      /\(no field is called a, nor hots, c\)$/,
    )
    try {
      refuse('refuse', ['a', null], ['hots', 'host'])
      expect.unreachable()
    } catch (error) {
      expect(error).toMatchObject({
        details: {
          invalid: ['a', 'hots'],
          validationErrors: {
            a: [{ type: 'unknown', description: 'there is no field a' }],
            hots: [{ type: 'unknown', description: 'there is no field hots; did you mean host?' }],
          },
        },
      })
    }
  })

  test('are not refused where the setting says so', () => {
    expect(() => refuse('ignore', ['a', null])).not.toThrow()
    expect(() => refuse('warn', ['a', null], ['b', 'c'])).not.toThrow()
  })
})

test('the stricter of two modes counts', () => {
  const modes = ['off', 'log', 'enforce'] as const
  for (const [one, setting] of modes.entries()) {
    expect(stricter(setting, null)).toBe(setting)
    for (const [other, ofForm] of modes.entries()) expect(stricter(setting, ofForm)).toBe(modes[Math.max(one, other)])
  }
})

test('uploads that cannot be used are refused by the names of their fields, with the first problem in words', () => {
  expect(() => refuseUploads([])).not.toThrow()
  const problems = [uploadProblem('cert', 'twice'), uploadProblem('key', 'unknown')]
  expect(() => refuseUploads(problems)).toThrow(/the upload for 'cert' cannot be used: /)
  try {
    refuseUploads(problems)
  } catch (error) {
    expect(error).toMatchObject({ code: 'uploads_refused', details: { uploads: ['cert', 'key'] } })
  }
})

test.each([99, 100, 101])('values that are nested %i levels deep', (levels) => {
  let value: unknown = 'x'
  for (let level = 0; level < levels; level += 1) value = level % 2 === 0 ? [value] : { a: value }
  const check = () => requireShallow(['text', null, value])
  if (levels <= 100) expect(check).not.toThrow()
  else expect(check).toThrow('100 levels')
})

describe('a mask that a client sends back', () => {
  const check = (passwordFields: string[], value: object) => () =>
    refuseMasks({ form: { passwordFields }, maskPattern: /token/i }, null, value)

  test('is refused anywhere if the form has password fields', () => {
    expect(check(['pin'], { a: [{ b: MASK }] })).toThrow('masked: a;')
    expect(check(['pin'], { a: `no ${MASK}` })).not.toThrow()
  })

  test('is refused under a name that is hidden, and taken under any other name', () => {
    expect(check([], { a: MASK, b: [MASK], c: { d: MASK } })).not.toThrow()
    expect(check([], { my_token: MASK })).toThrow('masked: my_token;')
    expect(check([], { a: [{ token: [MASK] }], b: { Token: { c: MASK } } })).toThrow('masked: a, b;')
    expect(check([], { token: 'x', a: null })).not.toThrow()
  })
})
