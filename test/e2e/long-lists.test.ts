import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { ScriptedRunner } from '../support/scripted-runner.js'

/** Texts of users that name many hosts or tags: as long as ansible takes them, and with the limit in the answer. */
let product: Product
let runner: ScriptedRunner

const FORM = `name: lists
type: ansible
roles: [default]
playbook: site.yml
fields:
  - { name: __inventory__, type: text }
  - { name: __limit__, type: text }
  - { name: __tags__, type: text }
`
const CHOICE = `name: choice
type: ansible
roles: [default]
playbook: site.yml
inventory: localhost,
fields:
  - { name: __limit__, type: enum, values: [web1, web2, '@/etc/passwd'], multiple: true }
  - { name: __tags__, type: enum, values: [a, b], multiple: true }
`
const names = (count: number) =>
  Array.from({ length: count }, (_, index) => `server${String(index).padStart(4, '0')}.prod.example.com`)

beforeAll(async () => {
  product = await startProduct({
    withAgent: false,
    forms: { 'lists.yml': FORM, 'choice.yml': CHOICE },
    playbooks: { 'site.yml': '[]' },
  })
  runner = await ScriptedRunner.join(product, 'scripted')
})
afterAll(async () => {
  await runner.leave()
  await product.close()
})

/** What the runner is given. */
async function orderOf(formName: string, values: Record<string, unknown>) {
  const id = await product.launch(formName, values)
  expect(await product.waitForEnd(id)).toMatchObject({ status: 'success' })
  return runner.runs.find((run) => run.order.job_id === id)?.order
}

test.each([',', ':', ' '])('a limit of thousands of hosts with %j between them reaches the runner', async (between) => {
  const limit = names(4000).join(between)
  expect(await orderOf('lists', { __inventory__: 'localhost,', __limit__: limit })).toMatchObject({ limit })
})

test('so do a list of hosts and tags', async () => {
  const [inventory, tags] = [`${names(4000).join(',')},`, names(3000).join(',')]
  expect(await orderOf('lists', { __inventory__: inventory, __tags__: tags })).toMatchObject({
    inventory: [inventory],
    tags,
  })
})

test.each([
  ['__limit__', { __limit__: names(5000).join(',') }, /__limit__ must be at most \d+ bytes/],
  ['__tags__', { __tags__: names(5000).join(',') }, /__tags__ must be at most \d+ bytes/],
  ['__inventory__', { __inventory__: `${names(5000).join(',')},` }, /__inventory__ must be at most \d+ bytes/],
  ['__limit__', { __limit__: 'a'.repeat(5000) }, /__limit__ is refused: .* has 5000 characters, and at most \d+/],
])('a %s that is too long is refused, and the answer says how long it may be', async (key, values, message) => {
  const launched = product.admin.request('POST', '/job', {
    formName: 'lists',
    rawFormData: { __inventory__: 'localhost,', ...values },
  })
  const { status, body } = await launched
  expect(status).toBe(422)
  expect(body).toMatchObject({ error: expect.stringMatching(message) as string, details: { invalid: [key] } })
})

test('what is chosen of a list becomes one limit, and one text of tags', async () => {
  const order = await orderOf('choice', { __limit__: ['web1', 'web2'], __tags__: ['a', 'b'] })
  expect(order).toMatchObject({ limit: 'web1,web2', tags: 'a,b' })
  const file = { formName: 'choice', rawFormData: { __limit__: ['web1', '@/etc/passwd'] } }
  expect((await product.admin.request('POST', '/job', file)).status).toBe(422)
})
