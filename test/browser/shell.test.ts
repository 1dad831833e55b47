import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { type Person, newPerson, signInOn, userMenuOf } from './kit/chromium.js'
import { startScriptedScene } from './kit/scene.js'

/** The menu of all pages, on wide screens and on a phone, and the page that people begin with. */
const ASKS = `name: Asks
type: ansible
roles: [default]
playbook: plain.yml
approval: {message: Look, roles: [admin]}
fields: []
`
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: watchers, groups: [local/watchers], options: {showAllJobLogs: true}}
  - {name: default, groups: []}
`
const PHONE = { width: 390, height: 844 }

let product: Product
let browser: Browser
let admin: Person
let page: Page

beforeAll(async () => {
  const scene = await startScriptedScene({
    config: CONFIG,
    forms: { 'asks.yml': ASKS, 'broken.yml': 'name: [' },
    users: { wanda: ['watchers'], nora: [] },
  })
  ;({ product, browser, admin, page } = scene)
  return scene.close
})

const open = (path: string, on = page) => on.goto(`${product.address}${path}`)
const menu = (on = page) => on.getByRole('navigation', { name: 'Pages' })

test('the menu leads to every page, says where one is, and how much waits there', async () => {
  await product.admin.post('/job', { formName: 'Asks', rawFormData: {} })
  await open('/')
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  await menu().getByRole('link', { name: 'Approvals 1 job waits for you' }).waitFor()
  await menu().getByRole('link', { name: 'Forms 1 form is broken' }).waitFor()
  expect(await menu().getByRole('link', { name: 'Jobs' }).getAttribute('aria-current')).toBe('page')
  const names = ['Forms', 'Approvals', 'Runners', 'Users', 'Roles', 'Credentials', 'Audit trail', 'Settings', 'Jobs']
  for (const name of names) {
    await menu().getByRole('link', { name }).click()
    await page.getByRole('heading', { name, level: 1 }).waitFor()
    expect(await menu().getByRole('link', { name }).getAttribute('aria-current')).toBe('page')
  }
  await userMenuOf(page, 'admin').click()
  await page.getByRole('link', { name: 'Your account' }).click()
  await page.getByRole('heading', { name: 'Your account' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).waitFor({ state: 'hidden' })
  expect(await admin.faults()).toEqual([])
})

test('on a phone the menu is at the bottom, and the pages for admins are behind a button', async () => {
  await page.setViewportSize(PHONE)
  await open('/jobs')
  const { y = 0 } = (await menu().getByRole('link', { name: 'Forms' }).boundingBox()) ?? {}
  expect(y).toBeGreaterThan(PHONE.height - 80)
  const users = menu().getByRole('link', { name: 'Users' })
  expect(await users.isVisible()).toBe(false)
  await menu().getByRole('button', { name: 'More' }).click()
  await users.waitFor()
  await expectForEverybody(page)
  await page.setViewportSize(PHONE)
  await users.click()
  await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor()
  await users.waitFor({ state: 'hidden' })
  // A job is a card, which nobody has to scroll sideways.
  await open('/jobs')
  const row = page.getByRole('row').filter({ hasText: 'Asks' })
  await row.waitFor()
  const { x = 0, width = 0 } = (await row.boundingBox()) ?? {}
  expect(x + width).toBeLessThanOrEqual(PHONE.width)
  await row.getByRole('button', { name: /Actions/ }).waitFor()
  await expectForEverybody(page)
  expect(await admin.faults()).toEqual([])
})

test('who sees only jobs of their own begins with the forms, and others with the jobs', async () => {
  for (const [name, first] of [
    ['nora', 'Forms'],
    ['wanda', 'Jobs'],
  ] as const) {
    const person = await newPerson(browser, product.address)
    await open('/', person.page)
    await signInOn(person.page, name, ADMIN_PASSWORD)
    await person.page.getByRole('heading', { name: first, level: 1 }).waitFor()
    expect(await menu(person.page).getByRole('link', { name: 'Users' }).count()).toBe(0)
    expect(
      await menu(person.page)
        .getByRole('link', { name: /broken/ })
        .count(),
    ).toBe(0)
    expect(await person.faults()).toEqual([])
    await person.close()
  }
})

test('with the keyboard one goes to every page, form and job, and keys of one letter can be turned off', async () => {
  await open('/jobs')
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  const dialog = page.getByRole('dialog', { name: 'Go to' })
  const field = dialog.getByRole('combobox')
  const shown = () => dialog.getByRole('option').allInnerTexts()
  await page.keyboard.press('Control+k')
  await field.fill('set')
  await expect.poll(shown).toEqual([expect.stringContaining('Settings')])
  await page.keyboard.press('Enter')
  await page.getByRole('heading', { name: 'Settings', level: 1 }).waitFor()

  await page.keyboard.press('g')
  await page.keyboard.press('j')
  await page.getByRole('heading', { name: 'Jobs', level: 1 }).waitFor()
  await page.keyboard.press('?')
  await dialog.getByText('Keys on every page').click()
  await expectForEverybody(page)
  await field.fill('asks')
  await dialog.getByRole('option', { name: 'Asks' }).waitFor()
  await field.fill('nothing of this name')
  await dialog.getByText('Nothing has these words.').waitFor()
  await field.fill('1')
  await field.press('ArrowDown')
  await field.press('ArrowUp')
  await field.press('Enter')
  await page.getByRole('heading', { name: 'Job 1' }).waitFor()

  // In a field the letters are text.
  await open('/jobs')
  await page.getByRole('searchbox').fill('g')
  await page.getByRole('searchbox').press('f')
  expect(new URL(page.url()).pathname).toBe('/jobs')
  await open('/me')
  await page.getByRole('checkbox', { name: 'Keys of one letter' }).uncheck()
  await page.getByRole('heading', { level: 1 }).click()
  await page.keyboard.press('?')
  await page.keyboard.press('Control+k')
  await dialog.waitFor()
  expect(await dialog.count()).toBe(1)
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('checkbox', { name: 'Keys of one letter' }).check()
  expect(await admin.faults()).toEqual([])
})
