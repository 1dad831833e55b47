import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { type Person, newPerson, signInOn } from './kit/chromium.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { startScriptedScene } from './kit/scene.js'

/** Launches at other times than now: from the form to the schedule, its next starts, its result and its end. */
const FORMS = {
  'backup.yml': `- name: Backup
  type: ansible
  roles: [default]
  playbook: backup.yml
  fields:
    - {name: host, label: Host, required: true}
    - {name: kind, label: Kind, type: radio, values: [full, incremental], default: incremental}
    - {name: pin, label: PIN, type: password}
    - {name: cert, label: Certificate, type: file}
`,
  'guided.yml': `- name: Guided
  type: ansible
  roles: [default]
  playbook: guided.yml
  wizard: [{name: where, subform: Where}, {name: what, subform: What}]
- name: Where
  type: subform
  fields: [{name: site, label: Site, required: true}]
- name: What
  type: subform
  fields: [{name: size, label: Size}]
`,
}

interface Schedule {
  readonly id: number
  readonly name: string
  readonly last_status: string | null
  readonly [key: string]: unknown
}

let product: Product
let browser: Browser
let admin: Person
let page: Page

beforeAll(async () => {
  const scene = await startScriptedScene({
    forms: FORMS,
    users: { olga: [] },
    browserSettings: { timezoneId: 'Europe/Berlin' },
  })
  ;({ product, browser, admin, page } = scene)
  page.on('dialog', (question) => void question.accept())
  return scene.close
})

const open = (path: string, at: Page = page) => at.goto(`${product.address}${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const dialog = () => page.getByRole('dialog')
const chosen = (label: string) => dialog().getByLabel(label, { exact: true })
const often = () => dialog().getByRole('combobox', { name: 'How often' })
const starts = () => page.getByRole('list', { name: /^Next starts/ }).getByRole('listitem')
const schedules = async () => (await product.admin.get<{ records: Schedule[] }>('/schedule')).records
const named = async (name: string) => (await schedules()).find((one) => one.name === name)

test('the page of schedules says what it is for, and leads to the forms', async () => {
  await open('/schedules')
  await page.getByText('A schedule launches a form at times that you choose').waitFor()
  await expectForEverybody(page)
  await page.getByRole('link', { name: 'Choose a form' }).click()
  await page.getByRole('heading', { name: 'Forms', level: 1 }).waitFor()
})

test('Regularly… makes a schedule of the form, and says what its times mean and when they come', async () => {
  await open('/forms/Backup')
  await page.getByLabel('Host').fill('db1')
  await button('Regularly…').click()
  await chosen('Name').fill('nightly')
  await often().selectOption('Every weekday (Monday to Friday)')
  await chosen('Time').fill('06:30')
  await page.getByText('every weekday at 06:30, Europe/Berlin').waitFor()
  await expect.poll(() => starts().allInnerTexts()).toHaveLength(5)
  for (const text of await starts().allInnerTexts()) expect(text).toMatch(/^(Mon|Tue|Wed|Thu|Fri).* 06:30/)
  await expectForEverybody(page)

  await often().selectOption('By a cron expression')
  await dialog().getByRole('textbox', { name: 'Cron expression' }).fill('30 25 * * *')
  await page.getByText('The hour cannot be 25. It may be 0 to 23').waitFor()
  await dialog().getByRole('textbox', { name: 'Cron expression' }).fill('30 6 1 * 1')
  await page.getByText('the day of the month is 1 or the day of the week is Monday').waitFor()
  await often().selectOption('Every week')
  await dialog().getByRole('checkbox', { name: 'Monday' }).uncheck()
  await page.getByText('Choose at least one day.').waitFor()
  await dialog().getByRole('checkbox', { name: 'Sunday' }).check()
  await dialog().getByRole('combobox', { name: 'Time zone' }).selectOption('America/New_York')
  await page.getByText('every Sunday at 06:30, America/New_York').waitFor()
  await button('Make the schedule').click()

  await page.getByText('The schedule nightly was made.').waitFor()
  await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
  expect(await starts().count()).toBe(5)
  await page.getByText('db1').waitFor()
  expect(await named('nightly')).toMatchObject({
    form: 'Backup',
    cron: '30 6 * * 0',
    time_zone: 'America/New_York',
    values: { host: 'db1' },
  })
  await expectForEverybody(page)
})

test('what a schedule cannot have is said where it was entered', async () => {
  await open('/forms/Backup')
  await button('Regularly…').click()
  await button('Make the schedule').click()
  await dialog().waitFor({ state: 'detached' })
  await expect.poll(() => page.getByLabel('Host').getAttribute('aria-invalid')).toBe('true')
  await page.getByLabel('Host').fill('db2')
  await page.getByLabel('PIN').fill('1234')
  await button('Later…').click()
  await button('Make the schedule').click()
  await dialog().getByText('A schedule keeps no passwords.').waitFor()
  await button('Cancel').click()
  await page.getByLabel('PIN').fill('')
  await page
    .getByLabel('Certificate')
    .setInputFiles({ name: 'a.pem', mimeType: 'text/plain', buffer: Buffer.from('a') })
  // The file is there when its size is said.
  await page.getByText(/a\.pem, \d/).waitFor()
  await button('Later…').click()
  await button('Make the schedule').click()
  await dialog().getByText('A schedule keeps no files.').waitFor()
  await button('Cancel').click()
  expect(await schedules()).toHaveLength(1)
})

test('Later… launches once, at a time of the chosen zone', async () => {
  await open('/forms/Guided')
  await page.getByLabel('Site').fill('north')
  expect(await button('Later…').count()).toBe(0)
  await button('Next').click()
  await page.getByLabel('Size').fill('4')
  await button('Later…').click()
  await chosen('Name').fill('in January')
  await chosen('Date and time').fill('2100-01-31T06:00')
  await dialog().getByRole('combobox', { name: 'Time zone' }).selectOption('Asia/Tokyo')
  await dialog().getByText('31 Jan 2100, 06:00').waitFor()
  await expectForEverybody(page)
  await button('Make the schedule').click()
  await page.getByRole('heading', { name: 'in January', level: 1 }).waitFor()
  await page.getByText('north').waitFor()
  expect(await named('in January')).toMatchObject({
    at: '2100-01-30T21:00:00.000Z',
    cron: null,
    values: { where: { site: 'north' }, what: { size: '4' } },
  })
})

test('the list shows the last result, and a switch pauses a schedule and lets it go on', async () => {
  const at = new Date(Date.now() + 1000).toISOString()
  const soon = await product.admin.post<Schedule>('/schedule', {
    name: 'soon',
    form: 'Backup',
    at,
    values: { host: 'a' },
  })
  await open('/schedules')
  const row = page.getByRole('row').filter({ hasText: 'soon' })
  await row.getByText('Successful').waitFor()
  await row.getByText('Ended').waitFor()
  const { last_job: job } = await product.admin.get<Schedule>(`/schedule/${soon.id}`)
  expect(await row.getByRole('link', { name: `Job ${String(job)}` }).getAttribute('href')).toBe(`/jobs/${String(job)}`)

  const nightly = page.getByRole('row').filter({ hasText: 'nightly' })
  await nightly.getByText('every Sunday at 06:30, America/New_York').waitFor()
  const active = nightly.getByRole('switch', { name: 'Starts jobs: nightly', checked: true })
  await active.click()
  await page.getByText('nightly is paused. It starts no jobs.').waitFor()
  await nightly.getByRole('switch', { checked: false }).waitFor()
  expect(await named('nightly')).toMatchObject({ paused: true, next_run: null })
  await expectForEverybody(page)
  await nightly.getByRole('switch', { checked: false }).click()
  await nightly.getByRole('switch', { checked: true }).waitFor()
  expect(await named('nightly')).toMatchObject({ paused: false })
})

test('times and values are changed, a job is started at once, and deleting asks', async () => {
  await open('/schedules')
  await page.getByRole('link', { name: 'nightly', exact: true }).click()
  await button('Change the times').click()
  await often().selectOption('Every few minutes')
  await dialog().getByRole('combobox', { name: 'Every', exact: true }).selectOption('15 minutes')
  await button('Save').click()
  await page.getByText('every 15 minutes, America/New_York').first().waitFor()

  await button('Change the values').click()
  await page.getByText('These are the values of the schedule nightly.').waitFor()
  await page.getByLabel('Host').fill('db9')
  await page.getByRole('radio', { name: 'full' }).check()
  expect(await button('Regularly…').count()).toBe(0)
  await button('Save the values').click()
  await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
  await page.getByText('db9').waitFor()
  expect(await named('nightly')).toMatchObject({ cron: '*/15 * * * *', values: { host: 'db9', kind: 'full' } })

  await button('Run now').click()
  await dialog().getByRole('button', { name: 'Run now' }).click()
  await page.waitForURL(/\/jobs\/\d+$/)
  const job = await product.admin.get(`/job/${page.url().split('/').at(-1) ?? ''}`)
  expect(job).toMatchObject({ form: 'Backup', extravars: { host: 'db9', kind: 'full' } })

  await page.goBack()
  await page.getByRole('heading', { name: 'nightly', level: 1 }).waitFor()
  await button('Delete').click()
  await dialog().getByRole('button', { name: 'Delete' }).click()
  await page.getByText('The schedule nightly was deleted.').waitFor()
  await page.getByRole('heading', { name: 'Schedules', level: 1 }).waitFor()
  expect(await named('nightly')).toBeUndefined()
})

test('an admin sees the schedules of others, and is told why they cannot be changed', async () => {
  const olga = await signIn(product.address, 'olga', ADMIN_PASSWORD)
  const { id } = await olga.post<Schedule>('/schedule', {
    name: 'of olga',
    form: 'Backup',
    cron: '0 6 * * *',
    time_zone: 'America/Argentina/ComodRivadavia',
    values: { host: 'a-host-with-a-name-that-is-longer-than-any-screen'.repeat(2) },
  })
  await open(`/schedules/${id}`)
  const change = button('Change the times')
  await change.waitFor()
  expect(await change.getAttribute('aria-disabled')).toBe('true')
  expect(await change.getAttribute('title')).toContain('Only olga may do this')
  await expectForEverybody(page)
  const hers = await newPerson(browser, product.address)
  await open('/schedules', hers.page)
  await signInOn(hers.page, 'olga', ADMIN_PASSWORD)
  await hers.page.getByRole('link', { name: 'of olga' }).waitFor()
  expect(await hers.page.getByRole('row').count()).toBe(2)
  expect(await hers.faults()).toEqual([])
  await hers.close()
  expect(await admin.faults()).toEqual([])
})
