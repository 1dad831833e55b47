import { beforeAll, expect, test } from 'vitest'
import { type Product } from '../support/product.js'
import { runEvents } from '../support/run-events.js'
import type { ScriptedRunner } from '../support/scripted-runner.js'
import { workflowForm, workflowText } from '../support/workflow-text.js'
import { accessFaults } from './kit/axe.js'
import { type Person } from './kit/chromium.js'
import { startScriptedScene } from './kit/scene.js'
import { expectForEverybody } from './kit/for-everybody.js'

/** The steps and nodes of a job that consists of other jobs. One product and one browser for all. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: default, groups: []}
`
const STEPS = JSON.stringify({
  name: 'steps',
  type: 'multistep',
  roles: ['default'],
  fields: [],
  steps: [
    { name: 'first', playbook: 'steps/first.yml', continue: true },
    { name: 'second', playbook: 'steps/second.yml' },
  ],
})

let product: Product
let runner: ScriptedRunner
let admin: Person

beforeAll(async () => {
  const scene = await startScriptedScene({
    config: CONFIG,
    forms: { 'way.yml': workflowForm('way'), 'ask.yml': workflowForm('ask'), 'steps.yml': STEPS },
    workflows: {
      'ask.yml': workflowText('ask', {
        build: { success: ['review'] },
        review: {
          approval: { title: 'Deploy?', message: 'Is the version <b>good</b>?', roles: ['default'], allowSelf: true },
          success: ['live'],
        },
        live: {},
      }),
      'way.yml': workflowText('way', {
        build: { success: ['check'], failure: ['tell'] },
        check: { success: ['live'], failure: ['tell'] },
        live: { always: ['clean'] },
        tell: {},
        clean: {},
      }),
    },
  })
  ;({ product, runner, admin } = scene)
  return scene.close
})

test('the graph of a workflow goes with the workflow, and leads to the job of each node', async () => {
  const { page } = admin
  runner.scripts.set('way/build.yml', { holds: true })
  runner.scripts.set('way/check.yml', { exit: 2 })
  const id = await product.launch('way')
  await page.goto(`${product.address}/jobs/${id}`)
  await page.getByRole('link', { name: 'Steps' }).press('Enter')
  const graph = page.getByRole('region', { name: 'Graph of 5 steps' })
  const nodeOf = (text: string) => graph.getByRole('listitem').filter({ hasText: text })
  await nodeOf('build').getByText('Running').waitFor()
  await nodeOf('live').getByText('Waiting').waitFor()
  expect(await graph.getByRole('button').count()).toBe(5)

  // In columns: each node to the right of what it follows.
  const leftOf = async (name: string) => (await nodeOf(name).boundingBox())?.x ?? 0
  const lefts = await Promise.all(['build', 'check', 'live', 'clean'].map(leftOf))
  expect(lefts).toEqual(lefts.toSorted((one, other) => one - other))
  expect(new Set(lefts).size).toBe(4)
  expect(await leftOf('tell')).toBe(lefts[2])
  expect(await graph.locator('svg g').count()).toBe(5)

  // The page changes by itself.
  await runner.release('way/build.yml')
  await nodeOf('tell').getByText('Successful').waitFor()
  await nodeOf('check').getByText('Failed').waitFor()
  await nodeOf('live').getByText('Does not run').waitFor()
  expect(await graph.locator('svg g.fired').count()).toBe(2)
  expect(await graph.locator('svg g.missed').count()).toBe(3)

  const list = page.getByRole('region', { name: 'As a list' })
  await list
    .getByRole('row', { name: /^check way\/check\.yml Failed.*live after a success; tell after a failure/ })
    .waitFor()

  // A node opens all about it, and from there its job.
  await nodeOf('check')
    .getByRole('button', { name: /^check/ })
    .press('Enter')
  const drawer = page.getByRole('dialog', { name: 'Step check' })
  await drawer.getByText('way/check.yml', { exact: true }).waitFor()
  // The drawer is whole when the node's own answer is there.
  await drawer.getByRole('region', { name: 'Extra variables' }).waitFor()
  await drawer.getByText(/^\S?\s*Failed$/).waitFor()
  expect(await accessFaults(page)).toEqual([])
  await page.keyboard.press('Escape')
  await drawer.waitFor({ state: 'detached' })
  expect(await page.evaluate('document.activeElement.textContent')).toContain('check')
  await page.keyboard.press('Enter')
  await drawer.getByRole('link', { name: /^Job \d+$/ }).press('Enter')
  await page.getByRole('link', { name: `Job ${id}` }).waitFor()
  await page.getByRole('link', { name: 'Hosts and tasks' }).waitFor()
  expect(await page.getByRole('link', { name: 'Steps' }).count()).toBe(0)
  expect(await admin.faults()).toEqual([])
})

test('an approval of a workflow is given or rejected at its node', async () => {
  const { page } = admin
  runner.scripts.set('ask/build.yml', { stats: { version: '4.2' } })
  const [good, bad] = [await product.launch('ask'), await product.launch('ask')]
  const drawerOf = (name: string) => page.getByRole('dialog', { name: `Step ${name}` })
  const openNode = async (id: number, name: string) => {
    await page.goto(`${product.address}/jobs/${id}/nodes`)
    const graph = page.getByRole('region', { name: 'Graph of 3 steps' })
    await graph.getByRole('listitem').filter({ hasText: 'Waiting for approval' }).waitFor()
    await graph.getByRole('button', { name: new RegExp(`^${name}`) }).click()
    return drawerOf(name)
  }

  const drawer = await openNode(good, 'review')
  await drawer.getByText('Is the version good?').waitFor()
  await drawer.getByText('These roles may approve it: default').waitFor()
  expect(await accessFaults(page)).toEqual([])
  await drawer.getByRole('button', { name: 'Approve' }).click()
  await drawer.getByText(/^Approved by admin/).waitFor()
  await drawer.getByText('Successful').waitFor()
  expect(await drawer.getByRole('button', { name: 'Approve' }).count()).toBe(0)
  await drawer.getByRole('button', { name: 'Close' }).click()
  await product.waitForEnd(good)
  const node = page.getByRole('region', { name: 'Graph of 3 steps' }).getByRole('button', { name: /^build/ })
  await node.click()
  expect(await drawerOf('build').getByRole('region', { name: 'Published values' }).innerText()).toContain('4.2')

  const rejected = await openNode(bad, 'review')
  await rejected.getByRole('button', { name: 'Reject' }).click()
  await page
    .getByRole('dialog', { name: `Reject job ${bad}?` })
    .getByRole('button', { name: 'Reject' })
    .click()
  await rejected.getByText(/^Rejected by admin/).waitFor()
  expect((await product.waitForEnd(bad)).status).toBe('rejected')
  expect(await admin.faults()).toEqual([])
})

test('the steps of a multistep job are a chain', async () => {
  const { page } = admin
  runner.scripts.set('steps/first.yml', { exit: 2 })
  const id = await product.launch('steps')
  await product.waitForEnd(id)
  await page.goto(`${product.address}/jobs/${id}/nodes`)
  const list = page.getByRole('region', { name: 'As a list' })
  await list.getByRole('row', { name: /^first steps\/first\.yml Failed.*second after either/ }).waitFor()
  await list.getByRole('row', { name: /^second steps\/second\.yml Successful –/ }).waitFor()
  await page.getByRole('button', { name: /^first/ }).press('Enter')
  const drawer = page.getByRole('dialog', { name: 'Step first' })
  await drawer.getByText('steps/first.yml').waitFor()
  await drawer.getByRole('link', { name: /^Job \d+$/ }).waitFor()
  expect(await admin.faults()).toEqual([])
})

test('the list of jobs tells what is left of those that run, also of one that consists of other jobs', async () => {
  const { page } = admin
  const taking = (seconds: number) => runEvents([{ name: 'the task', at: 0, hosts: { web1: ['ok', seconds] } }])
  runner.scripts.set('steps/first.yml', { events: taking(40) })
  runner.scripts.set('steps/second.yml', { events: taking(2000) })
  await product.waitForEnd(await product.launch('steps'))
  runner.scripts.set('steps/first.yml', { events: taking(40), holds: true })
  const id = await product.launch('steps')
  await page.goto(`${product.address}/jobs`)
  const row = page.getByRole('row', { name: new RegExp(`^${id} Running`) })
  await row.getByText('about 34 min left').waitFor()
  await row.getByRole('progressbar', { name: 'Time left' }).waitFor()
  expect(await accessFaults(page)).toEqual([])
  await page.goto(`${product.address}/jobs/${id}`)
  await page.getByText('about 34 min left').waitFor()

  // Nothing changes while a task goes on, but less and less is left of it.
  for (const path of ['/jobs', `/jobs/${id}`]) {
    const tab = await admin.newTab()
    await tab.clock.install()
    await tab.goto(`${product.address}${path}`)
    await tab.getByText('about 34 min left').waitFor()
    const again = tab.waitForRequest((request) => /\/api\/v2\/job[/?]/.test(request.url()))
    await tab.clock.runFor(16_000)
    await again
    await tab.close()
  }
  await product.admin.post(`/job/${id}/abort`)
  await product.waitForEnd(id)
  expect(await admin.faults()).toEqual([])
})

test('the graph is for everybody, also on small screens', async () => {
  await admin.page.goto(`${product.address}/jobs/1/nodes`)
  await admin.page.getByRole('region', { name: 'Graph of 5 steps' }).waitFor()
  // The graph and its list scroll by themselves.
  await expectForEverybody(admin.page)
})

test('a node whose job waits for a runner is queued, and its time does not count yet', async () => {
  const { page } = admin
  await runner.leave()
  const id = await product.launch('way')
  await page.goto(`${product.address}/jobs/${id}/nodes`)
  const graph = page.getByRole('region', { name: 'Graph of 5 steps' })
  await graph.getByRole('listitem').filter({ hasText: 'build' }).getByText('Queued').waitFor()
  const list = page.getByRole('region', { name: 'As a list' })
  await list.getByRole('row', { name: /^build way\/build\.yml Queued.* – \d+$/ }).waitFor()
  await graph.getByRole('button', { name: /^build/ }).click()
  await page.getByRole('dialog', { name: 'Step build' }).getByText('Queued').waitFor()
  expect(await page.getByText('Running', { exact: true }).count()).toBe(0)
  await product.admin.post(`/job/${id}/abort`)
  await product.waitForEnd(id)
  expect(await admin.faults()).toEqual([])
})
