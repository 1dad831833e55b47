import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type AnsweringServer, startAnsweringServer } from '../../support/answering-server.js'
import { type TestServer, startServer } from '../server.js'

let source: AnsweringServer
let server: TestServer
let ann: string

beforeAll(async () => {
  source = await startAnsweringServer({ '/vms': [{ name: 'vm1' }, { name: 'vm2' }] })
  const form = `
name: servers
type: ansible
playbook: x.yml
roles: [public]
fields:
  - { name: vms, type: enum, expression: "fn.fnRestBasic('get','${source.url}/vms?dc=$(dc.name)','','','.[].name')" }
  - { name: local, type: expression, runLocal: true, expression: "'$(name)'" }
  - { name: site, type: expression, expression: "'$(SITE)-$(name)'" }
  - { name: who, type: expression, expression: "'$(__user__.username)'" }
  - { name: count, type: expression, expression: "$(rows).length" }
  - { name: none, type: expression, expression: "'$(missing)' === 'undefined'" }
  - { name: disks, type: list, subform: disk }
  - { name: rows, type: enum, query: "select 1", dbConfig: { name: db } }
`
  const disk =
    'name: disk\ntype: subform\nfields: [{ name: size, type: expression, expression: "$(gb) * $(__parent__.times)" }]\n'
  server = await startServer({
    settings: { REST_ALLOWED_HOSTS: '127.0.0.1' },
    forms: {
      'servers.yaml': form,
      'disk.yaml': disk,
      'hidden.yaml': 'name: hidden\ntype: ansible\nplaybook: x.yml\nroles: [nobody]\n',
    },
  })
  await server.writeConfig(
    'roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users] }\nconstants: { SITE: bru }\n',
  )
  ann = (await server.addUser('ann', ['users'])).token
})
afterAll(async () => {
  await server.close()
  await source.close()
})

const ask = async (json: object, path = '/expression') => {
  const { status, text } = await server.call('POST', path, { token: ann, json })
  const body = JSON.parse(text) as unknown
  return status === 200 ? body : [status, (body as { code: string }).code]
}
const asked = (fieldName: string, values: object = {}) => ask({ formName: 'servers', fieldName, values })

test('the text is that of the form, the values are those of the caller', async () => {
  covers('endpoint.expression')
  expect(await asked('vms', { 'dc.name': 'dc1' })).toEqual(['vm1', 'vm2'])
  expect(source.asked.at(-1)?.path).toBe('/vms?dc=dc1')
  const own = {
    formName: 'servers',
    fieldName: 'vms',
    values: { 'dc.name': 'dc1' },
    expression: "fn.fnCredentials('x')",
  }
  expect(await ask(own)).toEqual(['vm1', 'vm2'])
  expect(await asked('count', { rows: [1, 2] })).toBe(2)
  expect(
    await ask({
      formName: 'servers',
      subformName: 'disk',
      fieldName: 'size',
      values: { gb: 2, '__parent__.times': 3 },
    }),
  ).toBe(6)
  expect(await asked('none')).toBe(true)
})

test('constants and the user are those of the service', async () => {
  covers('endpoint.expression')
  expect(await asked('site', { SITE: 'evil', name: 'web' })).toBe('bru-web')
  expect(await asked('who', { '__user__.username': 'admin', __user__: { username: 'admin' } })).toBe('ann')
})

test('a value stays a value', async () => {
  for (const name of ["'); throw 1; ('", '${1+1}', '`', '\\', '$(SITE)']) {
    expect(await asked('site', { name })).toBe(`bru-${name}`)
  }
})

test('nothing else is evaluated: no text of the caller, no field of pages, no form of other roles', async () => {
  covers('endpoint.expression')
  expect(await ask({ expression: '1 + 1' })).toEqual([403, 'text_not_of_form'])
  expect(await asked('local', { name: 'a' })).toEqual([404, 'field_not_found'])
  expect(await asked('rows')).toEqual([404, 'field_not_found'])
  expect(await ask({ formName: 'servers', fieldName: 'vms' }, '/query')).toEqual([404, 'field_not_found'])
  expect(await ask({ formName: 'hidden', fieldName: 'f' })).toEqual([403, 'form_not_allowed'])
  expect(await ask({ formName: 'unknown', fieldName: 'f' })).toEqual([404, 'form_not_found'])
  expect(await asked('count', { rows: null })).toEqual([422, 'field_not_computed'])
})
