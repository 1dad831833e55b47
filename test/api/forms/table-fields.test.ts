import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type TestServer, startServer } from '../server.js'

/** Tables of older forms are lists: each row is checked by the columns, and a playbook gets the rows. */
const HOSTS = `
name: Hosts
type: ansible
playbook: x.yml
inventory: hosts
roles: [default]
fields:
  - { name: sites, type: expression, runLocal: true, expression: "[{ id: 'ams', city: 'Amsterdam' }, { id: 'ber', city: 'Berlin' }]" }
  - { name: taken, type: expression, runLocal: true, expression: "['web1']" }
  - name: hosts
    type: table
    required: true
    tableClass: table-striped
    insertMarker: is_new
    deleteMarker: is_gone
    insertColumns: [name]
    readonlyColumns: [name]
    expression: "[{ name: 'old1', cpus: 2, size: 's', site: null, live: true }]"
    runLocal: true
    tableFields:
      - { name: name, label: Name, type: text, required: true, regex: { expression: '^[a-z0-9]+$', description: small letters }, notIn: { field: taken, description: taken } }
      - { name: cpus, type: number, minValue: 1, maxValue: 8, default: 1 }
      - { name: size, type: enum, values: [s, m, l], default: s }
      - { name: site, type: enum, from: sites, valueColumn: id }
      - { name: live, type: checkbox }
      - { name: old name, type: text }
`
const form = (name: string, field: string) =>
  `name: ${name}\ntype: ansible\nplaybook: x.yml\nroles: [default]\nfields:\n  - ${field}\n`

let server: TestServer
beforeAll(async () => {
  server = await startServer({
    forms: {
      'hosts.yml': HOSTS,
      'one.yml': form('One', '{ name: r, type: table, default: [{ a: 1 }], tableFields: [{ name: a, type: number }] }'),
      'source.yml': form(
        'Source',
        `{ name: r, type: table, runLocal: true, expression: "({ a: 2 })", tableFields: [{ name: a, type: number }] }`,
      ),
      'nothing.yml': form('Nothing', '{ name: r, type: table }'),
      'options.yml': form('Options', '{ name: r, type: table, tableFields: [{ name: a }, { name: b, type: enum }] }'),
      'twice.yml': form('Twice', '{ name: r, type: table, tableFields: [{ name: a }, { name: a }] }'),
    },
  })
})
afterAll(() => server.close())

const call = (method: string, path: string, json?: unknown) =>
  server.call(method, path, { token: server.admin, ...(json === undefined ? {} : { json }) })

async function launch(name: string, rawFormData: object) {
  const { status, body, text } = await call('POST', '/job', { formName: name, rawFormData })
  if (status !== 200) return { status, details: body.details as Record<string, unknown> }
  const job = await call('GET', `/job/${String(body.id)}`)
  expect(job.status, text).toBe(200)
  return { status, extravars: job.body.extravars as Record<string, unknown> }
}

test('a table is shown as a list with a subform of its columns', async () => {
  const { body } = await call('GET', '/config/form?name=Hosts')
  const [shown] = body.forms as { fields: object[]; subforms: { name: string; fields: { name: string }[] }[] }[]
  expect(shown?.fields[2]).toMatchObject({ name: 'hosts', type: 'list', subform: 'Hosts: hosts' })
  expect(shown?.subforms.map(({ name }) => name)).toEqual(['Hosts: hosts'])
  expect(shown?.subforms[0]?.fields.map(({ name }) => name)).toEqual([
    'name',
    'cpus',
    'size',
    'site',
    'live',
    'old name',
  ])
  const list = await call('GET', '/forms')
  expect((list.body.records as { name: string }[]).map(({ name }) => name)).toEqual(['Hosts', 'One', 'Source'])
})

test('the playbook gets the rows: old ones unchanged, new ones with their mark, choices as a whole', async () => {
  const old = { name: 'old1', cpus: 2, size: 's', site: null, live: true }
  const { extravars } = await launch('Hosts', {
    hosts: [
      { ...old, is_gone: true },
      { name: 'web2', cpus: '4', site: 'ber', 'old name': 'b', is_new: true },
    ],
  })
  expect(extravars?.hosts).toEqual([
    { ...old, is_gone: true },
    {
      name: 'web2',
      cpus: 4,
      size: 's',
      site: { id: 'ber', city: 'Berlin' },
      live: false,
      'old name': 'b',
      is_new: true,
    },
  ])
  expect((await launch('Hosts', {})).extravars?.hosts).toEqual([old])
  expect((await launch('One', {})).extravars?.r).toEqual([{ a: 1 }])
  // One object of a source is one row.
  expect((await launch('Source', {})).extravars?.r).toEqual([{ a: 2 }])
})

test('each cell is checked by its column, also against fields of the form', async () => {
  const hosts = [
    { name: 'Web 1', cpus: 9, size: 'xl', site: 'lon' },
    { name: 'web1', cpus: 1 },
    { name: '', cpus: 'many' },
  ]
  const { status, details } = await launch('Hosts', { hosts })
  expect(status).toBe(422)
  const errors = (details?.rowErrors as Record<string, { index: number; validationErrors: object }[]>).hosts
  const types = (at: number) =>
    Object.fromEntries(
      Object.entries(errors?.find(({ index }) => index === at)?.validationErrors ?? {}).map(([name, found]) => [
        name,
        (found as { type: string }[]).map(({ type }) => type),
      ]),
    )
  expect(types(0)).toEqual({ name: ['regex'], cpus: ['maxValue'], size: ['choice'], site: ['choice'] })
  expect(types(1)).toEqual({ name: ['notIn'] })
  expect(types(2)).toEqual({ name: ['required'], cpus: ['type'] })
  expect((await launch('Hosts', { hosts: [] })).details).toMatchObject({ missing: ['hosts'] })
})

test('an evaluation has the choices of a row', async () => {
  covers('endpoint.evaluate')
  const json = { rawFormData: { hosts: [{ name: 'web2' }] }, showRows: [['hosts', 0]], wait: 20 }
  const { body } = await call('POST', '/forms/Hosts/evaluate', json)
  expect(body.shownRows).toMatchObject([
    {
      row: ['hosts', 0],
      fields: { size: { choices: ['s', 'm', 'l'] }, site: { choices: [{ id: 'ams' }, { id: 'ber' }] } },
    },
  ])
})

describe('a table that cannot be a list is left out, with its line and what to do', () => {
  test.each([
    ['Nothing', /^fields\.0 type is "table", but it has no tableFields: make its columns the fields of a form of type/],
    [
      'Options',
      /^fields\.0 tableFields\.1 an enum field needs values, .*: make its columns the fields of a form of type/,
    ],
    ['Twice', /^fields\.0 tableFields\.1 there already is one named a: make its columns/],
  ])('%s', async (name, reason) => {
    const { body } = await call('GET', '/forms')
    const errors = body.errors as { form: string; line: number; reason: string }[]
    expect(errors.find((error) => error.form === name)).toMatchObject({
      line: 6,
      reason: expect.stringMatching(reason) as string,
    })
  })
})
