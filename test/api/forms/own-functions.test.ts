import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

/** Functions that an installation brings for its forms: `fnc.…`, from a file of whoever runs the service. */
const FUNCTIONS = (url: string) => `
// As in files of the product family.
import logger from '../lib/logger.js'

const SECRET = 'held'

export function fnSum(a, b) {
  logger.debug('[fnSum] sum is happening')
  return a + b
}
export const fnNames = async (site) => (await fn.fnRestBasic('get', '${url}/vms?site=' + site, '', '')).map((vm) => vm.name)
export const fnAsNetapp = () => fn.fnRestBasic('get', '${url}/who', '', 'netapp')
export const fnAs = (credential) => fn.fnRestBasic('get', '${url}/who', '', credential)
export const fnReach = () => [typeof process, typeof require, typeof fetch, typeof globalThis.fs]
export const fnYear = (day) => fn.fnTime(day).year()
export const fnForEver = () => { for (;;) {} }
export default { fnHello: (name) => 'Hello ' + name }
`
const field = (name: string, expression: string, more = '') =>
  `  - { name: ${name}, type: expression, expression: ${JSON.stringify(expression)}${more} }\n`
const FORM = `name: own
type: ansible
playbook: x.yml
roles: [public]
fields:
  - { name: site, type: text, default: ber }
  - { name: who, type: text }
${field('sum', "fnc.fnSum(1, $(site) === 'ber' ? 2 : 3)")}${field('hello', "fnc.fnHello('$(site)')")}
  - { name: vm, type: enum, expression: "fnc.fnNames('$(site)')" }
${field('first', "fnc.fnNames('$(site)')", ', jq: ".[0]"')}${field('netapp', 'fnc.fnAsNetapp()')}
${field('as', "fnc.fnAs('$(who)')")}${field('reach', 'fnc.fnReach()')}${field('long', 'fnc.fnForEver()')}
${field('year', "fnc.fnYear('2027-03-04')")}${field('missing', 'fnc.fnGone()')}${field('next', "fnc.fnHello('after')")}
${field('page', 'fnc.fnSum(2, 2)', ', runLocal: true')}
`
/** Calls at the beginning of a line, and in scripts that are no expressions of fields. */
const LINES = `name: lines
type: ansible
playbook: x.yml
roles: [public]
approval: { roles: [admin] }
fields:
  - name: sum
    type: expression
    runLocal: true
    expression: |
      const one = 1
      fnc.fnSum(one, 2)
  - { name: text, type: text, default: "fnc.fnGone()", evalDefault: true }
wizard:
  - { name: step, subform: part, when: "fnc.fnIsOpen()" }
`
const PART = 'name: part\ntype: subform\nfields: [{ name: a, type: text }]\n'
const OTHER = 'name: other\ntype: ansible\nplaybook: x.yml\nroles: [public]\nfields: [{ name: a, type: text }]\n'

let source: AnsweringServer
let server: TestServer
let ann: string
let path: string
beforeAll(async () => {
  source = await startAnsweringServer({
    '/vms': ({ path: asked }, response) => response.end(JSON.stringify([{ name: `${asked.split('=')[1]}-1` }])),
    '/who': ({ headers }, response) =>
      response.end(JSON.stringify(Buffer.from(headers.authorization?.slice(6) ?? '', 'base64').toString())),
  })
  server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1', FORM_FUNCTIONS_PATH: 'mine.js', LAUNCH_VALIDATION: 'enforce' },
    forms: { 'own.yaml': FORM, 'other.yaml': OTHER, 'lines.yaml': LINES, 'part.yaml': PART },
  })
  path = join(server.folder, 'mine.js')
  await server.writeConfig(
    'roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users], credentials: [other] }\n',
  )
  ann = (await server.addUser('ann', ['users'])).token
  for (const name of ['netapp', 'vault', 'other']) {
    const json = { name, type: 'userpass', user: name, password: 'canary-password' }
    expect((await server.call('POST', '/credential', { token: server.admin, json })).status).toBe(200)
  }
})
afterAll(async () => {
  await server.close()
  await source.close()
})

type Fields = Readonly<Record<string, { value?: unknown; choices?: unknown; waiting?: string }>>

async function evaluate(rawFormData: object = {}, form = 'own'): Promise<Fields> {
  const { status, body, text } = await server.call('POST', `/forms/${form}/evaluate`, {
    token: ann,
    json: { rawFormData, wait: 30 },
  })
  expect(status, text).toBe(200)
  return body.fields as Fields
}

const errors = async () =>
  (await server.call('GET', '/forms', { token: server.admin })).body as unknown as {
    readonly errors: readonly object[]
    readonly needs: readonly { readonly form: string; readonly needs: readonly object[] }[]
  }

test('FORM_FUNCTIONS_PATH: forms call what the file exports, and sources are asked for it', async () => {
  writeFileSync(path, FUNCTIONS(source.url))
  const fields = await evaluate({ site: 'ams' })
  expect(fields).toMatchObject({
    sum: { value: 4 },
    hello: { value: 'Hello ams' },
    vm: { choices: ['ams-1'] },
    first: { value: 'ams-1' },
    next: { value: 'Hello after' },
    year: { value: 2027 },
    page: { value: 4 },
  })
  const { needs, errors: problems } = await errors()
  expect(problems).toEqual([])
  expect(needs.filter(({ form }) => form === 'own')).toMatchObject([
    {
      form: 'own',
      needs: expect.arrayContaining(
        [
          { feature: 'own functions', names: expect.arrayContaining(['fnc.fnSum', 'fnc.fnNames']) as object },
          { feature: 'missing', fields: ['missing'], names: ['fnc.fnGone'] },
        ].map((need) => expect.objectContaining(need) as object),
      ) as object,
    },
  ])
})

test('they are in the sandbox: without files, network and time, and a name that is not there says so', async () => {
  const fields = await evaluate()
  expect(fields.reach).toMatchObject({ value: ['undefined', 'undefined', 'undefined', 'undefined'] })
  expect(fields.long).toMatchObject({ waiting: expect.stringContaining('it takes too long') as string })
  expect(fields.missing).toMatchObject({
    waiting: expect.stringContaining('fnc.fnGone is not in functions.js') as string,
  })
  // The others go on.
  expect(fields.next).toMatchObject({ value: 'Hello after' })
})

test('they may name credentials in quotes, and a value may only name those of the roles', async () => {
  expect((await evaluate()).netapp).toMatchObject({ value: 'netapp:canary-password' })
  expect((await evaluate({ who: 'other' })).as).toMatchObject({ value: 'other:canary-password' })
  expect((await evaluate({ who: 'vault' })).as).toMatchObject({
    waiting: expect.stringContaining("your roles do not allow the credential 'vault'") as string,
  })
})

test('nobody but whoever runs the service gives the text: a value never becomes a function', async () => {
  const fields = await evaluate({ site: "'); fnc.fnSum = () => 'broken'; ('" })
  expect(fields.hello).toMatchObject({ value: "Hello '); fnc.fnSum = () => 'broken'; ('" })
  expect(fields.sum).toMatchObject({ value: 4 })
})

test('a call may begin a line, and scripts that ask no source call them, too', async () => {
  writeFileSync(path, 'export const fnSum = (a, b) => a + b\n')
  expect((await evaluate({}, 'lines')).sum).toMatchObject({ value: 3 })
  const { needs } = await errors()
  expect(needs.find(({ form }) => form === 'lines')?.needs).toEqual([
    { feature: 'own functions', fields: ['sum'], names: ['fnc.fnSum'] },
    { feature: 'missing', fields: ['text'], names: ['fnc.fnGone', 'fnc.fnIsOpen'] },
  ])
})

test('many who fill in forms right after a change get all of it', async () => {
  writeFileSync(path, 'export const fnSum = (a, b) => a + b + 1\n')
  const contexts = await Promise.all(
    Array.from({ length: 300 }, async () =>
      server.parts.forms.forms.contextOf(await server.parts.forms.forms.find('lines')),
    ),
  )
  expect(new Set(contexts.map(({ functions }) => functions))).toEqual(
    new Set(['export const fnSum = (a, b) => a + b + 1\n']),
  )
})

test('an approval says when a function was changed meanwhile', async () => {
  const functions = 'export default { fnSum: (a, b) => a + b, fnGone: () => 1, fnIsOpen: () => true }\n'
  writeFileSync(path, functions)
  await addRunner(server, 'local', { isDefault: true })
  const json = { formName: 'lines', rawFormData: {}, extravars: {} }
  const { body, status, text } = await server.call('POST', '/job', { token: ann, json })
  expect(status, text).toBe(200)
  const approve = () => server.call('POST', `/job/${String(body.id)}/approve`, { token: server.admin })
  writeFileSync(path, functions.replace('a + b', 'a - b'))
  const refused = await approve()
  expect(refused.status).toBe(409)
  expect(refused.text).toMatch(/the form \([0-9a-f]{12} → [0-9a-f]{12}\)/)
  writeFileSync(path, functions)
  expect((await approve()).status).toBe(200)
})

test.each([
  ['export function a( {', 1, /functions\.js, line 1: /],
  ['\n\nexport const a = gone.b', 3, /functions\.js, line 3: 'gone' is not defined/],
  ["import fs from 'fs'", null, /functions\.js: it cannot import "fs"/],
  ['exports.fnSum = 1', 1, /write it as a module, with export function/],
  ['for (;;) {}', 1, /it takes too long/],
  [`export const long = '${'a'.repeat(70_000)}'`, null, /has more than 64 KiB/],
])('a file with a mistake is told to admins and at the fields: %j', async (text, line, reason) => {
  writeFileSync(path, text)
  const { errors: problems } = await errors()
  expect(problems).toMatchObject([
    { file: 'mine.js', line, form: null, reason: expect.stringMatching(reason) as string },
  ])
  const { sum } = await evaluate()
  if (text.length < 1000) expect(sum).toMatchObject({ waiting: expect.stringMatching(reason) as string })
  const json = { formName: 'other', rawFormData: { a: 'b' }, extravars: {} }
  expect((await server.call('POST', '/job', { token: ann, json })).status).toBe(200)
})

test('a change counts at once, and without the file a field says what it misses', async () => {
  writeFileSync(path, 'export const fnSum = () => 40 + 2')
  expect((await evaluate()).sum).toMatchObject({ value: 42 })
  rmSync(path)
  expect((await evaluate()).sum).toMatchObject({
    waiting: expect.stringContaining('fnc.fnSum is not there') as string,
  })
  expect((await errors()).errors).toEqual([])
})
