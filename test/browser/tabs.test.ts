import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { type Person, newPerson, signInOn, signOutOf, startChromium } from './kit/chromium.js'

/**
 * Many tabs of one browser, which opens only six connections to a server: one event stream for all of them, and an output
 * that is followed only where somebody sees it.
 */
const TABS = 12
const FORM = `name: Hold
type: ansible
roles: [default]
playbook: hold.yml
fields: []
`
/** A browser of the tests shows all its tabs at once. So each is told whether another one is in front of it. */
const BEHIND = `Object.defineProperty(document, 'hidden', { get: () => globalThis.isBehind === true })
Object.defineProperty(document, 'visibilityState', { get: () => document.hidden ? 'hidden' : 'visible' })`

let product: Product
let runner: ScriptedRunner
let browser: Browser

beforeAll(async () => {
  ;[browser, product] = await Promise.all([
    startChromium(),
    startProduct({ forms: { 'hold.yml': FORM }, withAgent: false }),
  ])
  runner = await ScriptedRunner.join(product, 'scripted')
  runner.scripts.set('hold.yml', { holds: true })
})
afterAll(async () => {
  await browser?.close()
  await runner?.leave()
  await product?.close()
})

async function put(page: Page, where: 'in front' | 'behind'): Promise<void> {
  const isBehind = String(where === 'behind')
  await page.evaluate(`globalThis.isBehind = ${isBehind}; document.dispatchEvent(new Event('visibilitychange'))`)
}

/** Event streams that are open at the control plane. */
async function openStreams(): Promise<number> {
  const { bytes } = await product.admin.raw('/metrics')
  return Number(/^holdfast_live_streams (\d+)$/m.exec(bytes.toString())?.[1])
}

/** Answers with followed output that are open in a browser. */
function openFollowers(person: Person): () => number {
  const open = new Set<object>()
  person.context.on('request', (request) => void (request.url().includes('follow=true') && open.add(request)))
  person.context.on('requestfinished', (request) => void open.delete(request))
  person.context.on('requestfailed', (request) => void open.delete(request))
  return () => open.size
}

async function announce(announcement: string): Promise<void> {
  const answer = await product.admin.request('PUT', '/settings/appearance', { announcement })
  expect(answer.status).toBe(200)
}

test(`${TABS} tabs of a browser load and hear of changes over one event stream, and only the one in front follows output`, async () => {
  const id = await product.launch('Hold')
  const person = await newPerson(browser, product.address)
  await person.context.addInitScript(BEHIND)
  const followers = openFollowers(person)
  await person.page.goto(`${product.address}/jobs/${id}`)
  await signInOn(person.page, 'admin', ADMIN_PASSWORD)
  await person.page
    .getByText(/This job has (printed|written) nothing yet|0 lines/)
    .first()
    .waitFor()

  const tabs = [person.page]
  while (tabs.length < TABS) {
    await put(tabs.at(-1) as Page, 'behind')
    const tab = await person.newTab()
    await tab.goto(`${product.address}${tabs.length % 3 === 0 ? '/runners' : `/jobs/${id}`}`)
    await tab.getByRole('heading', { level: 1, name: /^Job|^Runners/ }).waitFor()
    tabs.push(tab)
  }
  await expect.poll(openStreams).toBe(1)
  await expect.poll(followers).toBe(1)

  // What is behind waits. It reads again when it comes to the front.
  await announce('The service stops at noon')
  await tabs.at(-1)?.getByText('The service stops at noon').waitFor()
  expect(await person.page.getByText('The service stops at noon').count()).toBe(0)
  await put(tabs.at(-1) as Page, 'behind')
  for (const tab of tabs) {
    await put(tab, 'in front')
    await tab.getByText('The service stops at noon').waitFor()
    await expect.poll(followers).toBe(tab.url().includes('/jobs/') ? 1 : 0)
    await put(tab, 'behind')
  }
  await expect.poll(followers).toBe(0)
  expect(await openStreams()).toBe(1)

  // Another browser has a stream of its own, which ends with its last tab.
  const other = await newPerson(browser, product.address)
  await other.page.goto(product.address)
  await signInOn(other.page, 'admin', ADMIN_PASSWORD)
  await expect.poll(openStreams).toBe(2)
  await other.close()
  await expect.poll(openStreams).toBe(1)

  // The tab that began it may go.
  await tabs.shift()?.close()
  await announce('It stops at one')
  await put(tabs[0] as Page, 'in front')
  await tabs[0]?.getByText('It stops at one').waitFor()
  expect(await openStreams()).toBe(1)

  await signOutOf(tabs[0] as Page, 'admin')
  await tabs[0]?.getByRole('heading', { name: 'Sign in' }).waitFor()
  for (const tab of tabs.slice(1)) await tab.getByRole('dialog', { name: 'Your session is over' }).waitFor()
  await expect.poll(openStreams).toBe(0)
  expect(await person.faults()).toEqual([])
  await person.close()
})
