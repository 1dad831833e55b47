import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Locator } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { gatedForm, gatedPlaybook, gatesIn } from '../support/gated-playbook.js'
import { type Product } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { accessFaults } from './kit/axe.js'
import { type Person } from './kit/chromium.js'
import { startScene } from './kit/scene.js'
import { expectForEverybody } from './kit/for-everybody.js'

/** The timeline of a job, with real playbooks: bars, zoom, folded times, and what the job itself did. */

/** Between the first and the second play nothing runs: ansible works out for which hosts the second is. */
const PLAYBOOK = `- name: First
  hosts: all
  gather_facts: false
  tasks:
    - {name: Look, ansible.builtin.debug: {msg: all is well}}
- name: Second
  hosts: "{{ lookup('ansible.builtin.pipe', 'sleep 4; echo all') }}"
  gather_facts: false
  tasks:
    - name: Work
      ansible.builtin.raw: sleep 1
      when: inventory_hostname == 'web1'
    - {name: Check, ansible.builtin.assert: {that: inventory_hostname != 'db1', fail_msg: the disk is full}}
`
const form = (name: string, more = '') => `name: ${name}
type: ansible
roles: [default]
playbook: site.yml
inventory: web1,db1,
fields: [{name: ansible_connection, default: local}]
${more}`
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: default, groups: []}
`

let folder: string
let product: Product
let admin: Person
let site: number

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-gates-'))
  const scene = await startScene({
    config: CONFIG,
    forms: {
      'site.yml': form('Site'),
      'asked.yml': form('Asked', 'approval: {message: Look, roles: [default], allowSelf: true}'),
      'gated.yml': gatedForm('gated'),
    },
    playbooks: { 'site.yml': PLAYBOOK, 'gated.yml': gatedPlaybook(folder, 1) },
    controlPlane: { RTE_LOST_SECONDS: '1' },
  })
  ;({ product, admin } = scene)
  site = await product.launch('Site', { ansible_connection: 'local' })
  await product.waitForEnd(site)
  return async () => {
    await scene.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

const openTimeline = (id: number) => admin.page.goto(`${product.address}/jobs/${id}/timeline`)
const tasks = () => admin.page.getByRole('region', { name: 'Plays and tasks' })
const states = () => admin.page.getByRole('region', { name: 'Status of the job' })
const button = (name: string) => admin.page.getByRole('button', { name, exact: true })
/** How many times as wide as the region its content is. */
const widthOf = (region: Locator) => region.evaluate((element) => element.scrollWidth / element.clientWidth)

test('there is a bar for each host, slowest first or in order, and it leads to the output', async () => {
  const { page } = admin
  await openTimeline(site)
  await page.getByRole('combobox', { name: 'Rows' }).selectOption('By host')
  await tasks().getByRole('columnheader', { name: 'Host' }).waitFor()
  const rows = tasks().getByRole('row', { name: /^(web1|db1) / })
  await waitFor('both hosts', async () => (await rows.count()) === 2)
  // Both began together. Only web1 has the long task.
  await page.getByRole('combobox', { name: 'Order' }).selectOption('Slowest first')
  await waitFor('web1 to be first', async () => (await rows.first().innerText()).startsWith('web1'))
  // In the pause between the plays no host was at a task.
  expect(await rows.first().locator('.bar').count()).toBeGreaterThan(1)
  expect(await tasks().locator('.bar.bad').count()).toBeGreaterThan(0)
  expect(await rows.nth(1).locator('.bar.bad').count()).toBeGreaterThan(0)
  expect(await accessFaults(page)).toEqual([])
  // A name keeps its line when the bars need more room.
  await button('Zoom in').click()
  await waitFor('a larger table', async () => (await widthOf(tasks())) > 1)
  expect((await tasks().getByRole('link', { name: 'web1' }).boundingBox())?.height).toBeLessThan(30)
  await button('Show all').click()
  await tasks().getByTitle('All output of db1').click()
  await page.getByText('Only what was printed for db1.').waitFor()

  await openTimeline(site)
  await tasks().getByTitle('Output of Check').click()
  await page.waitForURL(/#L\d+$/)
  await page
    .getByText(/TASK \[Check\]/)
    .first()
    .waitFor()
  expect(await admin.faults()).toEqual([])
})

test('buttons and keys zoom; the axis follows, and only the table scrolls', async () => {
  const { page } = admin
  await openTimeline(site)
  await tasks()
    .getByRole('row', { name: /^Check/ })
    .waitFor()
  const marks = () => tasks().locator('.axis span').count()
  const before = await marks()
  expect(await button('Zoom out').getAttribute('aria-disabled')).toBe('true')
  for (let turn = 0; turn < 3; turn += 1) await button('Zoom in').click()
  await waitFor('more marks', async () => (await marks()) > before)
  expect(await widthOf(tasks())).toBeGreaterThan(2)
  expect(await widthOf(states())).toBeGreaterThan(2)
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(1180)
  // What was in the middle stays there.
  const middle = () =>
    tasks().evaluate((element) => (element.scrollLeft + element.clientWidth / 2) / element.scrollWidth)
  expect(await middle()).toBeGreaterThan(0.3)
  expect(await middle()).toBeLessThan(0.8)
  await page.keyboard.press('Tab')
  await tasks().press('-')
  await waitFor('a smaller table', async () => (await widthOf(tasks())) < 4)
  await tasks().press('0')
  await waitFor('all of it', async () => (await widthOf(tasks())) === 1)
  await tasks().press('+')
  await waitFor('a larger table', async () => (await widthOf(tasks())) > 1)
  await button('Show all').click()
  await waitFor('all of it again', async () => (await widthOf(tasks())) === 1)
  expect(await admin.faults()).toEqual([])
})

test('a time in which nothing ran is short and says how long it was, until one wants to see it', async () => {
  const { page } = admin
  await openTimeline(site)
  const folded = page.getByText(/Folded: [\d.]+ s from .*, in which nothing ran\./)
  await folded.first().waitFor()
  await tasks()
    .getByText(/^⋯ [\d.]+ s$/)
    .first()
    .waitFor()
  const bar = tasks().getByRole('row', { name: /^Work/ }).locator('.bar')
  const widthOfBar = async () => (await bar.boundingBox())?.width ?? 0
  const wide = await widthOfBar()
  await page.getByRole('checkbox', { name: 'Fold times in which nothing ran' }).press('Space')
  await folded.first().waitFor({ state: 'detached' })
  expect(await widthOfBar()).toBeLessThan(wide)
  expect(await tasks().getByText('⋯').count()).toBe(0)
  expect(await admin.faults()).toEqual([])
})

test('the wait for an approval is folded in what the job itself did', async () => {
  const id = await product.launch('Asked', { ansible_connection: 'local' })
  const { start } = await product.admin.get<{ start: string }>(`/job/${id}?output=false`)
  // So long that it is a good part of the whole.
  await waitFor('the job to have waited', () => Date.now() - Date.parse(start) > 3000)
  await product.admin.post(`/job/${id}/approve`)
  await product.waitForEnd(id)
  await openTimeline(id)
  await states()
    .getByRole('row', { name: /Waiting for approval/ })
    .waitFor()
  await states()
    .getByText(/^⋯ [\d.]+ s$/)
    .first()
    .waitFor()
  await states()
    .getByRole('row', { name: /^Offered to the runner/ })
    .waitFor()
  await states()
    .getByRole('row', { name: /^At the runner test-runner .* s$/ })
    .waitFor()
  expect(
    await states()
      .getByRole('row', { name: /^Waiting for a place/ })
      .count(),
  ).toBe(0)
})

test('an abandoned job is hatched until its real outcome, and so is the absence of its runner', async () => {
  const { page } = admin
  const id = await product.launch('gated')
  const gates = gatesIn(folder)
  await waitFor('the playbook to be at its gate', () => gates.isReached())
  await openTimeline(id)
  await states()
    .getByRole('row', { name: /^At the runner test-runner/ })
    .waitFor()

  // The playbook goes on without its agent.
  await product.agent.stop('SIGKILL')
  const abandoned = states().getByRole('row', { name: /Abandoned the runner 'test-runner' has been silent since/ })
  await abandoned.waitFor()
  const absent = states().getByRole('row', { name: /^The runner test-runner was not connected/ })
  await absent.waitFor()
  const hatchOf = (row: Locator) =>
    row.locator('.bar').evaluate((bar) => bar.ownerDocument.defaultView?.getComputedStyle(bar).backgroundImage)
  for (const row of [abandoned, absent]) expect(await hatchOf(row)).toContain('repeating-linear-gradient')
  // It is not over: the span grows.
  expect(await abandoned.getByText('–', { exact: true }).count()).toBe(0)
  expect(
    await states()
      .getByRole('row', { name: /Successful/ })
      .count(),
  ).toBe(0)

  product.startAgent()
  gates.open()
  await states()
    .getByRole('row', { name: /Successful/ })
    .waitFor()
  for (const row of [abandoned, absent]) {
    await row.getByText(/^[\d.]+ (s|min)/).waitFor()
    expect(await hatchOf(row)).toContain('repeating-linear-gradient')
  }
  expect(
    await states()
      .getByRole('row', { name: /^At the runner test-runner/ })
      .count(),
  ).toBe(1)
  const { stages, history } = await product.admin.get<{
    stages: { state: string; since: string; until: string }[]
    history: { to: string; time: string }[]
  }>(`/job/${id}?output=false`)
  expect(stages.map(({ state }) => state)).toEqual(['queued', 'offered', 'claimed', 'lost'])
  const lost = stages.at(-1)
  expect(Date.parse(lost?.until ?? '') - Date.parse(lost?.since ?? '')).toBeGreaterThanOrEqual(1000)
  expect(history.map(({ to }) => to)).toEqual(['abandoned', 'success'])
  expect(await accessFaults(page)).toEqual([])
  expect(await admin.faults()).toEqual([])
})

test('the timeline by hosts is for everybody, also on small screens', async () => {
  await openTimeline(site)
  await admin.page.getByRole('combobox', { name: 'Rows' }).selectOption('By host')
  await tasks().getByRole('row', { name: /^db1/ }).waitFor()
  await button('Zoom in').click()
  await expectForEverybody(admin.page)
})
