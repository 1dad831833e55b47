import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'
import { type TestServer, startServer } from '../server.js'

/** Rows of lists, as an evaluation shows those that it is asked for. */
let source: AnsweringServer
let server: TestServer
beforeAll(async () => {
  source = await startAnsweringServer({ '/sizes': [{ gb: 1 }, { gb: 2 }] })
  const shop = `
name: shop
type: ansible
playbook: shop.yml
roles: [default]
fields:
  - { name: site, type: text, default: ams }
  - { name: disks, type: list, subform: disk, default: [{ kind: ssd, id: 7 }] }
`
  const disk = `
name: disk
type: subform
fields:
  - { name: kind, type: text, required: true }
  - { name: size, type: enum, expression: "fn.fnRestBasic('get', '${source.url}/sizes', '', '', '.[].gb')" }
  - { name: label, type: expression, runLocal: true, expression: "'$(__parent__.site)-$(kind)'" }
  - { name: tape, type: text, dependencies: [{ name: kind, values: [tape] }] }
  - { name: pin, type: password }
  - { name: parts, type: list, subform: part }
`
  const part = `
name: part
type: subform
fields:
  - { name: from, type: expression, runLocal: true, expression: "'$(__parent__.label)'" }
  - { name: upTo, type: number, maxValue: 9 }
`
  const wizard =
    'name: steps\ntype: ansible\nplaybook: x.yml\nroles: [default]\nfields: []\nwizard: [{ subform: hall }]\n'
  const hall = 'name: hall\ntype: subform\nfields: [{ name: disks, type: list, subform: part }]\n'
  server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1' },
    forms: { 'a.yaml': shop, 'b.yaml': disk, 'c.yaml': part, 'd.yaml': wizard, 'e.yaml': hall },
  })
})
afterAll(async () => {
  await server.close()
  await source.close()
})

interface ShownRow {
  readonly row: readonly unknown[]
  readonly fields: Readonly<Record<string, Readonly<Record<string, unknown>>>>
}

async function shownRows(form: string, rawFormData: object, showRows: unknown): Promise<readonly ShownRow[]> {
  const json = { rawFormData, showRows, wait: 20 }
  const { status, body, text } = await server.call('POST', `/forms/${form}/evaluate`, { token: server.admin, json })
  expect(status, text).toBe(200)
  return body.shownRows as readonly ShownRow[]
}

test('a row that is asked for has its choices, values, errors, and what is shown of it', async () => {
  covers('endpoint.evaluate')
  const disks = [{ kind: 'ssd' }, { kind: '', size: 3, pin: 'sesame-4711', label: 'of the client' }]
  const [row, ...others] = await shownRows('shop', { site: 'ber', disks }, [['disks', 1]])
  expect(others).toEqual([])
  expect(row).toMatchObject({
    row: ['disks', 1],
    fields: {
      kind: { shown: true, required: true, errors: [{ type: 'required' }] },
      size: { choices: [1, 2], errors: [{ type: 'choice' }] },
      tape: { shown: false },
      pin: { shown: true, errors: [] },
    },
  })
  expect(row?.fields.pin).not.toHaveProperty('value')
  const [tape] = await shownRows('shop', { site: 'ber', disks: [{ kind: 'tape' }] }, [['disks', 0]])
  expect(tape?.fields).toMatchObject({ tape: { shown: true }, label: { value: 'ber-tape' } })
})

test('rows of rows, rows of a step and rows that came with the list are found by what leads to them', async () => {
  const disks = [{ kind: 'ssd', parts: [{ upTo: 1 }, { upTo: 10 }] }]
  expect(await shownRows('shop', { disks }, [['disks', 0, 'parts', 1]])).toMatchObject([
    { row: ['disks', 0, 'parts', 1], fields: { from: { value: 'ams-ssd' }, upTo: { errors: [{ type: 'maxValue' }] } } },
  ])
  const hall = { disks: [{ upTo: 10 }] }
  expect(await shownRows('steps', { hall }, [['hall', 'disks', 0]])).toMatchObject([
    { row: ['hall', 'disks', 0], fields: { upTo: { errors: [{ type: 'maxValue' }] } } },
  ])
  // The row is the default of the list. Nothing of it is checked, but its choices are those of now.
  expect(await shownRows('shop', {}, [['disks', 0]])).toMatchObject([
    { row: ['disks', 0], fields: { kind: { value: 'ssd', errors: [] }, size: { choices: [1, 2], errors: [] } } },
  ])
})

test('missing rows are left out, and without showRows no row is shown', async () => {
  const rows = [['disks', 4], ['none', 0], ['disks'], [], ['disks', 0, 'parts', 0]]
  expect(await shownRows('shop', { disks: [{ kind: 'a' }] }, rows)).toEqual([])
  expect(await shownRows('shop', {}, null)).toEqual([])
  const tooMany = { rawFormData: {}, showRows: Array.from({ length: 21 }, (_, index) => ['disks', index]) }
  const { status } = await server.call('POST', '/forms/shop/evaluate', { token: server.admin, json: tooMany })
  expect(status).toBe(400)
})
