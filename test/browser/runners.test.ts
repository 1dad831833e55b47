import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { SOCKET_PATH } from '@holdfast/protocol'
import { GATED_FORM, gatedPlaybook, gatesIn } from '../support/gated-playbook.js'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import { type AgentIdentity, RawAgent, newIdentity } from '../support/raw-agent.js'
import { type Person, newPerson, signInOn } from './kit/chromium.js'
import { startScene } from './kit/scene.js'
import { expectForEverybody } from './kit/for-everybody.js'

/** The pages of the runners. One product with a real agent, and one browser, for all. */
interface RunnerOfList {
  readonly id: number
  readonly name: string
  readonly state: string
  readonly max_jobs: number
  readonly fingerprint: string
}

let product: Product
let browser: Browser
let admin: Person
let page: Page
/** Where the playbook waits. */
let folder: string

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-gates-'))
  const scene = await startScene({
    forms: { 'gated.yml': GATED_FORM },
    playbooks: { 'gated.yml': gatedPlaybook(folder, 1) },
    agent: { RTE_MAX_JOBS: '7' },
  })
  ;({ product, browser, admin, page } = scene)
  return async () => {
    await scene.close()
    rmSync(folder, { recursive: true, force: true })
  }
})

const open = (path: string, at: Page = page) => at.goto(`${product.address}${path}`)
const heading = (name: string) => page.getByRole('heading', { name, level: 1 })
const fact = (name: string) =>
  page
    .getByRole('term')
    .filter({ hasText: new RegExp(`^${name}$`) })
    .locator('..')
    .getByRole('definition')
const runners = async () => (await product.admin.get<{ records: RunnerOfList[] }>('/runner')).records
const runnerOf = async (name: string, state: string) =>
  (await runners()).find((runner) => runner.name === name && runner.state === state)
const greet = (identity: AgentIdentity, from?: string, host = 'test-host') =>
  RawAgent.greet(product.address.replace(/^http/, 'ws') + SOCKET_PATH, identity, { host }, from)

test('the name of a runner leads to its page: its facts, what runs there, and what ended there', async () => {
  await open('/runners')
  await page.getByRole('link', { name: 'test-runner' }).click()
  await heading('test-runner').waitFor()
  await page.getByText('No job runs here.').waitFor()
  await page.getByText('No job has ended here.').waitFor()
  const known = await runnerOf('test-runner', 'approved')
  expect(page.url()).toBe(`${product.address}/runners/${known?.id}`)
  expect(await fact('State').innerText()).toBe('Online')
  expect(await fact('Address').innerText()).toBe('127.0.0.1')
  expect(await fact('Who connects').innerText()).toBe('the runner')
  expect(await fact('Isolation of jobs').innerText()).toBe('none')
  expect(await fact('Let in').innerText()).toMatch(/by admin$/)
  expect(
    await fact('Fingerprint')
      .innerText()
      .then((text) => text.replaceAll(' ', '')),
  ).toBe(known?.fingerprint.replace('SHA256:', ''))
  expect(await fact('Running jobs').innerText()).toBe('0 of 7')

  const id = await product.launch('gated')
  const running = page.getByRole('table', { name: 'Running here' })
  await running.getByRole('row').filter({ hasText: 'wait for gate 1' }).waitFor()
  await expect.poll(() => fact('Running jobs').innerText()).toBe('1 of 7')
  gatesIn(folder).open(1)
  await page.getByText('No job runs here.').waitFor()
  const ended = page.getByRole('table', { name: 'Last jobs' }).getByRole('row').filter({ hasText: 'Successful' })
  await ended.getByRole('link', { name: String(id) }).click()
  await heading(`Job ${id}`).waitFor()
  expect(await admin.faults()).toEqual([])
})

test('an admin turns a runner off, revokes it, lets it in again and makes it the default on its page', async () => {
  const { id } = (await runnerOf('test-runner', 'approved')) ?? { id: 0 }
  await open(`/runners/${id}`)
  const press = (name: string) => page.getByRole('button', { name, exact: true }).click()
  const confirm = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true }).click()
  const state = () => fact('State').innerText()
  await press('Take no new jobs')
  await expect.poll(state).toBe('Takes no jobs')
  await press('Take jobs again')
  await expect.poll(state).toBe('Online')
  await press('Revoke')
  await confirm('Revoke')
  await expect.poll(state).toBe('Revoked')
  expect(await page.getByLabel('Most jobs at once').count()).toBe(0)
  await press('Let it in again')
  await confirm('Let it in again')
  await expect.poll(state).toBe('Online')
  // It was the only approved runner, so it is the default one again.
  await press('No longer the default')
  await press('Make it the default')
  await page.getByRole('button', { name: 'No longer the default' }).waitFor()
  expect(await admin.faults()).toEqual([])
})

test('two hosts that ask under one name stand out, and what is removed on its page leads back to the list', async () => {
  const first = await greet(newIdentity('north'))
  await first.next('welcome')
  const second = await greet(newIdentity('north'), '127.0.0.7')
  expect((await second.waitForClose()).reason).toBe('denied')

  await open('/runners')
  const request = page.getByRole('listitem').filter({ hasText: 'Fingerprint' })
  await request.getByText('Somebody else asked under this name, with another key: test-host, from 127.0.0.7').waitFor()
  const denied = page.getByRole('row').filter({ hasText: 'Denied' })
  await denied.getByText('A runner with another key has this name.').waitFor()

  await denied.getByRole('link', { name: 'north' }).click()
  await heading('north').waitFor()
  await page.getByText('A runner with another key has this name.').waitFor()
  await page.getByRole('button', { name: 'Remove' }).click()
  await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click()
  await heading('Runners').waitFor()
  await request.getByRole('link', { name: 'north' }).waitFor()
  // The page first shows what it knew before.
  await expect.poll(() => page.getByText('Somebody else asked').count()).toBe(0)

  await request.getByRole('link', { name: 'north' }).click()
  await heading('north').waitFor()
  await page.getByLabel('I have compared it by eye').check()
  await page.getByRole('button', { name: 'Let it in' }).click()
  await expect.poll(() => fact('State').innerText()).toBe('Online')
  await first.leave()
})

test('a process that continues the identity of a runner stands out, with its address', async () => {
  const identity = newIdentity('south')
  const { token } = await product.admin.post<{ token: string }>('/runner/join-tokens', {})
  const url = product.address.replace(/^http/, 'ws') + SOCKET_PATH
  const right = await RawAgent.join(url, identity, { join_token: token })
  await open('/runners')
  const row = page.getByRole('row').filter({ hasText: 'south' })
  await row.getByText('Online').waitFor()
  const copy = await greet({ ...identity, instance: newIdentity('south').instance }, '127.0.0.8')
  expect((await copy.waitForClose()).reason).toBe('clone')
  const said = /^Another process used the identity of this runner: test-host, from 127\.0\.0\.8, \d\d:\d\d:\d\d\./
  await row.getByText(said).waitFor()
  await row.getByRole('link', { name: 'south' }).click()
  await heading('south').waitFor()
  await page.getByText(said).waitFor()
  await page.getByRole('button', { name: 'Accept the other process' }).waitFor()
  await right.leave()
  expect(await admin.faults()).toEqual([])
})

test('who is no admin is told that they may not see a runner', async () => {
  await product.admin.post('/user', { username: 'nora', password: ADMIN_PASSWORD, groups: [] })
  const nora = await newPerson(browser, product.address)
  const { id } = (await runnerOf('test-runner', 'approved')) ?? { id: 0 }
  await open(`/runners/${id}`, nora.page)
  await signInOn(nora.page, 'nora', ADMIN_PASSWORD)
  await nora.page.getByRole('alert').getByText('You may not see this').first().waitFor()
  expect(await nora.faults()).toEqual([])
  await nora.close()
})

test('the pages of runners are for everybody', async () => {
  // A name may be long, and a host that nobody knows says any text of itself.
  const name = `${'east'.repeat(12)}.example`
  const asking = await greet(newIdentity(name), undefined, 'h'.repeat(100))
  await asking.next('welcome')
  const refused = await greet(newIdentity(name), '127.0.0.9', 'h'.repeat(100))
  await refused.waitForClose()
  await open('/runners')
  await page.getByText('Somebody else asked under this name').first().waitFor()
  await expectForEverybody(page)
  for (const { id, name: shown } of await runners()) {
    await open(`/runners/${id}`)
    await heading(shown).waitFor()
    await fact('Fingerprint').waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    await expectForEverybody(page)
  }
  await asking.leave()
})
