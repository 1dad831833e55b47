import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Gates, gatesIn } from '../support/gated-playbook.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { type Person, newPerson, signInOn, startChromium } from './kit/chromium.js'

/**
 * Two people who have never seen the product play it from its first sign-in to a job that ends well. They only use what
 * stands on the pages: roles and names. No address but the first one is typed, and nothing is done at a terminal but
 * starting the runner agent, which is the host's.
 */
const playbook = (gates: string) => `- name: Servers
  hosts: all
  connection: local
  gather_facts: false
  tasks:
    - {name: Look, ansible.builtin.debug: {msg: "version {{ version }}"}}
    - name: Copy
      ansible.builtin.raw: touch ${gates}/at-1; until [ -e ${gates}/gate-1 ]; do sleep 0.05; done
      run_once: true
    - name: Restart
      ansible.builtin.assert:
        that: version != '1.4' or inventory_hostname != 'web2'
        fail_msg: the disk of web2 is full
`
const FORM = `name: Deploy
type: ansible
description: Brings a version to the servers
roles: [default]
playbook: deploy.yml
inventory: web1,web2,db1,
approval: {title: "Deploy $(version)?", roles: [ops]}
fields:
  - {name: version, type: text, label: Version, required: true}
`
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/admins]}
  - {name: default, groups: [], options: {allowJobRelaunch: true}}
`

let product: Product
let browser: Browser
let folder: string
let gates: Gates

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-story-'))
  gates = gatesIn(folder)
  ;[browser, product] = await Promise.all([
    startChromium(),
    startProduct({
      config: CONFIG,
      forms: { 'deploy.yml': FORM },
      playbooks: { 'deploy.yml': playbook(folder) },
      withAgent: false,
    }),
  ])
})
afterAll(async () => {
  await browser?.close()
  await product?.close()
  rmSync(folder, { recursive: true, force: true })
})

const button = ({ page }: Person, name: string) => page.getByRole('button', { name, exact: true })
const goTo = ({ page }: Person, name: string) => page.getByRole('banner').getByRole('link', { name }).click()
const isShown = ({ page }: Person, word: string) =>
  page
    .getByRole('main')
    .getByText(new RegExp(`^\\S?\\s*${word}$`))
    .first()
    .waitFor()

/** Adam adds Olga, who is no admin. */
async function addOlga(adam: Person): Promise<void> {
  await goTo(adam, 'Administration')
  const form = adam.page.getByRole('form', { name: 'Add a local user' })
  await form.getByLabel('Username').fill('olga')
  await form.getByLabel('change it at the next sign-in').uncheck()
  await form.getByLabel('Password').fill(ADMIN_PASSWORD)
  await form.getByRole('button', { name: 'Add' }).click()
  await adam.page.getByRole('link', { name: 'olga' }).waitFor()
}

/** A host asks to join, and Adam lets it in. */
async function letRunnerIn(adam: Person): Promise<void> {
  await goTo(adam, 'Runners')
  await adam.page.getByText('No runner yet.').waitFor()
  product.startAgent()
  const request = adam.page.getByRole('listitem').filter({ hasText: 'test-runner' })
  await request.getByText(/^(\S{4} )+\S{1,4}$/).waitFor()
  await request.getByRole('checkbox', { name: 'I have compared it by eye' }).check()
  await request.getByRole('button', { name: 'Let it in' }).click()
  await adam.page.getByRole('row').filter({ hasText: 'test-runner' }).getByText('Online').waitFor()
}

/** Adam sees in the head of the page that something waits for him, and approves it. */
async function approve(adam: Person, version: string): Promise<void> {
  await adam.page.getByRole('link', { name: /Approvals 1 job waits for you/ }).click()
  await adam.page.getByRole('heading', { name: `Deploy ${version}?` }).waitFor()
  // He sees what would run before he says yes to it.
  await adam.page.getByText('What will run').click()
  const variables = adam.page.getByRole('region', { name: /^Extra variables of job/ })
  await variables.getByText(`"version": "${version}"`).waitFor()
  await button(adam, 'Approve').click()
  await adam.page.getByText('Nothing waits for your approval.').waitFor()
}

test('two people let a runner in, launch, follow, find the failed host, and run again, only by what the pages show', async () => {
  const adam = await newPerson(browser, product.address)
  await adam.page.goto(product.address)
  await signInOn(adam.page, 'admin', ADMIN_PASSWORD)
  await addOlga(adam)
  await letRunnerIn(adam)

  const olga = await newPerson(browser, product.address)
  const { page } = olga
  await page.goto(product.address)
  await signInOn(page, 'olga', ADMIN_PASSWORD)
  await page.getByText('No job has run yet.').waitFor()
  await page.getByRole('link', { name: 'Launch a form' }).click()
  await page.getByRole('link', { name: 'Deploy' }).click()
  await page.getByRole('textbox', { name: 'Version' }).fill('1.4')
  await button(olga, 'Launch').click()
  await page.getByRole('heading', { name: 'Deploy 1.4?' }).waitFor()
  await isShown(olga, 'Waiting for approval')
  expect(await button(olga, 'Approve').getAttribute('aria-disabled')).toBe('true')
  await approve(adam, '1.4')

  // She follows it: what is printed comes by itself while the job runs, and where it is now stands above.
  const output = page.getByRole('region', { name: 'Output' })
  await output.getByText('version 1.4').first().waitFor()
  await page.getByText(/Copy on web1/).waitFor()
  await isShown(olga, 'Running')
  await goTo(adam, 'Jobs')
  await adam.page
    .getByRole('row')
    .filter({ hasText: 'Deploy' })
    .getByText(/Copy on web1/)
    .waitFor()
  gates.open()
  await isShown(olga, 'Failed')
  await output.getByText('the disk of web2 is full').first().waitFor()

  await page.getByRole('link', { name: 'Show what failed' }).click()
  await page.getByRole('gridcell', { name: 'Restart at web2: failed' }).click()
  const result = page.getByRole('dialog', { name: 'Restart at web2' })
  await result.getByRole('region', { name: 'Message' }).getByText('the disk of web2 is full').waitFor()
  await result.getByRole('link', { name: 'Show it in the output' }).click()
  await output.getByText('the disk of web2 is full').first().waitFor()

  await page.getByRole('link', { name: 'Run again with changes' }).click()
  const version = page.getByRole('textbox', { name: 'Version' })
  await expect.poll(() => version.inputValue()).toBe('1.4')
  await version.fill('1.5')
  await button(olga, 'Launch').click()
  await page.getByRole('heading', { name: 'Deploy 1.5?' }).waitFor()
  await approve(adam, '1.5')
  await isShown(olga, 'Successful')
  await page.getByText(/^Approved by admin,/).waitFor()
  await page.getByText('complete: equal to what the runner wrote').waitFor()

  await goTo(olga, 'Jobs')
  const rows = page.getByRole('row').filter({ hasText: 'Deploy' })
  await expect.poll(() => rows.count()).toBe(2)
  await rows.first().getByText('Successful').waitFor()
  await rows.last().getByText('Failed', { exact: false }).first().waitFor()
  expect([await adam.faults(), await olga.faults()]).toEqual([[], []])
})
