import type { Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { type Product } from '../support/product.js'
import { type Person, userMenuOf } from './kit/chromium.js'
import { startScriptedScene } from './kit/scene.js'
import { expectForEverybody } from './kit/for-everybody.js'

/** What people choose for their browser on the page of their account. One product and one browser for all. */
const FORM = `name: Say
type: ansible
roles: [default]
playbook: say.yml
fields: []
`

let product: Product
let ada: Person
let page: Page
let job: number

beforeAll(async () => {
  const scene = await startScriptedScene({
    forms: { 'say.yml': FORM },
    playbooks: { 'say.yml': '- hosts: localhost\n' },
    browserSettings: { timezoneId: 'Asia/Tokyo' },
  })
  ;({ product, admin: ada, page } = scene)
  scene.runner.scripts.set('say.yml', { output: 'one line\n' })
  job = await product.launch('Say')
  await product.waitForEnd(job)
  return scene.close
})

const open = (path: string, at: Page = page) => at.goto(`${product.address}${path}`)
const titleOfTime = (at: Page = page) => at.locator('time').first().getAttribute('title')

test('all times are in the zone that somebody chooses, in every tab of the browser', async () => {
  await open('/me')
  const zone = page.getByRole('combobox', { name: 'Time zone of all times' })
  expect(await zone.locator('option:checked').textContent()).toBe('As this browser: Asia/Tokyo')
  await expect.poll(() => titleOfTime()).toMatch(/GMT\+9$/)
  const other = await ada.newTab()
  await open('/jobs', other)
  await expect.poll(() => titleOfTime(other)).toMatch(/GMT\+9$/)

  await zone.selectOption('UTC')
  await expect.poll(() => titleOfTime()).toMatch(/UTC$/)
  await expect.poll(() => titleOfTime(other)).toMatch(/UTC$/)
  const { start } = await product.admin.get<{ start: string }>(`/job/${job}?output=false`)
  expect(await titleOfTime(other)).toContain(start.slice(11, 19))

  await zone.selectOption('Australia/Darwin')
  await page.reload()
  await expect.poll(() => titleOfTime()).toMatch(/GMT\+9:30$/)
  await zone.selectOption('')
  await expect.poll(() => titleOfTime(other)).toMatch(/GMT\+9$/)
  await other.close()
})

test('a zone that this browser does not know is not used', async () => {
  await page.evaluate(`localStorage.setItem('holdfast-zone', 'Mars/Olympus')`)
  await page.reload()
  await expect.poll(() => titleOfTime()).toMatch(/GMT\+9$/)
  await page.evaluate(`localStorage.removeItem('holdfast-zone')`)
  await page.reload()
})

test('the chosen colours stay after the page is loaded again, and are the same in the header', async () => {
  const colours = page.getByRole('combobox', { name: 'Colours of the pages' })
  const shown = () => page.evaluate<string | null>('document.documentElement.dataset.theme ?? null')
  await colours.selectOption('Dark')
  await expect.poll(shown).toBe('dark')
  await page.reload()
  await expect.poll(() => colours.inputValue()).toBe('dark')
  expect(await shown()).toBe('dark')
  await userMenuOf(page, 'admin').click()
  const header = page.getByRole('banner').getByRole('combobox', { name: 'Colours' })
  expect(await header.inputValue()).toBe('dark')
  await header.selectOption('Auto')
  await expect.poll(() => colours.inputValue()).toBe('system')
  expect(await shown()).toBe(null)
})

test('keys of one letter are turned off and on for the output of every job', async () => {
  const output = await ada.newTab()
  await open(`/jobs/${job}`, output)
  await output.getByText('one line').first().waitFor()
  const keys = page.getByRole('checkbox', { name: 'Keys of one letter work in the output of jobs' })
  const wrap = output.getByRole('button', { name: 'Wrap lines' })
  const list = output.getByRole('dialog', { name: 'Keys in the output' })
  /** What the list of keys on the page of the job says. */
  const isOn = async () => {
    await output.getByRole('button', { name: 'Keys', exact: true }).click()
    const isChecked = await list.getByRole('checkbox', { name: 'Keys of one letter are on' }).isChecked()
    await list.getByRole('button', { name: 'Close' }).click()
    return isChecked
  }
  const log = output.getByRole('region', { name: 'Output', exact: true })

  await keys.uncheck()
  await expect.poll(isOn).toBe(false)
  await log.press('w')
  await keys.check()
  await expect.poll(isOn).toBe(true)
  // The key would wrap no longer if it had done something before.
  await log.press('w')
  await expect.poll(() => wrap.getAttribute('aria-pressed')).toBe('true')

  await keys.uncheck()
  await output.reload()
  await output.getByText('one line').first().waitFor()
  expect(await isOn()).toBe(false)
  await keys.check()
  expect(await ada.faults()).toEqual([])
  await output.close()
})

test('the page of the account is for everybody', async () => {
  await open('/me')
  await page.getByText('You have no API token.').waitFor()
  await expectForEverybody(page)
})
