import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { runEvents } from '../support/run-events.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { type Person, newPerson, signInOn, startChromium } from './kit/chromium.js'

const FORM = 'name: Odd\ntype: ansible\nroles: [default]\nplaybook: odd.yml\nfields: []\n'

let product: Product
let runner: ScriptedRunner
let browser: Browser
let admin: Person

beforeAll(async () => {
  ;[browser, product] = await Promise.all([
    startChromium(),
    startProduct({ forms: { 'odd.yml': FORM }, withAgent: false }),
  ])
  runner = await ScriptedRunner.join(product, 'scripted')
  const events = runEvents([
    { name: 'Usual', at: 1, hosts: { web1: ['ok', 2] } },
    { name: 'Odd', at: 3, hosts: { web1: ['ok', 4] } },
  ])
  // As a playbook may write it that writes events itself.
  const oddly = events.map((event) => ('task' in event && event.task === 'Odd' ? { ...event, time: 'soon' } : event))
  runner.scripts.set('odd.yml', { output: 'ok: [web1]\n', events: oddly })
  await product.waitForEnd(await product.launch('Odd'))
  admin = await newPerson(browser, product.address)
  await admin.page.goto(`${product.address}/jobs`)
  await signInOn(admin.page, 'admin', ADMIN_PASSWORD)
})
afterAll(async () => {
  await browser?.close()
  await runner?.leave()
  await product?.close()
})

test('an event with a text as its time breaks no page', async () => {
  const { page } = admin
  await page.goto(`${product.address}/jobs/1/timeline`)
  const tasks = page.getByRole('region', { name: 'Plays and tasks' })
  await tasks.getByRole('row', { name: /^Usual/ }).waitFor()
  expect(await tasks.getByRole('row', { name: /^Odd/ }).count()).toBe(0)
  await page.getByRole('combobox', { name: 'Rows' }).selectOption('host')
  await tasks.getByRole('row', { name: /^web1/ }).waitFor()

  await page.goto(`${product.address}/jobs/1/tasks`)
  await page.getByRole('gridcell', { name: 'Odd at web1: ok' }).click()
  await page.getByRole('dialog', { name: 'Odd at web1' }).waitFor()
  expect(await admin.faults()).toEqual([])
})
