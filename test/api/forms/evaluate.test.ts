import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { type TestServer, startServer } from '../server.js'

const SHOP = `
name: shop
type: ansible
playbook: shop.yml
roles: [public]
runner: nowhere
fields:
  - { name: size, type: radio, values: [small, large], default: small }
  - { name: colour, type: enum, values: [red, blue], dependencies: [{ name: size, values: [large] }] }
  - { name: pin, type: password, required: true }
  - { name: again, type: password, sameAs: pin }
  - { name: shown, type: expression, runLocal: true, expression: "'pin is ' + '$(pin)'" }
  - { name: login, type: text, asCredential: true }
  - { name: people, type: number, minValue: 1, model: order.people }
`
const HIDDEN = 'name: hidden\ntype: ansible\nplaybook: x.yml\nroles: [nobody]\nfields: []\n'

let server: TestServer
let ann: string
beforeAll(async () => {
  server = await startServer({ forms: { 'shop.yaml': SHOP, 'hidden.yaml': HIDDEN } })
  await server.writeConfig(
    'roles:\n  - { name: admin, groups: [local/admins] }\n  - { name: public, groups: [local/users] }\n',
  )
  ann = (await server.addUser('ann', ['users'])).token
})
afterAll(() => server.close())

interface Evaluated {
  readonly fields: Readonly<Record<string, object>>
  readonly runs: {
    readonly runner: string | null
    readonly problem: string | null
    readonly refused: string | null
    readonly extravars: object
  }
}

async function evaluate(rawFormData: object): Promise<Evaluated> {
  const { status, body } = await server.call('POST', '/forms/shop/evaluate', { token: ann, json: { rawFormData } })
  expect(status).toBe(200)
  return body as unknown as Evaluated
}

test('the answer has for each field what a launch would find: shown or not, value, choices, errors', async () => {
  covers('endpoint.evaluate')
  const { fields, runs } = await evaluate({ people: 0 })
  expect(fields).toMatchObject({
    size: { shown: true, value: 'small', choices: ['small', 'large'], errors: [] },
    colour: { shown: false },
    pin: { shown: true, required: true, errors: [{ type: 'required' }] },
    people: { value: 0, errors: [{ type: 'minValue' }] },
  })
  expect(fields.colour).not.toHaveProperty('choices')
  expect(runs).toMatchObject({
    runner: null,
    problem: 'The values of the form are refused (missing: pin; invalid: people; waiting: shown)',
    refused: 'values_refused',
  })
  const large = await evaluate({ size: 'large', colour: 'green', pin: 'x', people: 2 })
  expect(large.fields.colour).toMatchObject({ shown: true, choices: ['red', 'blue'], errors: [{ type: 'choice' }] })
  expect(large.runs.extravars).toMatchObject({ size: 'large', order: { people: 2 } })
})

test('it says why the job would fail, and has all that the playbook would get', async () => {
  const { runs } = await evaluate({ pin: 'sesame', people: 2 })
  expect(runs).toEqual({
    runner: null,
    problem: "The runner 'nowhere' that the form names is not known",
    refused: null,
    extravars: {
      size: 'small',
      pin: '********',
      shown: '********',
      order: { people: 2 },
      __playbook__: 'shop.yml',
      ansibleforms_user: expect.objectContaining({ username: 'ann' }) as object,
    },
  })
  expect((await evaluate({ pin: 'sesame', strange: 1 })).runs).toMatchObject({
    problem: expect.stringContaining('no field is called strange') as string,
    refused: 'values_refused',
  })
})

test('one user may evaluate four forms at a time, and each that ends makes room', async () => {
  const json = { rawFormData: { pin: 'x' } }
  const many = await Promise.all(
    Array.from({ length: 40 }, () => server.call('POST', '/forms/shop/evaluate', { token: ann, json })),
  )
  for (const { status, body } of many) {
    if (status !== 200) expect([status, body.code]).toEqual([429, 'too_many_evaluations'])
  }
  expect(many.filter(({ status }) => status === 200).length).toBeGreaterThanOrEqual(4)
  expect((await server.call('POST', '/forms/shop/evaluate', { token: ann, json })).status).toBe(200)
})

test('a value that names very many credentials is refused before they are looked up', async () => {
  const login = Array.from({ length: 100_000 }, (_, index) => `c${index}`).join()
  const json = { rawFormData: { pin: 'x', login } }
  for (const path of ['/forms/shop/evaluate', '/job']) {
    const answer = await server.call('POST', path, { token: ann, json: { ...json, formName: 'shop' } })
    expect([answer.status, answer.body.code]).toEqual([422, 'too_many_credentials'])
  }
})

test('passwords never come back, not even inside of other values', async () => {
  covers('endpoint.evaluate')
  const json = { rawFormData: { pin: 'sesame-4711', again: 'other-secret', people: 1 } }
  const { status, text, body } = await server.call('POST', '/forms/shop/evaluate', { token: ann, json })
  expect(status).toBe(200)
  expect(text).not.toMatch(/sesame|4711|other-secret/)
  const { fields } = body as unknown as Evaluated
  expect(fields.pin).not.toHaveProperty('value')
  expect(fields.shown).toMatchObject({ value: '********' })
  expect(fields.again).toMatchObject({ errors: [{ type: 'sameAs' }] })
})

test('nothing is launched, and a form is evaluated only for those who may launch it', async () => {
  covers('endpoint.evaluate')
  const jobs = await server.call('GET', '/job', { token: server.admin })
  expect(jobs.body.count).toBe(0)
  const answer = await server.call('POST', '/forms/hidden/evaluate', { token: ann, json: {} })
  expect([answer.status, answer.body.code]).toEqual([403, 'form_not_allowed'])
  expect((await server.call('POST', '/forms/none/evaluate', { token: ann, json: {} })).status).toBe(404)
})
