import { stripVTControlCharacters } from 'node:util'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { startFakeService } from './fake-service.js'
import { newQuickPerson } from './run-cli.js'

/** A workflow in which the first node fails, so that its other branch runs. */
const WORKFLOW = `workflow_job_templates:
  - name: Release
    related:
      workflow_nodes:
        - identifier: test
          unified_job_template: { name: test.yml, type: job_template }
          related:
            success_nodes: [{ identifier: release }]
            failure_nodes: [{ identifier: tidy }]
        - identifier: release
          unified_job_template: { name: release.yml, type: job_template }
          related:
            always_nodes: [{ identifier: tidy }]
        - identifier: tidy
          unified_job_template: { name: tidy.yml, type: job_template }
`
const FORMS = {
  'release.yml': `name: Release
type: workflow
workflow: release.yml
roles: [default]
fields: []
`,
  'plain.yml': `name: Plain
type: ansible
roles: [default]
playbook: plain.yml
fields: []
`,
}

let product: Product
let runner: ScriptedRunner

beforeAll(async () => {
  product = await startProduct({
    forms: FORMS,
    workflows: { 'release.yml': WORKFLOW },
    playbooks: { 'test.yml': '[]\n', 'release.yml': '[]\n', 'tidy.yml': '[]\n' },
    withAgent: false,
  })
  runner = await ScriptedRunner.join(product, 'scripted')
  runner.scripts.set('test.yml', { exit: 2 })
})
afterAll(async () => {
  await runner?.leave()
  await product?.close()
})

const person = () => newQuickPerson({ HOLDFAST_TOKEN: product.admin.token, HOLDFAST_SERVER: product.address })

it('shows each node of a workflow with its job, why it did not run, and what follows it', async () => {
  const id = await product.launch('Release')
  await product.waitForEnd(id)
  const { code, stdout } = await person().run(['job', 'nodes', String(id)])
  expect(code).toBe(0)
  const rows = stdout.trimEnd().split('\n')
  expect(rows[0]).toMatch(/^step +status +job +start +took +runs +then +why$/)
  expect(rows.find((row) => row.startsWith('test'))).toMatch(
    /failed +\d+ +\S+ \S+ +\S+ s +test\.yml +release after a success, tidy after a failure/,
  )
  expect(rows.find((row) => row.startsWith('release'))).toMatch(
    /do not run .*release\.yml +tidy after either +nothing before it ended in a way that starts it/,
  )
  expect(rows.find((row) => row.startsWith('tidy'))).toMatch(/success +\d+/)

  const { records } = await product.admin.get<{ records: unknown[] }>(`/job/${id}/nodes`)
  const answer = JSON.parse((await person().run(['job', 'nodes', String(id), '--json'])).stdout) as object
  expect(answer).toMatchObject({ records })
})

it('a job that consists of no other jobs: 5, and the sentence of the service', async () => {
  const id = await product.launch('Plain')
  await product.waitForEnd(id)
  const { code, stdout, stderr } = await person().run(['job', 'nodes', String(id)])
  expect([code, stdout]).toEqual([5, ''])
  expect(stderr).toContain(`${id}`)
})

it('a terminal shows everything that follows a node, however much that is', async () => {
  const service = await startFakeService()
  try {
    const names = Array.from({ length: 20 }, (_, at) => `follower-${at}`)
    const node = {
      identifier: 'first',
      name: 'first.yml',
      type: 'job_template',
      all_parents: false,
      links: { success: names, failure: [], always: [] },
      status: 'waiting',
      reason: null,
      start: null,
      end: null,
      job: null,
    }
    service.override = () => ({ status: 200, body: { count: 1, records: [node] } })
    const script = newQuickPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
    const { stdout } = await script.run(['job', 'nodes', '12'], { terminal: true, columns: 80 })
    for (const name of names) expect(stripVTControlCharacters(stdout)).toMatch(new RegExp(`${name}\\b`))
  } finally {
    await service.stop()
  }
})

it('says that nothing is planned when the service names no node, and that a node waits for all before it', async () => {
  const service = await startFakeService()
  try {
    const script = newQuickPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
    service.override = () => ({ status: 200, body: { count: 0, records: [] } })
    expect((await script.run(['job', 'nodes', '12'])).stdout).toBe('Nothing of this job is planned.\n')
    const node = {
      identifier: 'ask',
      name: 'Go on?',
      type: 'workflow_approval_template',
      all_parents: true,
      links: { success: ['a', 'b'], failure: [], always: [] },
      status: 'waiting',
      reason: null,
      start: null,
      end: null,
      job: null,
    }
    service.override = () => ({ status: 200, body: { count: 1, records: [node] } })
    expect((await script.run(['job', 'nodes', '12'])).stdout).toMatch(
      /ask +waiting .*a and b after a success; it waits for all before it/,
    )
  } finally {
    await service.stop()
  }
})
