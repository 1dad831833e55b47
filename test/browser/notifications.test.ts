import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { type AnsweringServer, startAnsweringServer } from '../support/answering-server.js'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import { type Person, newPerson, signInOn } from './kit/chromium.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { startScene } from './kit/scene.js'

/** Webhooks and mails as an admin sets them up, and what became of each notification. */
const answers: Record<string, object> = { '/chat': { ok: true } }

let product: Product
let browser: Browser
let admin: Person
let page: Page
let receiver: AnsweringServer

beforeAll(async () => {
  receiver = await startAnsweringServer(answers)
  const scene = await startScene({
    withAgent: false,
    controlPlane: { WEBHOOK_ALLOWED_HOSTS: '127.0.0.1' },
    users: { olga: [] },
  })
  ;({ product, browser, admin, page } = scene)
  return async () => {
    await scene.close()
    await receiver.close()
  }
})

const open = (path: string, at: Page = page) => at.goto(`${product.address}${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const dialog = () => page.getByRole('dialog')
const field = (name: string) => dialog().getByRole('textbox', { name, exact: true })
const targets = () => page.getByRole('table', { name: 'List of webhooks' })
const row = (name: string) => targets().getByRole('row').filter({ hasText: name })
const deliveries = () => page.getByRole('table', { name: 'Notifications, the newest first' }).getByRole('row')

test('an admin adds a webhook, sees its secret once, and sends a test to it', async () => {
  await open('/users')
  await page.getByRole('link', { name: 'Notifications' }).click()
  await page.getByText('No webhook yet.').waitFor()
  await page.getByText('Nothing was sent yet.').waitFor()
  await expectForEverybody(page)

  await button('Add a webhook').click()
  await field('Name').fill('chat')
  await field('Address').fill(`${receiver.url}/chat`)
  await dialog().getByRole('checkbox', { name: 'a runner is lost' }).check()
  await expectForEverybody(page)
  await dialog().getByRole('button', { name: 'Add a webhook' }).click()
  await dialog().getByText('It is shown only this time').waitFor()
  expect((await dialog().getByLabel('Secret').innerText()).length).toBeGreaterThan(16)
  await button('Done').click()
  await row('chat').getByText('a job has ended, a runner is lost').waitFor()

  await row('chat').getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('The test has arrived at chat.').waitFor()
  expect(receiver.asked.map(({ headers }) => headers['x-holdfast-event'])).toEqual(['test'])
  await deliveries().filter({ hasText: 'chat' }).getByText('Arrived').waitFor()
})

test('what did not arrive says why, and is sent again', async () => {
  await open('/notifications')
  await row('chat').getByRole('button', { name: 'Change' }).click()
  await field('Address').fill('http://10.0.0.1/')
  await button('Save').click()
  await dialog().getByText('This address cannot be used.').waitFor()
  await field('Address').fill(`${receiver.url}/moved`)
  await button('Save').click()
  await row('chat').getByText('/moved').waitFor()
  await row('chat').getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('The test has not arrived at chat').waitFor()
  await page.getByRole('combobox', { name: 'State' }).selectOption('Given up')
  const lost = deliveries().filter({ hasText: '404' })
  await lost.getByText('Given up').waitFor()
  await expectForEverybody(page)

  answers['/moved'] = { ok: true }
  await lost.getByRole('button', { name: 'Send again' }).click()
  await page.getByText('It is sent again.').waitFor()
  await page.getByText('No notification is in this state.').waitFor()
  await page.getByRole('combobox', { name: 'State' }).selectOption('All')
  await expect.poll(() => receiver.count('/moved')).toBe(2)
})

test('a webhook is turned off, and deleting it asks', async () => {
  await open('/notifications')
  await row('chat').getByRole('switch', { name: 'Gets notifications: chat', checked: true }).click()
  await row('chat').getByRole('switch', { checked: false }).waitFor()
  expect(await product.admin.get('/notification-target')).toMatchObject({ records: [{ enabled: false }] })
  await row('chat').getByRole('button', { name: 'Delete' }).click()
  await dialog().getByRole('button', { name: 'Delete' }).click()
  await page.getByText('The webhook chat was deleted.').waitFor()
  await page.getByText('No webhook yet.').waitFor()
})

test('a test mail says why it cannot be sent', async () => {
  await open('/notifications')
  await page.getByLabel('Mail address').fill('ops@example.com')
  await page.getByRole('form', { name: 'Mails' }).getByRole('button', { name: 'Send a test' }).click()
  await page.getByText('The test has not arrived at ops@example.com: ').waitFor()
  await deliveries().filter({ hasText: 'ops@example.com' }).first().waitFor()
})

test('others are told that the page is not for them', async () => {
  const olga = await newPerson(browser, product.address)
  await open('/notifications', olga.page)
  await signInOn(olga.page, 'olga', ADMIN_PASSWORD)
  await olga.page.getByText('You may not see this').first().waitFor()
  expect(await olga.page.getByRole('link', { name: 'Notifications' }).count()).toBe(0)
  expect(await olga.faults()).toEqual([])
  await olga.close()
  expect(await admin.faults()).toEqual([])
})
