import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'

/**
 * Forms that are good YAML, and that would end the process or fill its stack when somebody fills them in. The service
 * under attack is a process of its own, and the same process has to answer afterwards.
 */

const times = (text: string, count: number): string => text.repeat(count)
const many = (count: number, make: (at: number) => string): string =>
  Array.from({ length: count }, (_, at) => make(at)).join('\n')
const form = (fields: string, more = ''): string =>
  `name: NAME\ntype: ansible\nplaybook: p.yml\nroles: [public]\n${more}fields:\n${fields}\n`

const CHAIN = 999
const DEEP = 20_000

/** Each form, and the values that somebody sends. */
const FORMS: Readonly<Record<string, { readonly text: string; readonly values?: object; readonly says?: string }>> = {
  'a chain of expressions': {
    text: form(
      `- {name: f0, type: text}\n${many(CHAIN, (at) => `- {name: f${at + 1}, type: expression, runLocal: true, expression: "'$(f${at})'"}`)}`,
    ),
    values: { f0: 'x' },
  },
  'a chain from the last to the first': {
    text: form(
      `${many(CHAIN, (at) => `- {name: f${at}, type: expression, runLocal: true, expression: "'$(f${at + 1})'"}`)}\n- {name: f${CHAIN}, type: text}`,
    ),
    values: { [`f${CHAIN}`]: 'x' },
  },
  'a chain of what is shown': {
    text: form(
      `${many(CHAIN, (at) => `- {name: f${at}, type: text, default: x, dependencies: [{name: f${at + 1}, values: [x]}]}`)}\n- {name: f${CHAIN}, type: text, default: x}`,
    ),
  },
  'a chain of valid fields': {
    text: form(
      `${many(CHAIN, (at) => `- {name: f${at}, type: text, default: x, dependencies: [{name: f${at + 1}, isValid: true}]}`)}\n- {name: f${CHAIN}, type: text, default: x}`,
    ),
  },
  'a chain of defaults': {
    text: form(
      `${many(CHAIN, (at) => `- {name: f${at}, type: text, default: $(f${at + 1})}`)}\n- {name: f${CHAIN}, type: text, default: x}`,
    ),
  },
  'a path of twenty thousand steps': {
    says: 'must be a dot path',
    text: form(`- {name: x, type: text, model: ${times('a.', DEEP)}b}`),
    values: { x: '1' },
  },
  'a path of twenty thousand indexes': {
    says: 'must be a dot path',
    text: form(`- {name: x, type: text, model: 'a${times('[0]', DEEP)}'}`),
    values: { x: '1' },
  },
  'a placeholder of twenty thousand steps': {
    text: form(
      `- {name: x, type: yaml}\n- {name: y, type: expression, runLocal: true, expression: "'$(x${times('.a', DEEP)})'"}`,
    ),
    values: { x: '{a: 1}' },
  },
  'brackets in an expression': {
    text: form(`- {name: y, type: expression, runLocal: true, expression: "${times('(', DEEP)}1${times(')', DEEP)}"}`),
  },
  'a result of many levels': {
    says: 'nested too deep',
    text: form(
      `- {name: y, type: expression, runLocal: true, expression: "let v = 1; for (let i = 0; i < 3000; i++) v = [v]; v"}`,
    ),
  },
  'a question of many levels': {
    says: 'nested deeper than 100 levels',
    text: form(
      `- {name: y, type: expression, expression: "(() => { let v = 1; for (let i = 0; i < 3000; i++) v = [v]; return fn.fnJq(v, '.') })()"}`,
    ),
  },
  'a script that always asks another question': {
    text: form(`- {name: y, type: expression, expression: "let n = 0; for (;;) n = await fn.fnJq(n, '. + 1')"}`),
  },
  'a filter that makes many levels': {
    says: 'nested deeper than 100 levels',
    text: form(`- {name: y, type: expression, expression: "fn.fnJq(1, 'reduce range(300) as $i (1; [.])')"}`),
  },
  'a filter with many brackets': {
    text: form(`- {name: y, type: expression, expression: "fn.fnJq(1, '${times('(', DEEP)}.${times(')', DEEP)}')"}`),
  },
  'a pattern with groups in groups': {
    says: 'nested deeper than 100 levels',
    text: form(
      `- {name: x, type: text, regex: {expression: '${times('(?:x', 1500)}${times(')?', 1500)}', description: d}}`,
    ),
    values: { x: 'xx' },
  },
  'a pattern of alternatives': {
    says: 'longer than',
    text: form(
      `- {name: x, type: text, regex: {expression: '${times('(?:a|', 9000)}b${times(')', 9000)}', description: d}}`,
    ),
    values: { x: 'xx' },
  },
  'a pattern in a script': {
    text: form(
      `- {name: y, type: expression, runLocal: true, expression: "new RegExp('(?:x'.repeat(5000) + ')?'.repeat(5000)).test('xx')"}`,
    ),
  },
  'a query with a filter of many levels': {
    text: form(
      `- {name: y, type: expression, dbConfig: {name: nowhere, type: mongodb}, query: 'd~c~${times('{"a":', 3000)}1${times('}', 3000)}'}`,
    ),
  },
}

/** A chain of fields in a row, whose last field is a list of such rows. */
const CHAIN_OF_ROWS = `${many(300, (at) => `    - {name: f${at}, type: expression, runLocal: true, expression: "'$(f${at + 1})'"}`)}
    - {name: f300, type: expression, runLocal: true, expression: "JSON.stringify($(rows)).length"}
    - {name: rows, type: list, subform: Chain}`

/** Subforms that contain themselves. */
const SELF = `
- name: Chain
  type: subform
  fields:
${CHAIN_OF_ROWS}
- {name: Chains, type: ansible, playbook: p.yml, roles: [public], fields: [{name: rows, type: list, subform: Chain}]}
- {name: Row, type: subform, fields: [{name: rows, type: list, subform: Row}, {name: one, type: yaml, subform: Row}, {name: p, type: password}]}
- {name: Rows, type: ansible, playbook: p.yml, roles: [public], fields: [{name: rows, type: list, subform: Row}, {name: one, type: yaml, subform: Row}]}
`

/** Each subform needs the next one, and the last one is missing. */
const SUBFORMS = `${many(3000, (at) => `- {name: s${at}, type: subform, fields: [{name: x, type: list, subform: s${at + 1}}]}`)}
- {name: Long, type: ansible, playbook: p.yml, roles: [public], fields: [{name: x, type: list, subform: s0}]}
`

/** Each workflow runs the next one. */
const WORKFLOWS = `workflow_job_templates:
${many(2000, (at) => `- {name: w${at}, related: {workflow_nodes: [{identifier: n, extra_data: {v${at}: '{{ x }}'}, unified_job_template: {name: w${at + 1}, type: workflow_job_template}}]}}`)}
- {name: w2000, related: {workflow_nodes: [{identifier: n, unified_job_template: {name: p.yml, type: job_template}}]}}
`
const OF_WORKFLOW = '{name: Flow, type: workflow, workflow: w0, roles: [public], fields: [{name: x, type: text}]}\n'

/** Mistakes without end, each in an entry of its own. */
const MISTAKES = '- 1\n'.repeat(4000)

let product: Product
beforeAll(async () => {
  const forms = Object.entries(FORMS).map(
    ([name, { text }], at) => [`f${at}.yml`, text.replace('NAME', JSON.stringify(name))] as const,
  )
  product = await startProduct({
    withAgent: false,
    forms: {
      ...Object.fromEntries(forms),
      'self.yml': SELF,
      'subforms.yml': SUBFORMS,
      'flow.yml': OF_WORKFLOW,
      'mistakes.yml': MISTAKES,
    },
    workflows: { 'chain.yml': WORKFLOWS },
    playbooks: { 'p.yml': '- hosts: all\n' },
    controlPlane: { AUTH_RATE_LIMIT: '0', LAUNCH_VALIDATION: 'enforce' },
  })
})
afterAll(() => product.close())

async function expectTheSameProcess(pid: number): Promise<void> {
  expect((await fetch(`${product.address}/api/v2/live`)).status).toBe(200)
  expect(product.controlPlane.pid).toBe(pid)
  expect(product.controlPlane.isRunning(), product.controlPlane.said().slice(-2000)).toBe(true)
}

test.each(Object.keys(FORMS))('%s: filled in, launched and listed, and the service goes on', async (formName) => {
  const { pid } = product.controlPlane
  const rawFormData = FORMS[formName]?.values ?? {}
  const path = `/forms/${encodeURIComponent(formName)}/evaluate`
  const evaluated = await product.admin.request('POST', path, { rawFormData, wait: 60 })
  expect([200, 404]).toContain(evaluated.status)
  await expectTheSameProcess(pid)
  const launched = await product.admin.request('POST', '/job', { formName, rawFormData })
  expect(launched.status).toBeLessThan(500)
  const { id } = launched.body as { id?: number }
  if (id !== undefined) await product.admin.get(`/job/${id}`)
  const { errors } = await product.admin.get<{ errors: object[] }>('/forms')
  // What is wrong is told: with the field, or with the file.
  expect(JSON.stringify([evaluated.body, errors])).toContain(FORMS[formName]?.says ?? '')
  await expectTheSameProcess(pid)
})

test('rows in rows, as deep as values may be', async () => {
  const { pid } = product.controlPlane
  let [rows, one]: [unknown, unknown] = [[], {}]
  for (let level = 0; level < 48; level += 1) [rows, one] = [[{ rows, p: 'secret-word' }], { one, p: 'secret-word' }]
  const launch = { formName: 'Rows', rawFormData: { rows, one } }
  const { status, body } = await product.admin.request('POST', '/job', launch)
  expect(status, JSON.stringify(body).slice(0, 500)).toBe(200)
  const { id } = body as { id: number }
  await product.admin.get(`/job/${id}`)
  await product.admin.request('POST', `/job/${id}/relaunch`, {})
  await expectTheSameProcess(pid)
})

test('a chain of fields in each of many rows in rows', async () => {
  const { pid } = product.controlPlane
  let rows: unknown = [{ rows: [] }]
  for (let level = 0; level < 40; level += 1) rows = [{ rows }]
  const rawFormData = { rows }
  const { body } = await product.admin.request('POST', '/forms/Chains/evaluate', { rawFormData, wait: 0 })
  expect(JSON.stringify(body)).toContain('fields that need each other')
  expect((await product.admin.request('POST', '/job', { formName: 'Chains', rawFormData })).status).toBe(422)
  await expectTheSameProcess(pid)
})

test('a chain of thousands of subforms, of which the last one is missing', async () => {
  const { pid } = product.controlPlane
  const { records, errors } = await product.admin.get<{
    records: { name: string }[]
    errors: { form: string; reason: string }[]
  }>('/forms')
  expect(records.map(({ name }) => name)).not.toContain('Long')
  expect(errors).toContainEqual(
    expect.objectContaining({ form: 'Long', reason: expect.stringContaining('"s0"') as string }),
  )
  await expectTheSameProcess(pid)
})

test('a chain of thousands of workflows', async () => {
  const { pid } = product.controlPlane
  const rawFormData = { x: '1' }
  const evaluated = await product.admin.request('POST', '/forms/Flow/evaluate', { rawFormData, wait: 0 })
  expect(evaluated.status).toBe(200)
  const { status, body } = await product.admin.request('POST', '/job', { formName: 'Flow', rawFormData })
  expect(status).toBe(200)
  const { id } = body as { id: number }
  expect(JSON.stringify(await product.admin.get(`/job/${id}?text=true`))).toContain('more than 50 levels of workflows')
  await expectTheSameProcess(pid)
})

test('thousands of mistakes in one file: the first ones are told, and how many more there are', async () => {
  const { errors } = await product.admin.get<{ errors: { file: string; reason: string }[] }>('/forms')
  const ofFile = errors.filter(({ file }) => file === 'mistakes.yml')
  expect(ofFile.length).toBeLessThan(200)
  expect(ofFile.at(-1)?.reason).toMatch(/\d more/)
})
