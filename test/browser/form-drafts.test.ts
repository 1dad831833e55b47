import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import { type Person, signInOn, signOutOf } from './kit/chromium.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { startScriptedScene } from './kit/scene.js'

/** What somebody has entered into a form is not lost: leaving asks, and the browser keeps it until the launch. */
const FORMS = {
  'order.yml': `- name: Order
  type: ansible
  roles: [default]
  playbook: order.yml
  fields:
    - {name: host, label: Host}
    - {name: pin, type: password, label: PIN}
    - {name: disks, type: list, label: Disks, subform: Disk}
    - {name: extra, type: yaml, label: Extra, subform: Disk}
- name: Disk
  type: subform
  fields: [{name: size, label: Size}, {name: key, type: password, label: Key}]
`,
  'guided.yml': `- name: Guided
  type: ansible
  roles: [default]
  playbook: guided.yml
  fields: []
  wizard: [{name: one, subform: One}, {name: two, subform: Two}, {name: three, subform: Two}]
- name: One
  type: subform
  fields: [{name: short, label: Short name}]
- name: Two
  type: subform
  fields: [{name: size, label: Size}]
`,
}

let product: Product
let admin: Person
let page: Page
/** How often the browser itself has asked whether the page may be left. */
let questions = 0

beforeAll(async () => {
  const scene = await startScriptedScene({ forms: FORMS })
  ;({ product, admin, page } = scene)
  page.on('dialog', (dialog) => {
    questions += 1
    void dialog.accept()
  })
  return scene.close
})
beforeEach(async () => {
  await open('/jobs')
  await page.evaluate('localStorage.clear()')
})

const open = (path: string) => page.goto(`${product.address}${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const field = (label: string) => page.getByRole('main').getByLabel(label).filter({ visible: true })
const question = () => page.getByRole('dialog', { name: 'Leave this form?' })
const stored = () => page.evaluate<string>('JSON.stringify(localStorage)')

test('a link and Back ask before entries are left, and the entries are there when one comes back', async () => {
  await open('/forms')
  await page.getByRole('link', { name: 'Order', exact: true }).click()
  await field('Host').fill('web1')
  await field('PIN').fill('never kept')
  await button('Add a row').click()
  await field('Size').fill('20')
  await field('Key').fill('never kept')
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await question().waitFor()
  await expectForEverybody(page)
  await question().getByRole('button', { name: 'Stay here' }).click()
  expect(await field('Host').inputValue()).toBe('web1')
  for (const turn of [1, 2]) {
    await page.goBack()
    await question().waitFor()
    if (turn === 1) await question().getByRole('button', { name: 'Stay here' }).click()
  }
  expect(await stored()).toContain('web1')
  expect(await stored()).not.toContain('never kept')
  await question().getByRole('button', { name: 'Leave', exact: true }).click()
  await page.getByRole('heading', { name: 'Forms' }).waitFor()

  await page.getByRole('link', { name: 'Order', exact: true }).click()
  await page.getByText('You began this form (').waitFor()
  await expectForEverybody(page)
  await button('Go on').click()
  await expect.poll(() => field('Host').inputValue()).toBe('web1')
  expect(await field('Size').inputValue()).toBe('20')
  expect(await field('PIN').inputValue()).toBe('')
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await question().getByRole('button', { name: 'Leave', exact: true }).click()
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()
  // Nothing of the form lies between the pages.
  await page.goBack()
  await page.getByText('You began this form (').waitFor()
  await button('Begin anew').click()
  await expect.poll(() => field('Host').inputValue()).toBe('')
  expect(await stored()).not.toContain('web1')
  // Without entries nobody is asked.
  await page.getByRole('link', { name: 'Jobs', exact: true }).click()
  await page.getByRole('heading', { name: 'Jobs' }).waitFor()
  expect(await admin.faults()).toEqual([])
})

test('a reload is asked about, and loses nothing; the launch and the sign-out remove what was kept', async () => {
  await open('/forms/Order')
  await field('Host').fill('web2')
  questions = 0
  await page.reload()
  expect(questions).toBe(1)
  await button('Go on').click()
  await expect.poll(() => field('Host').inputValue()).toBe('web2')
  await button('Launch').click()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
  expect(await stored()).not.toContain('web2')

  await open('/forms/Order')
  await field('Extra').fill('{size: 1, key: hush-in-yaml}')
  await field('Host').fill('web3')
  await expect.poll(stored).toContain('web3')
  expect(await stored()).not.toContain('hush-in-yaml')
  await signOutOf(page, 'admin')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  expect(await stored()).not.toContain('web3')
  expect(questions).toBe(1)
  await signInOn(page, 'admin', ADMIN_PASSWORD)
})

test('in a wizard Back goes one step back, and leaves the form only from the first one, with a question', async () => {
  await open('/forms')
  await page.getByRole('link', { name: 'Guided', exact: true }).click()
  await field('Short name').fill('web')
  await button('Next').click()
  await field('Size').fill('large')
  await button('Next').click()
  await page.getByText('Step 3 of 3').waitFor()
  await page.goBack()
  await page.getByText('Step 2 of 3').waitFor()
  expect(await field('Size').inputValue()).toBe('large')
  await page.goBack()
  await page.getByText('Step 1 of 3').waitFor()
  expect(await field('Short name').inputValue()).toBe('web')
  await page.goForward()
  await page.getByText('Step 2 of 3').waitFor()
  await button('Back').click()
  await page.getByText('Step 1 of 3').waitFor()
  expect(await question().count()).toBe(0)
  await page.goBack()
  await question().getByRole('button', { name: 'Leave', exact: true }).click()
  await page.getByRole('heading', { name: 'Forms' }).waitFor()

  // Without entries Back leads out of the steps and then away.
  await page.evaluate('localStorage.clear()')
  await page.getByRole('link', { name: 'Guided', exact: true }).click()
  await button('Next').click()
  await page.getByText('Step 2 of 3').waitFor()
  await page.goBack()
  await page.getByText('Step 1 of 3').waitFor()
  await page.goBack()
  await page.getByRole('heading', { name: 'Forms' }).waitFor()
  expect(await admin.faults()).toEqual([])
})
