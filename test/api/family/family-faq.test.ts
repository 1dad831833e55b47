import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type TestServer, startServer } from '../server.js'

/** Whole fields that the documentation of the product family shows among its frequent questions. */
const FIELDS = `  # Placeholders
  - { name: field1, type: expression, runLocal: true, expression: "[{name: 'foo'},{name: 'bar'},{name: 'ansible'}]" }
  - { name: field2, type: expression, runLocal: true, expression: "'$(field1[0].name)'" }
  - { name: field3, type: expression, runLocal: true, expression: "$(field1)[0].name" }
  - { name: field4, type: expression, runLocal: true, expression: "$(field1).slice(-1)[0].name" }
  - name: field5
    type: enum
    expression: $(field1).filter(x => x.name.includes('a'))
    runLocal: true
    default: __auto__
  - { name: field6, type: expression, runLocal: true, expression: "'$(field5)'" }
  # A default by an expression
  - { name: source, type: expression, runLocal: true, expression: "[{name:'bert'},{name:'ernie'},{name:'pino'}]" }
  - { name: first, type: expression, runLocal: true, expression: "'pino'" }
  - name: withdefault
    type: enum
    expression: "[...[{name:'$(first)'}],...$(source).filter(x => x.name!=='$(first)')]"
    runLocal: true
    default: __auto__
  - { name: other, type: text, default: WEB }
  - { name: small, type: expression, runLocal: true, editable: true, expression: "'$(other)'.toLowerCase()" }
  - { name: smalltext, type: text, default: "'$(other)'.toLowerCase()", evalDefault: true }
  - { name: ticked, type: checkbox }
  - { name: textfield1, type: text, default: ping }
  - { name: textfield2, type: text, default: pong }
  - name: checkbox3
    type: checkbox
    default: |
      (
        (c=false,t1="",t2="") => { return c || (t1==t2) }
      )( $(ticked) , "$(textfield1)" , "$(textfield2)" )
    evalDefault: true
  # Choices that hang on another choice
  - name: city
    type: enum
    values:
      - { id: 1, name: Amsterdam, description: The north }
      - { id: 2, name: Brussels, description: The south }
    default: Amsterdam
    valueColumn: name
    placeholderColumn: id
    previewColumn: description
    columns: [name, description]
  - { name: byplaceholder, type: expression, runLocal: true, expression: "$(city) * 10" }
  - { name: bycolumn, type: expression, runLocal: true, expression: "$(city.id) * 10 + '$(city.description)'" }
  - name: datacenter
    type: enum
    runLocal: true
    expression: "[{dc: 'a1', city: 1}, {dc: 'a2', city: 1}, {dc: 'b1', city: 2}].filter(x => x.city == $(city))"
    default: __all__
    multiple: true
    outputObject: true
    model: cmdb.datacenter
  - { name: is_admin, type: expression, runLocal: true, hide: true, expression: "$(__user__.roles).includes('admin')" }
`

let server: TestServer
beforeAll(async () => {
  const form = `name: faq\ntype: ansible\nplaybook: x.yml\nroles: [default]\nfields:\n${FIELDS}`
  server = await startServer({ forms: { 'faq.yml': form } })
})
afterAll(() => server.close())

/** The extra variables of a launch with these values. */
async function launched(rawFormData: object): Promise<unknown> {
  const json = { formName: 'faq', rawFormData }
  const { status, body, text } = await server.call('POST', '/job', { token: server.admin, json })
  expect(status, text).toBe(200)
  return (await server.call('GET', `/job/${String(body.id)}`, { token: server.admin })).body.extravars
}

test('the fields of the frequent questions give the documented values', async () => {
  covers('field.expression', 'field.choices', 'field.value-column')
  expect(await launched({})).toMatchObject({
    field2: 'foo',
    field3: 'foo',
    field4: 'ansible',
    field5: 'bar',
    field6: 'bar',
    withdefault: 'pino',
    small: 'web',
    smalltext: 'web',
    checkbox3: false,
    city: 'Amsterdam',
    is_admin: true,
    byplaceholder: 10,
    bycolumn: '10The north',
    cmdb: {
      datacenter: [
        { dc: 'a1', city: 1 },
        { dc: 'a2', city: 1 },
      ],
    },
  })
})

test('they change with the entered values', async () => {
  covers('field.expression')
  const entered = { field5: 'ansible', withdefault: 'ernie', other: 'DB', textfield2: 'ping', city: 'Brussels' }
  expect(await launched(entered)).toMatchObject({
    field6: 'ansible',
    withdefault: 'ernie',
    small: 'db',
    smalltext: 'db',
    checkbox3: true,
    byplaceholder: 20,
    bycolumn: '20The south',
    cmdb: { datacenter: [{ dc: 'b1', city: 2 }] },
  })
  expect(await launched({ small: 'own', ticked: true })).toMatchObject({ small: 'own', checkbox3: true })
})
