import type { Browser } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import { accessFaults, accessFaultsInAllColors } from './kit/axe.js'
import { type Person, newPerson, signInOn } from './kit/chromium.js'
import { startScene } from './kit/scene.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { gridAnswers } from './kit/grid-answers.js'

/** What the page of a job tells of the course of its run. One product, one job and one browser for all. */
const PLAYBOOK = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - name: Name the hosts
      ansible.builtin.add_host: {name: "{{ item }}", groups: web, ansible_connection: local}
      loop: [web1, web2, db1]
    - name: Plan
      ansible.builtin.debug: {var: site}
      vars:
        site: {racks: "{{ range(1, 151) | list }}", note: "{{ 'x' * 3000 }}", empty: [], street: {number: 7}}
- name: Servers
  hosts: web
  gather_facts: false
  tasks:
    - {name: Look, ansible.builtin.debug: {msg: all is well}}
    - {name: Check, ansible.builtin.assert: {that: inventory_hostname != 'web2', fail_msg: the disk is full}}
`
const FORM = `name: Check
type: ansible
roles: [default]
playbook: check.yml
fields: []
`
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: default, groups: []}
`

let product: Product
let browser: Browser
let admin: Person

beforeAll(async () => {
  const scene = await startScene({
    config: CONFIG,
    forms: { 'check.yml': FORM },
    playbooks: { 'check.yml': PLAYBOOK },
    users: { olga: ['web'] },
  })
  ;({ product, browser, admin } = scene)
  await product.waitForEnd(await product.launch('Check'))
  return scene.close
})

const open = (path: string) => admin.page.goto(`${product.address}${path}`)

test('with the keyboard alone one finds the failed task at its host, and reads its result', async () => {
  const { page } = admin
  await open('/jobs/1')
  await page.getByRole('link', { name: 'Hosts and tasks' }).press('Enter')
  const grid = page.getByRole('grid', { name: 'What came of each task at each host' })
  await grid.getByRole('gridcell', { name: 'Look at web1: ok' }).waitFor()
  expect(await grid.getByRole('gridcell', { name: 'Look at localhost: not run' }).count()).toBe(1)

  await page.getByRole('combobox', { name: 'Show' }).selectOption('failed')
  await page.getByText('1 task, 1 host', { exact: true }).waitFor()
  await grid.getByRole('gridcell', { name: 'Check at web2: failed' }).waitFor()
  expect(await grid.getByRole('gridcell').count()).toBe(1)
  expect(new URL(page.url()).search).toBe('?show=failed')

  await page.getByRole('combobox', { name: 'Show' }).selectOption('all')
  await grid.getByRole('gridcell', { name: 'Look at web1: ok' }).waitFor()
  await page.getByRole('searchbox', { name: 'Hosts with this in their name' }).fill('WEB')
  await grid.getByRole('columnheader', { name: 'db1' }).waitFor({ state: 'detached' })
  await page.keyboard.press('Tab')
  await page.keyboard.press('Control+End')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Check at web2' })
  await dialog.getByRole('region', { name: 'Message' }).getByText('the disk is full').waitFor()
  expect(await accessFaults(page)).toEqual([])
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(await admin.faults()).toEqual([])
})

test('a failed job says why, and leads to the place in its output, to the tasks, and to a good run', async () => {
  const { page } = admin
  await open('/jobs/1')
  const card = page.getByRole('region', { name: 'Why it failed' })
  await card.getByText('the disk is full').waitFor()
  expect(await card.getByRole('listitem').allInnerTexts()).toEqual([
    'the disk is full\nCheck · web2 (1 of 3 hosts)\nShow it in the output',
  ])
  expect(await accessFaultsInAllColors(page)).toEqual([])
  await card.getByRole('link', { name: 'Show it in the output' }).press('Enter')
  await page.getByText('fatal: [web2]').first().waitFor()
  expect(new URL(page.url()).hash).toMatch(/^#E\d+$/)
  await card.getByRole('link', { name: 'Show what failed' }).press('Enter')
  await page.getByText('1 task, 1 host', { exact: true }).waitFor()
  await card.getByRole('link', { name: 'Compare with the last good run' }).press('Enter')
  await page.getByText('No earlier run of this').waitFor()
  await page.setViewportSize({ width: 390, height: 800 })
  expect(await card.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0)
  await page.setViewportSize({ width: 1180, height: 720 })
  expect(await admin.faults()).toEqual([])
})

test('a result is a tree that one opens part by part, and large parts come bit by bit', async () => {
  const { page } = admin
  await open('/jobs/1/tasks')
  await page.getByRole('gridcell', { name: 'Plan at localhost: ok' }).click()
  const dialog = page.getByRole('dialog', { name: 'Plan at localhost' })
  // It has no text for people, so the tree is open.
  await dialog.getByText('site 4 entries').click()
  await dialog.getByText('empty: []').waitFor()
  await dialog.getByText('street 1 entry').click()
  await dialog.getByText('number: 7').waitFor()
  expect(await dialog.getByText('149: 150').count()).toBe(0)
  await dialog.getByText('racks 150 entries').click()
  await dialog.getByText('99: 100').waitFor()
  await dialog.getByRole('button', { name: 'Show 50 more' }).click()
  await dialog.getByText('149: 150').waitFor()
  expect((await dialog.innerText()).includes('x'.repeat(2001))).toBe(false)
  await dialog.getByRole('button', { name: 'Show all of it (3.0 kB)' }).click()
  await expect.poll(async () => (await dialog.innerText()).includes('x'.repeat(3000))).toBe(true)
  expect(await accessFaultsInAllColors(page)).toEqual([])
  await page.setViewportSize({ width: 320, height: 640 })
  expect(await dialog.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0)
  expect(await accessFaults(page)).toEqual([])
  await page.setViewportSize({ width: 1180, height: 720 })
  expect(await admin.faults()).toEqual([])
})

test('the timeline says what the job did, and which task took how long', async () => {
  const { page } = admin
  await open('/jobs/1/timeline')
  const tasks = page.getByRole('region', { name: 'Plays and tasks' })
  await tasks.getByRole('row', { name: /^Servers/ }).waitFor()
  await page.getByRole('region', { name: 'Status of the job' }).getByText('Failed').first().waitFor()
  // The first status counts, too: the job has it from its launch on, and it is what took the time.
  const running = page.getByRole('region', { name: 'Status of the job' }).getByRole('row', { name: /Running/ })
  expect(await running.getByText(/^[\d.]+ (s|min)/).count()).toBe(1)
  await page.getByRole('combobox', { name: 'Order' }).selectOption('slowest')
  await tasks.getByRole('row', { name: /^Servers/ }).waitFor({ state: 'detached' })
  expect(await tasks.getByRole('row', { name: /^Check .* s$/ }).count()).toBe(1)
  expect(await admin.faults()).toEqual([])
})

test.each([
  ['/jobs/1/tasks', 'gridcell'],
  ['/jobs/1/timeline', 'cell'],
] as const)('%s is for everybody, also on small screens', async (path, role) => {
  await open(path)
  await admin.page.getByRole(role).first().waitFor()
  // Wide tables scroll by themselves.
  await expectForEverybody(admin.page)
})

test('of 1,000 hosts and 200 tasks only what is in sight is on the page', async () => {
  const { page } = admin
  const cells = Array.from({ length: 200 }, (_, task) => `${'o'.repeat(999)}${task === 199 ? 'f' : 'c'}`)
  const { matrix, outline } = gridAnswers(1000, cells)
  await page.route(/\/job\/1\/matrix/, (route) => route.fulfill({ json: matrix }))
  await page.route(/\/job\/1\/outline/, (route) => route.fulfill({ json: outline }))
  await open('/jobs/1/tasks')
  await page.getByText('200 tasks, 1,000 hosts').waitFor()
  await page.getByRole('gridcell', { name: 'Task 1 at host1: ok' }).waitFor()
  const elements = () => page.evaluate<number>('document.querySelectorAll("*").length')
  expect(await elements()).toBeLessThan(1500)
  await page.getByRole('grid').press('Control+End')
  await page.getByRole('gridcell', { name: 'Task 200 at host1000: failed' }).waitFor()
  await page.getByRole('gridcell', { name: 'Task 1 at host1: ok' }).waitFor({ state: 'detached' })
  expect(await elements()).toBeLessThan(1500)
  await page.unrouteAll({ behavior: 'ignoreErrors' })
})

test('a job that is not there, and one of another user, say so on every part of their page', async () => {
  const { page } = admin
  await open('/jobs/99/tasks')
  await page.getByText('Not found').waitFor()
  const olga = await newPerson(browser, product.address)
  await olga.page.goto(`${product.address}/jobs/1/timeline`)
  await signInOn(olga.page, 'olga', ADMIN_PASSWORD)
  await olga.page.getByText(/You may not see this|Not found/).waitFor()
  expect(await olga.page.getByText('Servers').count()).toBe(0)
  expect(await accessFaults(olga.page)).toEqual([])
  await olga.close()
})
