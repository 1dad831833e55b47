import { mkdir, rename, rm, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { waitFor } from '../../support/wait.js'
import { type TestServer, startServer } from '../server.js'
import { covers } from '../../interface/covers.js'

interface FormList {
  readonly count: number
  readonly records: readonly Record<string, unknown>[]
  readonly errors?: readonly { file: string; line: number | null; form: string | null; reason: string }[]
}

let server: TestServer
beforeEach(async () => {
  server = await startServer()
})
afterEach(() => server.close())

const list = async (token = server.admin) => (await server.call('GET', '/forms', { token })).body as unknown as FormList
const names = async (token?: string) => (await list(token)).records.map((form) => form.name)
const until = (what: string, condition: (list: FormList) => boolean) =>
  waitFor(what, async () => {
    const now = await list()
    return condition(now) ? now : null
  })
const form = (name: string, more = '') => `name: ${name}\ntype: ansible\nroles: [default]\nplaybook: site.yml\n${more}`

test('an empty folder has no forms', async () => {
  expect(await list()).toEqual({ count: 0, records: [], needs: [], errors: [], files_left_out: [] })
})

describe('loading', () => {
  test('one form or a list per file, below folders, by relative path', async () => {
    covers('form.files')
    await server.writeForm('b.yml', form('third'))
    await server.writeForm('a/z.yaml', form('first'))
    await server.writeForm('a.YML', '- {name: zero, playbook: a.yml}\n- {name: zero and a half, playbook: b.yml}\n')
    await server.writeForm('notes.txt', 'name: not a form')
    await server.writeForm('.git/config.yml', form('hidden'))
    await until('four forms', (now) => now.count === 4)
    expect(await names()).toEqual(['zero', 'zero and a half', 'first', 'third'])
    expect((await list()).errors).toEqual([])
  })

  test('the properties for pages are served, and those for jobs are not', async () => {
    await server.writeForm(
      'full.yml',
      form(
        'Full – mit Ümläuten',
        `description: It does all
categories: [Demo, Demo/Sub]
icon: bolt
onSuccess: [{home: 3}]
tileClass: is-info
inventory: hosts.ini
runner: one
vaultCredentials: prod
fields:
  - {name: city, type: enum, values: [Ghent, Rome], label: City}
  - {name: pin, type: password}
`,
      ),
    )
    const { records } = await until('the form', (now) => now.count === 1)
    expect(records[0]).toEqual({
      name: 'Full – mit Ümläuten',
      type: 'ansible',
      description: 'It does all',
      categories: ['Demo', 'Demo/Sub'],
      icon: 'bolt',
      onSuccess: [{ home: 3 }],
      tileClass: 'is-info',
      fields: [
        { name: 'city', type: 'enum', values: ['Ghent', 'Rome'], label: 'City' },
        { name: 'pin', type: 'password' },
      ],
    })
  })

  test('types that need another system load, and nobody can launch a subform', async () => {
    covers('form.foreign-types')
    const foreignStep = '{name: multistep, type: multistep, roles: [default], steps: [{name: a, type: awx}]}'
    await server.writeForm('multistep.yml', foreignStep)
    for (const type of ['awx', 'jenkins', 'rundeck', 'subform']) {
      await server.writeForm(`${type}.yml`, `{name: ${type}, type: ${type}, roles: [default]}`)
    }
    await until('the forms', (now) => now.count === 4)
    expect(await names()).toEqual(['awx', 'jenkins', 'multistep', 'rundeck'])
  })
})

describe('wrong forms are left out with file, line and reason; the others load', () => {
  test.each<[string, string, string | null, number, RegExp]>([
    ['broken YAML', 'name: x\nplaybook: [a, b\nroles: [default]\n', null, 3, /.+/],
    ['a tab as indentation', 'name: x\nfields:\n\t- {name: a}\n', null, 3, /tab/i],
    ['a key twice', 'name: x\nplaybook: a.yml\nname: y\n', null, 3, /unique/i],
    ['two documents', 'name: x\nplaybook: a.yml\n---\nname: y\n', null, 3, /multiple documents/],
    ['a plain text', 'just words\n', null, 1, /object/],
    ['no workflow', 'type: workflow\nname: x\n', 'x', 2, /workflow is needed in a form of type workflow/],
    ['no steps', 'type: multistep\nname: x\n', 'x', 2, /steps are needed in a form of type multistep/],
    ['an empty list of steps', 'name: x\ntype: multistep\nsteps: []\n', 'x', 3, /steps are needed/],
    ['a step without a name', 'name: x\ntype: multistep\nsteps:\n  - playbook: a.yml\n', 'x', 4, /steps.0 .*name/],
    [
      'a step without a playbook',
      'name: x\ntype: multistep\nplaybook: a.yml\nsteps:\n  - {name: a, playbook: a.yml}\n  - name: b\n',
      'x',
      6,
      /steps.1 playbook is needed in a step of type ansible/,
    ],
    [
      'two steps of one name',
      'name: x\ntype: multistep\nsteps:\n  - {name: a, playbook: a.yml}\n  - {name: a, playbook: b.yml}\n',
      'x',
      5,
      /there already is one named a/,
    ],
    [
      'a step of a type that there is not',
      'name: x\ntype: multistep\nsteps:\n  - {name: a, playbook: a.yml, type: shell}\n',
      'x',
      4,
      /steps.0.type/,
    ],
    [
      'a step that leaves the playbook folder',
      'name: x\ntype: multistep\nsteps:\n  - name: a\n    playbook: ../a.yml\n',
      'x',
      5,
      /steps.0 playbook must be a path inside/,
    ],
    ['an empty file', '', null, 1, /object/],
    ['no name', 'type: ansible\nplaybook: a.yml\n', null, 1, /name/],
    ['an empty name', 'name: ""\nplaybook: a.yml\n', '', 1, /name/],
    ['a name that is a number', 'playbook: a.yml\nname: 2024\n', null, 2, /name must be string/],
    ['a long name', `name: ${'x'.repeat(201)}\nplaybook: a.yml\n`, 'x'.repeat(200), 1, /name/],
    ['an unknown type', 'name: x\ntype: magic\n', 'x', 2, /type/],
    ['no playbook', 'type: ansible\nname: x\n', 'x', 2, /playbook is needed/],
    ['a playbook outside', 'name: x\nplaybook: ../../etc/passwd\n', 'x', 2, /inside/],
    ['an absolute playbook', 'name: x\nplaybook: /etc/passwd\n', 'x', 2, /inside/],
    ['a sub path outside', 'name: x\nplaybook: a.yml\nplaybookSubPath: a/../..\n', 'x', 3, /inside/],
    ['a flag as text', 'name: x\nplaybook: a.yml\ncheck: "yes"\n', 'x', 3, /check must be boolean/],
    ['roles as text', 'name: x\nplaybook: a.yml\nroles: default\n', 'x', 3, /roles must be array/],
    ['a field without a name', 'name: x\nplaybook: a.yml\nfields:\n  - name: a\n  - type: text\n', 'x', 5, /fields.1/],
    ['an inventory that is a number', 'name: x\nplaybook: a.yml\ninventory: 5\n', 'x', 3, /string or must be array/],
  ])('%s', async (_what, text, name, line, reason) => {
    covers('form.wrong')
    await server.writeForm('a-wrong.yml', text)
    await server.writeForm('good.yml', form('good'))
    const now = await until('the report', (found) => found.errors?.length === 1 && found.count === 1)
    expect(now.errors?.[0]).toEqual({ file: 'a-wrong.yml', line, form: name, reason: expect.stringMatching(reason) })
    expect(now.records.map((record) => record.name)).toEqual(['good'])
  })

  test('one wrong form in a list leaves the others', async () => {
    await server.writeForm(
      'list.yml',
      `- {name: one, playbook: a.yml}\n- {name: two}\n- {name: three, playbook: c.yml}\n`,
    )
    const now = await until('the report', (found) => found.errors?.length === 1)
    expect(now.records.map((record) => record.name)).toEqual(['one', 'three'])
    expect(now.errors?.[0]).toMatchObject({ line: 2, form: 'two' })
  })

  test('of two forms with the same name the first one wins and the later one is reported', async () => {
    covers('form.first-wins')
    await server.writeForm('b.yml', form('same', 'description: later\n'))
    await server.writeForm('a.yml', form('same', 'description: first\n'))
    const now = await until('the report', (found) => found.errors?.length === 1)
    expect(now.records).toMatchObject([{ name: 'same', description: 'first' }])
    expect(now.errors?.[0]).toMatchObject({ file: 'b.yml', form: 'same', reason: expect.stringContaining('a.yml') })
  })

  test('a file with too many aliases is not a form', async () => {
    const levels = ['a0: &a0 [x, x, x, x, x, x, x, x, x, x]']
    for (let level = 1; level < 9; level += 1) {
      levels.push(`a${level}: &a${level} [${Array.from({ length: 10 }, () => `*a${level - 1}`).join(', ')}]`)
    }
    await server.writeForm('bomb.yml', levels.join('\n'))
    await server.writeForm('good.yml', form('good'))
    const now = await until('the report', (found) => found.errors?.length === 1)
    expect(now.records.map((record) => record.name)).toEqual(['good'])
  })
})

describe('links', () => {
  test('are followed inside the folder and nowhere else', async () => {
    const outside = join(server.folder, 'outside')
    await mkdir(outside)
    await writeFile(join(outside, 'secret.yml'), form('secret'))
    await server.writeForm('real/one.yml', form('one'))
    const forms = join(server.folder, 'forms')
    await symlink(join(outside, 'secret.yml'), join(forms, 'leak.yml'))
    await symlink(outside, join(forms, 'leaks'))
    await symlink('..', join(forms, 'up'))
    await symlink('nowhere.yml', join(forms, 'dangling.yml'))
    await symlink('.', join(forms, 'real', 'loop'))
    await rename(join(forms, 'real', 'one.yml'), join(forms, 'real', 'kept.yml'))
    await symlink(join(forms, 'real', 'kept.yml'), join(forms, 'alias.yml'))
    server.clock.move(2000)
    const now = await until('the forms', (found) => found.count === 1 && (found.errors?.length ?? 0) >= 5)
    expect(now.records.map((record) => record.name)).toEqual(['one'])
    const reasons = Object.fromEntries((now.errors ?? []).map((error) => [error.file, error.reason]))
    for (const file of ['leak.yml', 'leaks', 'up']) expect(reasons[file]).toContain('leaves the forms folder')
    expect(reasons['dangling.yml']).toContain('ENOENT')
    expect(reasons['real/kept.yml']).toContain('already is a form')
  })
})

test('files are read again when they are changed, added or removed', async () => {
  covers('form.read-again')
  await server.writeForm('a.yml', form('before'))
  await until('the form', (now) => now.records[0]?.name === 'before')
  await server.writeForm('a.yml', form('after'))
  await until('the edit', (now) => now.records[0]?.name === 'after')
  await server.writeForm('a.yml', 'name: [')
  await until('the broken edit', (now) => now.count === 0 && now.errors?.length === 1)
  await server.writeForm('a.yml', form('mended'))
  await until('the good edit', (now) => now.count === 1 && now.errors?.length === 0)
  await server.writeForm('b.yml', form('second'))
  await until('the second', (now) => now.count === 2)
  await rm(join(server.folder, 'forms', 'a.yml'))
  server.clock.move(2000)
  await until('the removal', (now) => now.count === 1)
  await rm(join(server.folder, 'forms'), { recursive: true })
  server.clock.move(2000)
  await until('no folder', (now) => now.count === 0 && now.errors?.length === 1)
})

test('a new form is there for the next request', async () => {
  await server.writeForm('a.yml', form('a'))
  await until('the form', (now) => now.count === 1)
  await writeFile(join(server.folder, 'forms', 'b.yml'), form('b'))
  expect(await names()).toEqual(['a', 'b'])
})

test('users see the forms of their roles, admins all and the errors', async () => {
  covers('form.list')
  await server.writeConfig('roles:\n  - {name: admin, groups: [local/admins]}\n  - {name: ops, groups: [local/ops]}\n')
  const roles = {
    everyone: '[default]',
    old: '[public]',
    ops: '[ops]',
    admins: '[admin]',
    nobody: '[]',
    others: '[x, y]',
  }
  for (const [name, list] of Object.entries(roles)) {
    await server.writeForm(`${name}.yml`, `{name: ${name}, playbook: a.yml, roles: ${list}}`)
  }
  await server.writeForm('wrong.yml', 'name: 5')
  const guest = await server.addUser('guest')
  const ops = await server.addUser('olga', ['ops'])
  await until('the forms', (now) => now.count === 6)
  expect(await names(guest.token)).toEqual(['everyone', 'old'])
  expect(await names(ops.token)).toEqual(['everyone', 'old', 'ops'])
  expect((await list(guest.token)).errors).toBeUndefined()
  expect((await list()).errors).toHaveLength(1)
})
