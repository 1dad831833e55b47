import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { parse } from 'yaml'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import type { ScriptedRunner } from '../support/scripted-runner.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { type Person, newPerson, signInOn } from './kit/chromium.js'
import { startScriptedScene } from './kit/scene.js'

/** What one does to jobs without leaving their list, and what one copies of them. A job of `Hold` runs until somebody aborts it. */
const form = (name: string, playbook: string) => `name: ${name}
type: ansible
roles: [default]
playbook: ${playbook}
fields: [{name: host, label: Host}]
`
const FORMS = {
  'hold.yml': form('Hold', 'hold.yml'),
  'turns.yml': `${form('Turns', 'hold.yml')}concurrency: {group: turns}\n`,
  'plain.yml': form('Plain', 'plain.yml'),
}
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: default, groups: []}
`

let product: Product
let runner: ScriptedRunner
let browser: Browser
let admin: Person
let page: Page

beforeAll(async () => {
  const scene = await startScriptedScene({
    config: CONFIG,
    forms: FORMS,
    users: { wanda: ['watchers'] },
    browserSettings: { permissions: ['clipboard-read', 'clipboard-write'] },
  })
  ;({ product, runner, browser, admin, page } = scene)
  runner.scripts.set('hold.yml', { holds: true })
  return scene.close
})

const open = (path: string, on = page) => on.goto(`${product.address}${path}`)
const rowOf = (id: number, on = page) => on.getByRole('row', { name: new RegExp(`^${id} `) })
const opener = (id: number, on = page) => on.getByRole('button', { name: `Actions for job ${id}` })
const menuOf = (id: number, on = page) => on.getByRole('group', { name: `Actions for job ${id}` })
const inMenu = (id: number, name: string, on = page) => menuOf(id, on).getByRole('button', { name, exact: true })
const copied = () => page.evaluate<string>('navigator.clipboard.readText()')

test('with the keyboard alone one aborts a job in the list, and is where one was', async () => {
  const id = await product.launch('Hold')
  await open('/jobs')
  const placeOf = async () => {
    // Not its height: the job says meanwhile where it is, in more or fewer lines.
    const { x, y, width } = (await rowOf(id).boundingBox()) ?? {}
    return { x, y, width }
  }
  const before = await placeOf()
  await opener(id).press('Enter')
  await inMenu(id, 'Abort').waitFor()
  // The menu lies over the list: nothing has moved.
  expect(await placeOf()).toEqual(before)
  await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: `Abort job ${id}?` })
  await dialog.waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await expect.poll(() => inMenu(id, 'Abort').evaluate((one) => one.matches(':focus'))).toBe(true)

  await page.keyboard.press('Enter')
  await dialog.getByRole('button', { name: 'Abort' }).press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await rowOf(id)
    .getByText(/^\S?\s*Aborted$/)
    .waitFor()
  await inMenu(id, 'Copy link').waitFor({ state: 'detached' })
  await expect.poll(() => opener(id).evaluate((one) => one.matches(':focus'))).toBe(true)
  expect(new URL(page.url()).pathname).toBe('/jobs')
  expect(await admin.faults()).toEqual([])
})

test('a job that waits for a place is shown as queued with its turn, and has no duration', async () => {
  const [first, second, third] = [
    await product.launch('Turns'),
    await product.launch('Turns'),
    await product.launch('Turns'),
  ]
  await open('/jobs')
  await rowOf(first)
    .getByText(/Running$/)
    .waitFor()
  await rowOf(second).getByText('Queued 1st').waitFor()
  await rowOf(third).getByText('Queued 2nd').waitFor()
  const durations = page.locator('td:nth-child(6)')
  expect(await rowOf(third).locator(durations).innerText()).toBe('–')
  await page.getByRole('link', { name: 'Running', exact: true }).click()
  await rowOf(third).waitFor({ state: 'detached' })
  await rowOf(first).waitFor()
  await page.getByRole('link', { name: 'Queued', exact: true }).click()
  await rowOf(first).waitFor({ state: 'detached' })
  await rowOf(third).waitFor()
  await expectForEverybody(page)
  await open(`/jobs/${third}`)
  await page.getByText('Queued 2nd').waitFor()
  await page.getByText('Waits for', { exact: true }).waitFor()
  expect(await page.getByText('Duration', { exact: true }).count()).toBe(0)
  for (const id of [third, second, first]) await product.admin.post(`/job/${id}/abort`, {})
  expect(await admin.faults()).toEqual([])
})

test('a job is run again in the list, which stays open; what did not work is said where one pressed', async () => {
  const id = await product.launch('Plain', { host: 'web1' })
  await product.waitForEnd(id)
  await open('/jobs')
  await opener(id).click()
  await inMenu(id, 'Run again').click()
  const dialog = page.getByRole('dialog', { name: `Run job ${id} again?` })
  await admin.context.setOffline(true)
  await dialog.getByRole('button', { name: 'Run again' }).click()
  await dialog.getByRole('alert').getByText('The control plane does not answer').waitFor()
  await admin.context.setOffline(false)
  await dialog.getByRole('button', { name: 'Run again' }).click()
  await dialog.waitFor({ state: 'detached' })
  await rowOf(id + 1).waitFor()
  expect(new URL(page.url()).pathname).toBe('/jobs')
  const again = await product.admin.get<{ extravars: object }>(`/job/${id + 1}?output=false`)
  expect(again.extravars).toMatchObject({ host: 'web1' })
  expect(await admin.faults()).toEqual([])
})

test('who may not abort a job reads why in its menu', async () => {
  const id = await product.launch('Hold')
  const wanda = await newPerson(browser, product.address)
  await open('/jobs', wanda.page)
  await signInOn(wanda.page, 'wanda', ADMIN_PASSWORD)
  await opener(id, wanda.page).click()
  const hers = inMenu(id, 'Abort', wanda.page)
  expect(await hers.getAttribute('aria-disabled')).toBe('true')
  expect(await hers.getAttribute('title')).toBe('It is the job of another user')
  await product.admin.post(`/job/${id}/abort`)
  expect(await wanda.faults()).toEqual([])
  await wanda.close()
})

test('a job that comes in moves no row while a menu is open', async () => {
  const id = await product.launch('Plain')
  await product.waitForEnd(id)
  await open('/jobs')
  await opener(id).click()
  await inMenu(id, 'Run again').waitFor()
  const placeOf = async () => {
    // Not its height: the job says meanwhile where it is, in more or fewer lines.
    const { x, y, width } = (await rowOf(id).boundingBox()) ?? {}
    return { x, y, width }
  }
  const before = await placeOf()
  const next = await product.launch('Plain')
  await page.getByRole('button', { name: '1 new job' }).waitFor()
  expect(await placeOf()).toEqual(before)
  await page.keyboard.press('Escape')
  await page.getByRole('button', { name: '1 new job' }).click()
  await rowOf(next).waitFor()
})

test('a link to a job is copied in the list and on its page', async () => {
  const id = await product.launch('Plain')
  await product.waitForEnd(id)
  const link = `${product.address}/jobs/${id}`
  await open('/jobs')
  await opener(id).click()
  await inMenu(id, 'Copy link').click()
  await inMenu(id, 'Copied').waitFor()
  expect(await copied()).toBe(link)
  await page.evaluate('navigator.clipboard.writeText("")')
  await open(`/jobs/${id}/values`)
  await page.getByRole('button', { name: 'Copy link' }).click()
  await page.getByRole('button', { name: 'Copied' }).waitFor()
  expect(await copied()).toBe(link)
})

test('the values of a job are copied as JSON and as YAML', async () => {
  const id = await product.launch('Plain', { host: 'no: "web1"\u2028' })
  await product.waitForEnd(id)
  await open(`/jobs/${id}/values`)
  const { extravars } = await product.admin.get<{ extravars: object }>(`/job/${id}?output=false`)
  const section = page.getByRole('region', { name: 'Extra variables' }).locator('..')
  await section.getByRole('button', { name: 'Copy as JSON' }).click()
  await section.getByRole('button', { name: 'Copied' }).waitFor()
  expect(JSON.parse(await copied())).toEqual(extravars)
  await section.getByRole('button', { name: 'Copy as YAML' }).click()
  await section.getByRole('button', { name: 'Copy as YAML' }).waitFor({ state: 'detached' })
  const text = await copied()
  expect(text).toContain('host: "no: ')
  expect(parse(text)).toEqual(extravars)
  expect(await admin.faults()).toEqual([])
})

test('who is no admin, or mistyped an address, reads that, with links to pages that are there', async () => {
  const wanda = await newPerson(browser, product.address)
  await open('/users', wanda.page)
  await signInOn(wanda.page, 'wanda', ADMIN_PASSWORD)
  await wanda.page.getByRole('heading', { name: 'Users' }).waitFor()
  await wanda.page.getByText('You may not see this').waitFor()
  const links = wanda.page.getByRole('main').getByRole('link')
  expect(await links.count()).toBe(0)
  await open('/nowhere/at/all', wanda.page)
  await wanda.page.getByRole('heading', { name: 'There is no such page' }).waitFor()
  expect(await links.allInnerTexts()).toEqual(['Jobs', 'Forms', 'Approvals', 'Schedules'])
  await expectForEverybody(wanda.page)
  await links.getByText('Jobs').click()
  await wanda.page.getByRole('heading', { name: 'Jobs' }).waitFor()
  await wanda.close()
})

test('the menu of a job is for everybody, also on small screens', async () => {
  const { records } = await product.admin.get<{ records: { id: number }[] }>('/job')
  const id = records[0]?.id ?? 0
  await open('/jobs')
  await opener(id).click()
  await inMenu(id, 'Copy link').waitFor()
  await expectForEverybody(page)
})
