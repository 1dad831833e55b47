import { symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createForms } from '../../../control-plane/src/forms/files/loader.js'
import { waitFor } from '../../support/wait.js'
import { type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

/** How fields, subforms, wizards and the files of constants are read, and what is said of those that are wrong. */
let server: TestServer
beforeEach(async () => {
  server = await startServer()
})
afterEach(() => server.close())

interface Listed {
  readonly count: number
  readonly records: readonly Record<string, unknown>[]
  readonly errors: readonly { file: string; line: number | null; form: string | null; reason: string }[]
}
const until = (what: string, condition: (list: Listed) => boolean) =>
  waitFor(what, async () => {
    const now = (await server.call('GET', '/forms', { token: server.admin })).body as unknown as Listed
    return condition(now) ? now : null
  })
const formsOf = (constants = {}) =>
  createForms({
    folder: join(server.folder, 'forms'),
    varsFolder: join(server.folder, 'vars'),
    constants: () => Promise.resolve(constants),
    clock: server.clock,
    log: { info: () => undefined, warn: () => undefined },
  })

describe('a form with a wrong field is left out, with file, line and reason', () => {
  test.each<[string, string, RegExp]>([
    ['an unknown type', 'type: table', /fields.0.type/],
    ['a name that ends with a blank', 'name: "my "', /fields.0.name/],
    ['the name of a prototype', 'name: __proto__', /name cannot be __proto__/],
    ['required that is no flag', 'required: sometimes', /required must be boolean/],
    ['a pattern that is none', 'regex: {expression: "(", description: d}', /regex/],
    ['a pattern without its expression', 'regex: {description: d}', /expression/],
    ['an unknown combination', 'dependencyFn: xor', /dependencyFn/],
    ['a dependency on nothing', 'dependencies: [{name: b}]', /needs values or isValid/],
    ['a model that is no path', 'model: "a..b"', /model .* must be a dot path/],
    ['a model into a prototype', 'model: a.__proto__.b', /must be a dot path/],
    ['a model with an endless list', 'model: "a[100000]"', /must be a dot path/],
    ['a radio without values', 'type: radio', /needs values/],
    ['an enum without options', 'type: enum', /needs values, an expression or a query/],
    ['an expression without one', 'type: expression', /needs an expression/],
    ['a list without a subform', 'type: list', /needs a subform/],
    ['a bound that is a list', 'minLength: [1]', /minLength/],
  ])('%s', async (_what, property, reason) => {
    covers('form.wrong')
    const name = property.startsWith('name:') ? '' : '    name: f\n'
    await server.writeForm('wrong.yml', `name: x\nplaybook: a.yml\nfields:\n  -\n${name}    ${property}\n`)
    const { errors } = await until('the report', (now) => now.errors.length === 1)
    expect(errors[0]).toMatchObject({ file: 'wrong.yml', form: 'x', reason: expect.stringMatching(reason) as string })
    expect(errors[0]?.line).toBeGreaterThanOrEqual(4)
  })

  test('two fields of one name', async () => {
    await server.writeForm('wrong.yml', 'name: x\nplaybook: a.yml\nfields:\n  - name: f\n  - name: g\n  - name: f\n')
    const { errors } = await until('the report', (now) => now.errors.length === 1)
    expect(errors[0]).toMatchObject({ line: 6, reason: 'fields.2 there already is one named f' })
  })

  test('a missing subform; a form that uses such a form is left out, too', async () => {
    await server.writeForm('a.yml', '{name: a, playbook: a.yml, fields: [{name: l, type: list, subform: b}]}')
    await server.writeForm('b.yml', '{name: b, type: subform, fields: [{name: l, type: list, subform: c}]}')
    await server.writeForm('w.yml', '{name: w, playbook: a.yml, wizard: [{subform: a}]}')
    const { errors, count } = await until('the reports', (now) => now.errors.length === 3)
    expect(count).toBe(0)
    expect(errors.map(({ form, reason }) => [form, reason])).toEqual([
      ['b', 'there is no form of type subform named "c"'],
      ['w', 'there is no form of type subform named "a"'],
      ['a', 'there is no form of type subform named "b"'],
    ])
  })
})

test('unknown properties of forms and fields are kept and served', async () => {
  covers('form.unknown-properties')
  await server.writeForm(
    'a.yml',
    '{name: a, playbook: a.yml, roles: [default], futureTile: {x: 1}, help: "# Hi", fields: [{name: f, sparkle: true, icon: bolt}]}',
  )
  const { records, errors } = await until('the form', (now) => now.count === 1)
  expect(errors).toEqual([])
  expect(records[0]).toMatchObject({
    futureTile: { x: 1 },
    help: '# Hi',
    fields: [{ name: 'f', sparkle: true, icon: 'bolt' }],
  })
  expect(records[0]).not.toHaveProperty('playbook')
})

test('how a job of a form runs is not shown: it may name hosts, accounts and files', async () => {
  const hidden = {
    inventory: ['hosts'],
    playbookSubPath: 'sub',
    playbookFiles: ['files/x'],
    tags: 't',
    limit: 'web1',
    verbose: true,
    userExtravars: 'username',
    credentials: { db: 'prod' },
    ansibleCredentials: 'ssh',
    vaultCredentials: 'vault',
    runner: 'one',
    notifications: { recipients: ['a@example.com'] },
    executionImage: 'image',
    approval: { title: 'T', message: 'M', roles: ['ops'] },
  }
  const form = { name: 'hides', playbook: 'a.yml', roles: ['default'], fields: [], help: 'H', ...hidden }
  await server.writeForm('a.yml', JSON.stringify(form))
  const { records, errors } = await until('the form', (now) => now.count + now.errors.length > 0)
  expect(errors).toEqual([])
  expect(Object.keys(records[0] ?? {}).sort()).toEqual(['categories', 'description', 'fields', 'help', 'name', 'type'])
})

describe('varsFiles', () => {
  test('are merged in order over the constants of config.yaml, must be below their folder, and are read again', async () => {
    covers('form.vars-files')
    const { writeVars } = await varsFolder()
    await writeVars('a.yml', 'A: {x: 1, y: 1}\nB: 1\n')
    await writeVars('b.yaml', 'A: {y: 2}\n')
    await server.writeForm('f.yml', '{name: f, playbook: a.yml, varsFiles: [a.yml, b.yaml]}')
    const forms = formsOf({ B: 0, C: 3 })
    const constants = async () => (await forms.contextOf(await forms.find('f'))).constants
    expect(await constants()).toEqual({ A: { x: 1, y: 2 }, B: 1, C: 3 })
    await writeVars('b.yaml', 'A: {y: 3000}\n')
    expect(await constants()).toMatchObject({ A: { x: 1, y: 3000 } })
  })

  test('are read as ansible reads them', async () => {
    const { writeVars } = await varsFolder()
    await writeVars('words.yml', 'A: {mode: 0644, enabled: no, day: 2026-11-28}\n')
    await server.writeForm('words.yml', '{name: words, playbook: a.yml, varsFiles: [words.yml]}')
    const forms = formsOf({})
    const { constants } = await forms.contextOf(await forms.find('words'))
    expect(constants).toEqual({ A: { mode: 420, enabled: false, day: '2026-11-28' } })
  })

  test('a wrong one is skipped and reported, and the form stays', async () => {
    const { writeVars } = await varsFolder()
    await writeFile(join(server.folder, 'outside.yml'), 'SECRET: 1')
    await symlink(join(server.folder, 'outside.yml'), join(server.folder, 'vars', 'link.yml'))
    await writeVars('list.yml', '- 1\n')
    await writeVars('broken.yml', 'a: [\n')
    const files = ['none.yml', 'list.yml', 'broken.yml', 'a.txt', '../outside.yml', 'link.yml']
    await server.writeForm('f.yml', JSON.stringify({ name: 'f', playbook: 'a.yml', varsFiles: files }))
    const { errors, count } = await until('the reports', (now) => now.errors.length === files.length)
    expect(count).toBe(1)
    const reasons = errors.map((error) => error.reason)
    expect(reasons[0]).toContain('there is no such file')
    expect(reasons[1]).toContain('must hold a mapping')
    expect(reasons[2]).toContain('line')
    expect(reasons[3]).toContain('.yml or .yaml')
    for (const reason of reasons.slice(4)) expect(reason).toContain('below the folder')
    expect((await formsOf().contextOf(await formsOf().find('f'))).constants).toEqual({})
  })

  async function varsFolder() {
    const folder = join(server.folder, 'vars')
    const { mkdir } = await import('node:fs/promises')
    await mkdir(folder, { recursive: true })
    return { writeVars: (name: string, text: string) => writeFile(join(folder, name), text) }
  }
})
