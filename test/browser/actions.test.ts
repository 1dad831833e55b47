import type { Page } from 'playwright-core'
import { beforeAll, beforeEach, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import type { ScriptedRunner } from '../support/scripted-runner.js'
import { type Person, signInOn, userMenuOf } from './kit/chromium.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { startScriptedScene } from './kit/scene.js'

/** What people ask for goes on after a sign-in, says that it was done, and says in words for people why it was not. */
const FORMS = {
  'hold.yml': `name: Hold
type: ansible
roles: [default]
playbook: hold.yml
fields: []
`,
  'secret.yml': `name: Secret
type: ansible
roles: [default]
playbook: secret.yml
fields:
  - {name: why, label: Why}
  - {name: pin, type: password, label: PIN}
  - {name: long, type: expression, runLocal: true, expression: "'$(pin)'.length"}
`,
  'cert.yml': `name: Certificate
type: ansible
roles: [default]
playbook: cert.yml
fields: [{name: cert, type: file, label: Certificate}]
`,
}

let product: Product
let runner: ScriptedRunner
let admin: Person
let page: Page

beforeAll(async () => {
  const scene = await startScriptedScene({ forms: FORMS })
  ;({ product, runner, admin, page } = scene)
  runner.scripts.set('hold.yml', { holds: true })
  return scene.close
})
beforeEach(() => {
  runner.runs.length = 0
})

const open = (path: string) => page.goto(`${product.address}${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
/**
 * The browser forgets the session just before it sends such a request for the first time. Nothing on the page knows of it.
 * What the page reads by itself at the same address has another method.
 */
async function forgetAt(method: string, address: RegExp): Promise<void> {
  let isForgotten = false
  await page.route(address, async (route) => {
    if (!isForgotten && route.request().method() === method) {
      isForgotten = true
      await page.context().clearCookies()
    }
    await route.continue()
  })
}
const over = () => page.getByRole('dialog', { name: 'Your session is over' })
async function signInAgain(): Promise<void> {
  await over().waitFor()
  await over().getByLabel('Password').fill(ADMIN_PASSWORD)
  await over().getByRole('button', { name: 'Sign in', exact: true }).click()
  await over().waitFor({ state: 'detached' })
}
const receipt = (text: string) => page.getByRole('status').getByText(text, { exact: true }).waitFor()
/** A job that runs until somebody aborts it. Nothing changes any more, so no page reads anything by itself. */
async function runningJob(): Promise<number> {
  const id = await product.launch('Hold')
  await expect.poll(() => runner.runs.length).toBe(1)
  return id
}
const statusOf = async (id: number) => (await product.admin.get(`/job/${id}?output=false`)).status

test('an action without a session asks for a sign-in in place, goes on by itself, and says that it was done', async () => {
  const id = await runningJob()
  await open(`/jobs/${id}`)
  await forgetAt('POST', /\/abort$/)
  await button('Abort').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
  await over().waitFor()
  expect(await page.getByText('token').count()).toBe(0)
  expect(await statusOf(id)).toBe('running')
  await signInAgain()
  await receipt(`The abort of job ${id} was asked for.`)
  expect(await product.waitForEnd(id)).toMatchObject({ status: 'aborted' })

  await expectForEverybody(page)
  await button('Close').click()
  await page.getByText('was asked for').waitFor({ state: 'detached' })
})

test('the menu of a row goes on after a sign-in, too, although it has closed meanwhile', async () => {
  const id = await runningJob()
  await open('/jobs')
  await page.getByRole('button', { name: `Actions for job ${id}` }).click()
  await forgetAt('POST', /\/abort$/)
  await button('Abort').click()
  await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
  await signInAgain()
  await receipt(`The abort of job ${id} was asked for.`)
  expect(await product.waitForEnd(id)).toMatchObject({ status: 'aborted' })
})

test('a launch goes on after a sign-in with all that was typed, passwords too', async () => {
  await open('/forms/Secret')
  await page.getByLabel('Why').fill('a test')
  await page.getByLabel('PIN').fill('the secret of the form')
  await forgetAt('POST', /\/job$/)
  await button('Launch').click()
  await signInAgain()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
  await expect.poll(() => runner.runs.length).toBe(1)
  const id = runner.runs[0]?.order.job_id
  const { extravars } = await product.admin.get(`/job/${id}?output=false`)
  expect(extravars).toMatchObject({ why: 'a test', long: 'the secret of the form'.length })
})

test('a file goes up, an entry is saved, and a page is shown after a sign-in', async () => {
  await open('/forms/Certificate')
  await forgetAt('POST', /\/job\/upload$/)
  const file = { name: 'web1.pem', mimeType: 'text/plain', buffer: Buffer.from('a certificate') }
  await page.getByLabel('Certificate').setInputFiles(file)
  await signInAgain()
  await page.getByText('web1.pem, 13 bytes').waitFor()

  await open('/settings')
  const entry = page.getByLabel('Environment, such as test')
  await entry.fill('test')
  await forgetAt('PUT', /\/settings\/appearance$/)
  await page.getByRole('form', { name: 'What the pages show' }).getByRole('button', { name: 'Save' }).click()
  await signInAgain()
  await receipt('Saved.')
  await page.getByRole('banner').getByText('test', { exact: true }).waitFor()
  await forgetAt('GET', /\/role$/)
  await page.getByRole('link', { name: 'Roles' }).click()
  await signInAgain()
  await page.getByRole('row', { name: /everything/ }).waitFor()
  expect(await page.getByRole('alert').count()).toBe(0)
})

test('a sign-out without a session is a sign-out', async () => {
  await open('/jobs')
  await userMenuOf(page, 'admin').click()
  await button('Sign out').waitFor()
  await forgetAt('DELETE', /\/auth\/session$/)
  await button('Sign out').click()
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await signInOn(page, 'admin', ADMIN_PASSWORD)
})

test('why it was not done is said in words for people, also for a code of a later release', async () => {
  const id = await runningJob()
  await open(`/jobs/${id}`)
  const sentence = 'Use POST /job/{id}/abort with a bearer token'
  const answers = [
    { status: 409, json: { error: sentence, code: 'not_running' } },
    { status: 409, json: { error: sentence, code: 'of_a_later_release' } },
    { status: 503, json: { error: sentence, code: 'database_unavailable' } },
  ]
  for (const [index, text] of ['has ended already', 'Look at it again', 'The database does not answer now'].entries()) {
    const answer = answers[index]
    await page.route(/\/abort$/, (route) => route.fulfill(answer ?? {}))
    await button('Abort').click()
    await page.getByRole('dialog').getByRole('button', { name: 'Abort' }).click()
    await page.getByRole('alert').getByText(text).waitFor()
    expect(await page.getByText('bearer').count()).toBe(0)
    await page.unrouteAll({ behavior: 'ignoreErrors' })
    await page.getByRole('dialog').getByRole('button', { name: 'Cancel' }).click()
  }
  await product.admin.post(`/job/${id}/abort`)
  expect(await admin.faults()).toEqual([])
})
