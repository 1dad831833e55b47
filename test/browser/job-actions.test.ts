import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import type { ScriptedRunner } from '../support/scripted-runner.js'
import { accessFaults } from './kit/axe.js'
import { type Person, newPerson, signInOn } from './kit/chromium.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { startScriptedScene } from './kit/scene.js'

/** What one does to a job with the buttons of its page. Its playbooks are scripted, so a job runs as long as the test says. */
const FORMS = {
  'hold.yml': `name: Hold
type: ansible
roles: [default]
playbook: hold.yml
fields: [{name: why, label: Why}]
`,
  'plain.yml': `name: Plain
type: ansible
roles: [default]
playbook: plain.yml
fields: [{name: host, label: Host}, {name: colour, default: red}]
`,
  'order.yml': `name: Order
type: ansible
roles: [default]
playbook: order.yml
fields:
  - {name: host, label: Host, required: true}
  - {name: count, type: number, label: Count, minValue: 1}
  - {name: colour, type: enum, label: Colour, values: [red, blue], default: red}
  - {name: note, label: Note, dependencies: [{name: colour, values: [blue]}]}
  - {name: pin, type: password, label: PIN}
  - {name: long, type: expression, runLocal: true, expression: "'$(pin)'.length"}
  - {name: cert, type: file, label: Certificate}
`,
  'guided.yml': `- name: Guided
  type: ansible
  roles: [default]
  playbook: guided.yml
  fields: [{name: why, label: Reason, required: true}]
  wizard:
    - {name: files, subform: Files, defaultModel: files}
    - {name: more, subform: More, defaultModel: more}
- name: Files
  type: subform
  fields:
    - {name: pw, type: password, label: Password, required: true}
    - {name: long, type: expression, runLocal: true, expression: "'$(pw)'.length"}
- name: More
  type: subform
  fields:
    - {name: size, label: Size}
    - {name: pw, type: password, label: Password, required: true}
    - {name: long, type: expression, runLocal: true, expression: "'$(pw)'.length"}
`,
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
  const scene = await startScriptedScene({ config: CONFIG, forms: FORMS, users: { wanda: ['watchers'] } })
  ;({ product, runner, browser, admin, page } = scene)
  runner.scripts.set('hold.yml', { holds: true })
  return scene.close
})
beforeEach(() => {
  runner.runs.length = 0
})

const open = (path: string, on = page) => on.goto(`${product.address}${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const status = (word: string, on = page) =>
  on
    .getByRole('main')
    .getByText(new RegExp(`^\\S?\\s*${word}$`))
    .first()
const field = (label: string) => page.getByRole('main').getByLabel(label).filter({ visible: true })
const chosen = (label: string, file: string, text: string) =>
  page.getByLabel(label).setInputFiles({ name: file, mimeType: 'text/plain', buffer: Buffer.from(text) })
/** The variables of the job whose page is open, as the page shows them. */
async function shownVariables(): Promise<unknown> {
  await page.getByRole('link', { name: 'Values' }).click()
  return JSON.parse(await page.getByRole('region', { name: 'Extra variables' }).innerText())
}

test('Abort asks first, ends the job, and is gone; who may not press it reads why', async () => {
  const id = await product.launch('Hold')
  await open(`/jobs/${id}`)
  await button('Abort').click()
  const dialog = page.getByRole('dialog', { name: `Abort job ${id}?` })
  await dialog.getByRole('button', { name: 'Cancel' }).click()
  await dialog.waitFor({ state: 'detached' })
  expect((await product.admin.get(`/job/${id}?output=false`)).status).toBe('running')

  const wanda = await newPerson(browser, product.address)
  await open(`/jobs/${id}`, wanda.page)
  await signInOn(wanda.page, 'wanda', ADMIN_PASSWORD)
  const hers = wanda.page.getByRole('button', { name: 'Abort' })
  expect(await hers.getAttribute('aria-disabled')).toBe('true')
  expect(await hers.getAttribute('title')).toBe('It is the job of another user')
  await hers.click({ force: true })
  expect(await wanda.page.getByRole('dialog').count()).toBe(0)

  await button('Abort').click()
  await dialog.getByRole('button', { name: 'Abort' }).click()
  await dialog.waitFor({ state: 'detached' })
  await status('Aborted').waitFor()
  await status('Aborted', wanda.page).waitFor()
  await button('Abort').waitFor({ state: 'detached' })
  await open('/jobs')
  await page
    .getByRole('row')
    .filter({ hasText: 'Hold' })
    .getByText(/^\S?\s*Aborted$/)
    .waitFor()
  expect(await wanda.faults()).toEqual([])
  await wanda.close()
})

test('Run again asks first, and leads to the new job with the same values', async () => {
  const id = await product.launch('Plain', { host: 'web1' })
  await product.waitForEnd(id)
  await open(`/jobs/${id}`)
  await button('Run again').click()
  await page
    .getByRole('dialog', { name: `Run job ${id} again?` })
    .getByRole('button', { name: 'Run again' })
    .click()
  await page.getByRole('heading', { name: `Job ${id + 1}` }).waitFor()
  await status('Successful').waitFor()
  expect(await shownVariables()).toMatchObject({ host: 'web1', colour: 'red' })
})

test('Run again with changes begins with the values of the job, asks for its password, and keeps its file', async () => {
  await open('/forms/Order')
  await field('Host').fill('web1')
  await field('Count').fill('2')
  await page.getByRole('main').getByLabel('Colour').selectOption('blue')
  await field('Note').fill('as always')
  await field('PIN').fill('old secret')
  await chosen('Certificate', 'web1.pem', 'a certificate')
  await page.getByText('web1.pem, 13 B').waitFor()
  await button('Launch').click()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
  await status('Successful').waitFor()
  const [first] = runner.runs

  await page.getByRole('link', { name: 'Run again with changes' }).click()
  await page.getByText(`Runs job ${first?.order.job_id} again.`).waitFor()
  await expect.poll(() => field('Host').inputValue()).toBe('web1')
  expect(await field('Note').inputValue()).toBe('as always')
  expect(await field('PIN').inputValue()).toBe('')
  expect(await page.getByText('Changed').count()).toBe(0)
  await field('Host').fill('')
  await field('Count').fill('0')
  await button('Launch').click()
  await page.getByRole('alert').filter({ hasText: 'need' }).waitFor()
  expect(runner.runs.length).toBe(1)
  await field('Host').fill('web2')
  await field('Count').fill('3')
  await field('Note').fill('as never')
  await page.getByText('Changed: Host, Count, Note').waitFor()
  await page.getByText('Changed. Before: web1').waitFor()
  // What is wrong with the value of before may still stand there, too.
  const described = (await field('Count').getAttribute('aria-describedby'))?.split(' ')[0]
  expect(await page.locator(`[id="${described}"]`).innerText()).toBe('Changed. Before: 2')
  await field('Note').fill('as always')
  await page.getByText('Changed: Host, Count', { exact: true }).waitFor()
  expect(await accessFaults(page)).toEqual([])
  await button('Launch').click()
  await page.getByText('Passwords are not kept').first().waitFor()
  await expect.poll(() => page.locator(':focus').getAttribute('type')).toBe('password')
  await field('PIN').fill('new secret')
  await button('Launch').click()
  await page.getByRole('heading', { name: `Job ${Number(first?.order.job_id) + 1}` }).waitFor()
  await status('Successful').waitFor()
  expect(await shownVariables()).toMatchObject({
    host: 'web2',
    count: 3,
    colour: 'blue',
    note: 'as always',
    long: 10,
    cert: { originalname: 'web1.pem', size: 13 },
  })
})

test('Run again opens the form at what was not kept, with the other values filled in', async () => {
  const [host, pin] = ['web1', 'the old secret']
  const id = await product.launch('Order', { host, count: 2, colour: 'blue', note: pin, pin })
  await product.waitForEnd(id)
  await open(`/jobs/${id}`)
  await button('Run again').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click()
  await page.getByText(`Job ${id} cannot be run again as it was.`).waitFor()
  await expect.poll(() => page.getByText('Enter it again. Passwords are not kept.').count()).toBe(2)
  await expect.poll(() => field('Note').evaluate((input) => input.matches(':focus'))).toBe(true)
  expect(await page.getByText(/send it|in values/).count()).toBe(0)
  expect(await field('Host').inputValue()).toBe('web1')
  expect(await field('Count').inputValue()).toBe('2')
  expect([await field('Note').inputValue(), await field('PIN').inputValue()]).toEqual(['', ''])
  await expectForEverybody(page)
  // The same page, however it is opened.
  await page.reload()
  await expect.poll(() => page.getByText('Enter it again. Passwords are not kept.').count()).toBe(2)
  await field('Note').fill('as always')
  await button('Launch').click()
  await expect.poll(() => field('PIN').evaluate((input) => input.matches(':focus'))).toBe(true)
  await field('PIN').fill('12345')
  await button('Launch').click()
  await page.getByRole('heading', { name: `Job ${id + 1}` }).waitFor()
  await status('Successful').waitFor()
  expect(await shownVariables()).toMatchObject({ host: 'web1', count: 2, note: 'as always', long: 5 })

  // What the form does not take any more is asked for in the same way.
  const stricter = FORMS['order.yml']
    .replace('minValue: 1', 'minValue: 5')
    .replace(/.*type: password.*\n.*'\$\(pin\)'.*\n/, '')
  writeFileSync(join(product.folder, 'persistent/forms/order.yml'), stricter)
  await expect.poll(async () => JSON.stringify(await product.admin.get('/forms/Order'))).toContain('"minValue":5')
  await button('Run again').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Run again' }).click()
  await page.getByText('Count must be at least 5').waitFor()
  await expect.poll(() => field('Count').evaluate((input) => input.matches(':focus'))).toBe(true)
  expect(await admin.faults()).toEqual([])
})

test('a step of a wizard goes on as soon as its last field is right, and each password belongs to its own step', async () => {
  await open('/forms/Guided')
  await page.getByText('Step 1 of 3: General').waitFor()
  expect(await field('Password').count()).toBe(0)
  await field('Reason').fill('a new disk')
  await button('Next').click()
  await field('Password').waitFor()
  await button('Next').click()
  await page.getByText('Password is required').waitFor()
  await field('Password').fill('a')
  await button('Next').click()
  await field('Size').fill('small')
  await field('Password').fill('ab')
  await button('Launch').click()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
  await status('Successful').waitFor()

  // Each password has a length of its own.
  expect(await shownVariables()).toMatchObject({
    why: 'a new disk',
    files: { long: 1 },
    more: { size: 'small', long: 2 },
  })
  await page.getByRole('link', { name: 'Run again with changes' }).click()
  await page.getByText('What will run').waitFor()
  await expect.poll(() => field('Reason').inputValue()).toBe('a new disk')
  await field('Reason').fill('an old disk')
  await button('Next').click()
  await field('Password').fill('abc')
  await button('Next').click()
  expect(await field('Size').inputValue()).toBe('small')
  await field('Size').fill('large')
  await field('Password').fill('abcd')
  await button('Launch').click()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
  await status('Successful').waitFor()
  expect(await shownVariables()).toMatchObject({
    why: 'an old disk',
    files: { long: 3 },
    more: { size: 'large', long: 4 },
  })
  expect(await admin.faults()).toEqual([])
})
