import { afterAll, beforeAll, expect, test } from 'vitest'
import { workflowForm, workflowText } from '../../support/workflow-text.js'
import { addRunner } from '../runner-row.js'
import { type TestServer, startServer } from '../server.js'

/** Where a job that waits for an approval will run, as its page says. */
const APPROVAL = { title: 'Go on?', roles: ['ops'] }
const form = (name: string, more: object) =>
  JSON.stringify({ name, roles: ['default'], fields: [], approval: APPROVAL, ...more })
const step = (name: string, more: object = {}) => ({ name, type: 'ansible', playbook: `${name}.yml`, ...more })
const FORMS = {
  'usual.yml': form('usual', { type: 'ansible', playbook: 'x.yml' }),
  'named.yml': form('named', { type: 'ansible', playbook: 'x.yml', runner: 'far' }),
  'steps.yml': form('steps', {
    type: 'multistep',
    steps: [step('one'), step('two', { runner: 'far' }), step('three'), step('four', { runner: 'nowhere' })],
  }),
  'asks.yml': form('asks', {
    type: 'multistep',
    approval: undefined,
    steps: [step('one', { approval: APPROVAL, runner: 'far' }), step('two')],
  }),
  'flow.yml': workflowForm('flow', { approval: APPROVAL, runner: 'far' }),
}
const WORKFLOWS = {
  'flow.yml': workflowText('flow', {
    a: { success: ['b'] },
    b: { more: { runner: 'edge' }, success: ['c'] },
    c: { workflow: 'inner', success: ['d'] },
    d: { approval: APPROVAL },
  }),
  'inner.yml': workflowText('inner', { x: { more: { runner: 'edge' } }, y: {} }),
}
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops]}
  - {name: default, groups: []}
`

let server: TestServer
let ann: string
beforeAll(async () => {
  server = await startServer({ config: CONFIG, forms: FORMS, workflows: WORKFLOWS })
  await addRunner(server, 'edge', { isDefault: true })
  await addRunner(server, 'far')
  ann = (await server.addUser('ann', ['ops'])).token
})
afterAll(() => server.close())

async function launch(formName: string): Promise<number> {
  const { status, body } = await server.call('POST', '/job', {
    token: server.admin,
    json: { formName, rawFormData: {} },
  })
  expect([status, body]).toEqual([200, { id: expect.any(Number) }])
  return Number(body.id)
}
const runsOn = async (id: number) => (await server.call('GET', `/job/${id}?output=false`, { token: ann })).body.runs_on

test('a job with one playbook names the runner that it got at its launch, until somebody has decided', async () => {
  const usual = await launch('usual')
  const on = (runner: string) => [{ runner, by_default: false, nodes: [] }]
  expect(await runsOn(usual)).toEqual(on('edge'))
  expect(await runsOn(await launch('named'))).toEqual(on('far'))
  // Only the page of a job asks for it.
  const { body } = await server.call('GET', `/job/${usual}`, { token: ann })
  expect(body.runs_on).toBeUndefined()
  await server.call('POST', `/job/${usual}/approve`, { token: ann })
  expect(await runsOn(usual)).toBeNull()
})

test('a job of several steps names the runners of its steps, and those that get the default one', async () => {
  const id = await launch('steps')
  const byName = [
    { runner: 'far', by_default: false, nodes: ['two'] },
    { runner: 'nowhere', by_default: false, nodes: ['four'] },
  ]
  const [byDefault, ...others] = (await runsOn(id)) as object[]
  expect(byDefault).toEqual({ runner: 'edge', by_default: true, nodes: ['one', 'three'] })
  expect(others).toEqual(byName)

  await server.store.write('test.default', (queries) => queries.updateTable('runner').set({ is_default: 0 }).execute())
  expect(await runsOn(id)).toEqual([{ runner: null, by_default: true, nodes: ['one', 'three'] }, ...byName])
})

test('of a job whose step asks only the steps are named that have not begun', async () => {
  const id = await launch('asks')
  await expect.poll(async () => (await server.call('GET', `/job/${id}`, { token: ann })).body.status).toBe('approve')
  expect(await runsOn(id)).toEqual([
    { runner: 'far', by_default: false, nodes: ['one'] },
    { runner: null, by_default: true, nodes: ['two'] },
  ])
})

test('a workflow also names the runners of the workflows in it', async () => {
  expect(await runsOn(await launch('flow'))).toEqual([
    { runner: 'far', by_default: false, nodes: ['a', 'c'] },
    { runner: 'edge', by_default: false, nodes: ['b', 'c'] },
  ])
})
