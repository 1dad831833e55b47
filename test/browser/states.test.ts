import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Locator, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { accessFaults } from './kit/axe.js'
import { type Person, newPerson, signInOn, startChromium } from './kit/chromium.js'
import { expectForEverybody } from './kit/for-everybody.js'

/** What pages say in less usual states: something has changed meanwhile, something is not allowed, or did not work. */
const FORMS = {
  'ask.yml': `name: Ask
type: ansible
roles: [default]
playbook: ask.yml
approval: {title: Go on?, roles: [deciders]}
fields: []
`,
  'lost.yml': `name: Lost
type: ansible
roles: [default]
playbook: ask.yml
runner: nowhere
fields: []
`,
  'steps.yml': `name: Steps
type: multistep
roles: [default]
approval: {title: Begin?, roles: [deciders]}
fields: []
steps:
  - {name: first, type: ansible, playbook: ask.yml}
  - {name: second, type: ansible, playbook: ask.yml, runner: nowhere}
`,
  'server.yml': `- name: Server
  type: ansible
  roles: [default]
  playbook: ask.yml
  fields:
    - {name: why, label: Reason}
    - {name: host, label: Host, group: The machine}
    - {name: ram, label: Memory, group: The machine}
    - {name: ip, label: Address, group: The network}
- name: Guided
  type: ansible
  roles: [default]
  playbook: ask.yml
  fields: []
  wizard:
    - {name: one, subform: One, title: The first things, help: Only short names}
    - {name: two, subform: Two}
- name: One
  type: subform
  fields: [{name: short, label: Short name}]
- name: Two
  type: subform
  fields: [{name: size, label: Size}]
`,
}
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: deciders, groups: [local/admins]}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: default, groups: []}
`

let product: Product
let runner: ScriptedRunner
let browser: Browser
let admin: Person
let page: Page

beforeAll(async () => {
  ;[browser, product] = await Promise.all([
    startChromium(),
    startProduct({ config: CONFIG, forms: FORMS, playbooks: { 'ask.yml': '[]\n' }, withAgent: false }),
  ])
  runner = await ScriptedRunner.join(product, 'scripted')
  await product.admin.post('/user', { username: 'wanda', password: ADMIN_PASSWORD, groups: ['watchers'] })
  admin = await newPerson(browser, product.address)
  ;({ page } = admin)
})
afterAll(async () => {
  await browser?.close()
  await runner?.leave()
  await product?.close()
})

const open = (path: string, on = page) => on.goto(`${product.address}${path}`)
const backgroundOf = (element: Locator) =>
  element.evaluate((one) => String(one.ownerDocument.defaultView?.getComputedStyle(one).backgroundColor))

test('what did not work is said as such, and not as a page that could not be loaded', async () => {
  await open('/jobs')
  await page.getByLabel('Username').fill('admin')
  await page.getByLabel('Password').fill('another password')
  await page.getByRole('button', { name: 'Sign in', exact: true }).click()
  const said = page.getByRole('alert')
  await said.getByText('The username or the password is wrong.').waitFor()
  expect(await said.getByText('That did not work').count()).toBe(1)
  await signInOn(page, 'admin', ADMIN_PASSWORD)
})

test('what changed while a job waited is approved only by a second button that says so', async () => {
  const id = await product.launch('Ask')
  await open(`/jobs/${id}`)
  const approve = page.getByRole('button', { name: 'Approve', exact: true })
  await approve.waitFor()

  // Who may not press the button sees that at once.
  const wanda = await newPerson(browser, product.address)
  await open(`/jobs/${id}`, wanda.page)
  await signInOn(wanda.page, 'wanda', ADMIN_PASSWORD)
  const hers = wanda.page.getByRole('button', { name: 'Approve', exact: true })
  expect(await hers.getAttribute('title')).toBe('None of your roles may decide about it')
  await page.mouse.move(0, 0)
  expect(await backgroundOf(hers)).not.toBe(await backgroundOf(approve))
  // Only admins may see the runners, so nobody else is sent there.
  expect(await wanda.page.getByRole('link', { name: 'Runners' }).count()).toBe(0)
  expect(await page.getByRole('link', { name: 'Runners' }).count()).toBe(1)

  writeFileSync(join(product.folder, 'persistent/playbooks/ask.yml'), '- hosts: all\n')
  await approve.click()
  await page.getByRole('alert').getByText('This has changed: the playbook folder.').waitFor()
  await page.getByRole('button', { name: 'Approve what is there now' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Approve what is there now' }).click()
  await page.getByText(/^Approved by admin,/).waitFor()
  await product.waitForEnd(id)
  expect([await admin.faults(), await wanda.faults()]).toEqual([[], []])
  await wanda.close()
})

test('who decides about a job reads where it will run, on its page and in the list of approvals', async () => {
  const [plain, steps] = [await product.launch('Ask'), await product.launch('Steps')]
  for (const path of ['/approvals', `/jobs/${plain}`]) {
    await open(path)
    await page.getByText('Will run on scripted', { exact: true }).waitFor()
  }
  for (const path of ['/approvals', `/jobs/${steps}`]) {
    await open(path)
    const text = 'Will run on the default runner (scripted): first; nowhere: second'
    await page.getByText(text, { exact: true }).waitFor()
  }
  for (const id of [plain, steps]) await product.admin.post(`/job/${id}/reject`)
  await page.getByText(/^Rejected by admin/).waitFor()
  expect(await page.getByText('Will run on').count()).toBe(0)
})

test('who is not signed in reads the announcement', async () => {
  const changed = await product.admin.request('PUT', '/settings/appearance', { announcement: 'It stops at noon' })
  expect(changed.status).toBe(200)
  const guest = await newPerson(browser, product.address)
  await open('/jobs', guest.page)
  await guest.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await guest.page.getByText('It stops at noon').waitFor()
  await expectForEverybody(guest.page)
  await signInOn(guest.page, 'wanda', ADMIN_PASSWORD)
  await guest.page.getByText('It stops at noon').waitFor()
  expect(await guest.page.getByText('It stops at noon').count()).toBe(1)
  await product.admin.request('PUT', '/settings/appearance', { announcement: '' })
  await guest.page.getByText('It stops at noon').waitFor({ state: 'detached' })
  expect(await guest.faults()).toEqual([])
  await guest.close()
})

test('fields of a group stand together under its name, and a step of a wizard has its title and its help', async () => {
  await open('/forms/Server')
  const machine = page.getByRole('group', { name: 'The machine' })
  await machine.getByLabel('Host').waitFor()
  expect(await machine.getByRole('textbox').count()).toBe(2)
  expect(await page.getByRole('group', { name: 'The network' }).getByRole('textbox').count()).toBe(1)
  expect(await page.getByRole('group').getByLabel('Reason').count()).toBe(0)
  expect(await accessFaults(page)).toEqual([])

  await open('/forms/Guided')
  await page.getByText('Step 1 of 2: The first things').waitFor()
  await page.getByText('Only short names').waitFor()
  await page.getByRole('button', { name: 'Next' }).click()
  await page.getByText('Step 2 of 2: two').waitFor()
})

test('why a form cannot run is said before anybody opens what would run', async () => {
  await open('/forms/Lost')
  const problem = page.getByRole('main').getByText(/'nowhere'/)
  await problem.waitFor({ state: 'visible' })
  expect(
    await page
      .getByRole('group')
      .filter({ hasText: 'What will run' })
      .getByText(/'nowhere'/)
      .count(),
  ).toBe(0)
})

test('times are shown in a zone that the page names', async () => {
  const elsewhere = await newPerson(browser, product.address, { timezoneId: 'Asia/Tokyo' })
  await open('/me', elsewhere.page)
  await signInOn(elsewhere.page, 'admin', ADMIN_PASSWORD)
  const zone = elsewhere.page.getByRole('combobox', { name: 'Time zone of all times' })
  await zone.getByText('As this browser: Asia/Tokyo').waitFor({ state: 'attached' })
  expect(await zone.inputValue()).toBe('')
  const title = await elsewhere.page.locator('time').first().getAttribute('title')
  expect(title).toMatch(/GMT\+9$/)
  await elsewhere.close()
})

test('a form says how the last run of who looks ended, and forms that they mark stand first', async () => {
  const id = await product.launch('Ask')
  await product.admin.post(`/job/${id}/reject`)
  await open('/forms')
  const tile = page.getByRole('listitem').filter({ has: page.getByRole('link', { name: 'Ask', exact: true }) })
  await tile.getByRole('link', { name: /^Rejected/ }).waitFor()
  const headings = () => page.getByRole('heading', { level: 2 }).allInnerTexts()
  expect(await headings()).toEqual(['Default'])
  await page.getByRole('button', { name: 'Favourite: Lost' }).click()
  await expect.poll(headings).toEqual(['Favourites', 'Default'])
  await page.reload()
  await page.getByRole('link', { name: 'Lost', exact: true }).first().waitFor()
  expect(await headings()).toEqual(['Favourites', 'Default'])
  expect(await accessFaults(page)).toEqual([])
  await page.getByRole('button', { name: 'Favourite: Lost', pressed: true }).first().click()
  await expect.poll(headings).toEqual(['Default'])
  await tile.getByRole('link', { name: /^Rejected/ }).click()
  await page.getByRole('heading', { name: `Job ${id}` }).waitFor()
  expect(await admin.faults()).toEqual([])
})

test('who is signed in at several places ends all the others at once', async () => {
  const people = await Promise.all([1, 2, 3].map(() => newPerson(browser, product.address)))
  for (const { page: tab } of people) {
    await open('/me', tab)
    await signInOn(tab, 'wanda', ADMIN_PASSWORD)
  }
  const [first, ...others] = people.map(({ page: tab }) => tab)
  await first?.reload()
  await first?.getByRole('button', { name: 'End all others' }).click()
  await first?.getByRole('dialog').getByRole('button', { name: 'End all others' }).click()
  for (const tab of others) await tab.getByRole('heading', { name: 'Your session is over' }).waitFor()
  await first?.getByRole('button', { name: 'End all others' }).waitFor({ state: 'detached' })
  expect(await first?.getByText('this browser', { exact: true }).count()).toBe(1)
  for (const person of people) await person.close()
})
