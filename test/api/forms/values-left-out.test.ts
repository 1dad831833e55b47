import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'
import { type TestServer, startServer } from '../server.js'

/** What fields do whose placeholders have no value. An evaluation and a launch say the same of each. */
const FIELDS = `
  - { name: vm, type: enum, values: [{ id: 7, disks: null, size: 4 }, { id: 8, disks: [a, b], size: 8 }] }
  - { name: vms, type: enum, multiple: true, values: [{ id: 7, disks: null }, { id: 8, disks: x }] }
  - { name: text, type: text }
  - { name: big, type: checkbox }
  - { name: extra, type: number, dependencies: [{ name: big, values: [true] }] }
`
const WITH_BLANK = '  - { name: first name, type: text, dependencies: [{ name: vm.gone, values: [7] }] }\n'
const EXPRESSIONS = {
  'a default takes the place of a local expression': ["'v' + $(text)", 'default: none', {}, 'none'],
  'a default of another type stays what it is': ["'v' + $(text)", 'default: [1, { a: 2 }]', {}, [1, { a: 2 }]],
  'a default may name other fields': ["'v' + $(vm)", "default: 'is $(text)'", { text: 'x' }, 'is x'],
  'a default may be code': ["'v' + $(vm)", 'default: 2 * 3, evalDefault: true', {}, 6],
  'a default counts for a constant that is not there': ['$(GONE.x)', 'default: 5', {}, 5],
  'an empty text is a value': ["'v$(text)'", 'default: none', { text: '' }, 'v'],
  'with its value, the expression counts and not the default': ["'v$(text)'", 'default: none', { text: 'x' }, 'vx'],
  'a column that is there': ['$(vm.size)', '', { vm: 8 }, 8],
  'a column that the object lacks is its first one': ['$(vm.gone)', '', { vm: 8 }, 8],
  'a column without a value is the word null': ["'$(vm.disks)'", 'default: none', { vm: 7 }, 'null'],
  'a column without a value is null in code': ['[$(vm.disks)]', '', { vm: 7 }, [null]],
  'the columns of several choices': ['$(vms.disks)', '', { vms: [7, 8] }, [null, 'x']],
  'a column that several choices lack': ['$(vms.gone)', '', { vms: [7, 8] }, [7, 8]],
  'no choice where there may be several': ["$(vms.id) + ''", 'default: none', { vms: [] }, ''],
  'a hidden field with a default here': ["$(extra) + 'g'", 'default: none', {}, 'none'],
  'a hidden field leaves it without a value': ["$(extra) + 'g'", '', {}, undefined],
  'a field that was hidden and is shown': ["$(extra) + 'g'", '', { big: true, extra: 0 }, '0g'],
  'a name with a blank': ["'<$(first name)>'", '', { vm: 7, 'first name': 'Ann' }, '<Ann>'],
  'a server expression without its value': ["fn.fnCopy('$(text)', 1)", 'default: none', {}, 'none'],
  'a server expression that gives nothing': ["fn.fnJq({}, '.gone')", 'default: none', {}, 'none'],
} as const
const WAITING = {
  'a field that nobody filled in': ["'v' + $(text)", ''],
  'a choice that nobody made': ["'v' + $(vm.size)", ''],
  'a default that has no value, either': ["'v' + $(text)", "default: 'is $(vm)'"],
  'one of two is shown, and hidden is the other': ["'$(extra)$(text)'", ''],
} as const

let source: AnsweringServer
let server: TestServer
const names = [...Object.keys(EXPRESSIONS), ...Object.keys(WAITING)]
beforeAll(async () => {
  source = await startAnsweringServer({ '/disk': { id: 5 } })
  const all = [...Object.values(EXPRESSIONS), ...Object.values(WAITING)]
  const forms = all.map(([expression, more], index) => {
    const local = expression.includes('fn.') ? '' : 'runLocal: true, '
    const field = `  - { name: asked, type: expression, ${local}expression: ${JSON.stringify(expression)}, ${more} }`
    const before = FIELDS + (expression.includes('first name') ? WITH_BLANK : '')
    return [`f${index}.yml`, head(`f${index}`) + before + field]
  })
  server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1' },
    forms: { ...Object.fromEntries(forms), 'chain.yml': head('chain') + CHAIN(source.url), 'rows.yml': ROWS },
  })
})
afterAll(async () => {
  await server.close()
  await source.close()
})

const head = (name: string) => `name: ${name}\ntype: ansible\nplaybook: x.yml\nroles: [default]\nfields:\n`

const CHAIN = (url: string) => `
  - { name: vm, type: text }
  - { name: disk, type: expression, expression: "fn.fnRestBasic('get', '${url}/disk', '', '')", jq: .id }
  - { name: label, type: expression, runLocal: true, expression: "'disk $(disk)'", default: none }
  - { name: used, type: expression, expression: "fn.fnRestBasic('get', '${url}/' + $(vm), '', '')", default: nothing }
  - { name: told, type: expression, runLocal: true, expression: "'$(used)!'", required: true }
  - { name: size, type: enum, expression: "fn.fnRestBasic('get', '${url}/' + $(vm), '', '')", default: small }
  - { name: auto, type: enum, expression: "fn.fnRestBasic('get', '${url}/' + $(vm), '', '')", default: __auto__ }
  - { name: row, type: enum, query: "select $(vm)", dbConfig: gone, default: [r1, r2], multiple: true }
  - { name: rows, type: list, subform: one, expression: "fn.fnRestBasic('get', '${url}/' + $(vm), '', '')", default: [{ n: 1 }] }
`
const ROWS = `
- { name: one, type: subform, fields: [{ name: n, type: number }, { name: c, type: local_out, expression: '$(__parent__.extra)' }] }
- name: rows
  type: ansible
  playbook: x.yml
  roles: [default]
  fields:
    - { name: big, type: checkbox }
    - { name: extra, type: number, dependencies: [{ name: big, values: [true] }] }
    - { name: rows, type: list, subform: one }
`

interface Said {
  readonly details: Readonly<Record<string, unknown>> | null
  readonly extravars: Readonly<Record<string, unknown>>
}

/** What an evaluation and a launch say of these values. They must agree. */
async function said(formName: string, rawFormData: object): Promise<Said> {
  covers('endpoint.evaluate')
  const call = (method: string, path: string, json?: unknown) =>
    server.call(method, path, { token: server.admin, ...(json === undefined ? {} : { json }) })
  const { body } = await call('POST', `/forms/${formName}/evaluate`, { rawFormData, wait: 60 })
  const launched = await call('POST', '/job', { formName, rawFormData })
  if (launched.status !== 200) {
    expect(launched.status, launched.text).toBe(422)
    expect(body.runs).toMatchObject({ refused: launched.body.code, problem: launched.body.error })
    return { details: launched.body.details as Record<string, unknown>, extravars: {} }
  }
  const job = await call('GET', `/job/${String(launched.body.id)}?output=false`)
  const { runs } = body as { runs: { extravars: object } }
  expect(job.body.extravars).toMatchObject(runs.extravars)
  return { details: null, extravars: job.body.extravars as Record<string, unknown> }
}

describe('an expression whose placeholder has no value', () => {
  test.each(Object.entries(EXPRESSIONS))('%s', async (name, [, , values, expected]) => {
    const { details, extravars } = await said(`f${names.indexOf(name)}`, values)
    expect(details).toBeNull()
    expect(extravars.asked).toEqual(expected)
  })

  test.each(Object.keys(WAITING))('waits: %s', async (name) => {
    const { details } = await said(`f${names.indexOf(name)}`, {})
    expect(details).toMatchObject({ waiting: ['asked'] })
  })
})

test('a field that waits for an answer gets no default; all others do, and what needs them goes on', async () => {
  const { details, extravars } = await said('chain', {})
  expect(details).toBeNull()
  expect(extravars).toMatchObject({
    disk: 5,
    label: 'disk 5',
    used: 'nothing',
    told: 'nothing!',
    size: 'small',
    row: ['r1', 'r2'],
    rows: [{ n: 1 }],
  })
  expect(extravars).not.toHaveProperty('auto')
})

test('a hidden field of the form leaves the fields of rows without a value', async () => {
  expect((await said('rows', { rows: [{ n: 1 }] })).extravars.rows).toEqual([{ n: 1 }])
  expect((await said('rows', { big: true, extra: 3, rows: [{ n: 1 }] })).extravars.rows).toEqual([{ n: 1, c: 3 }])
  expect((await said('rows', { big: true, rows: [{ n: 1 }] })).details).toMatchObject({ waiting: ['rows'] })
})
