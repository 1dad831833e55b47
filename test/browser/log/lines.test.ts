import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../../support/product.js'
import { accessFaults } from '../kit/axe.js'
import { startChromium } from '../kit/chromium.js'
import { linesIn } from './log-window.js'
import { type SignedInPage, openSignedIn } from './signed-in.js'

/**
 * What a line of the output knows of its event: its host, its time, its result, and links to it. One real job is read
 * while it runs, and after its end.
 */
const folder = mkdtempSync(join(tmpdir(), 'holdfast-gates-'))
const gate = (number: number) => `until [ -e ${folder}/gate-${number} ]; do sleep 0.05; done`
const PLAYBOOK = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - {name: Name the hosts, ansible.builtin.add_host: {name: "{{ item }}", groups: web, ansible_connection: local}, loop: [web1, web2]}
    - {name: Name one that is away, ansible.builtin.add_host: {name: away, groups: web, ansible_host: 127.0.0.1, ansible_port: 1}}
- name: Servers
  hosts: web
  gather_facts: false
  tasks:
    - {name: Tell, ansible.builtin.debug: {msg: "hello from {{ inventory_hostname }}"}}
    - {name: Write, ansible.builtin.raw: echo written}
    - {name: Wait, ansible.builtin.raw: "${gate(1)}", run_once: true, changed_when: false}
    - name: Each
      ansible.builtin.debug: {msg: "item {{ item }} {{ 'wide ' * 100 }}"}
      loop: [one, two]
      failed_when: inventory_hostname == 'web2' and item == 'two'
      ignore_errors: true
    - {name: Wait again, ansible.builtin.raw: "${gate(2)}", run_once: true, changed_when: false}
    - {name: Check, ansible.builtin.assert: {that: inventory_hostname != 'web2', fail_msg: the disk is full}}
- {name: For nobody, hosts: nobody, tasks: []}
`
const FORM = 'name: Check\ntype: ansible\nroles: [default]\nplaybook: check.yml\nfields: []\n'

interface EventRecord {
  readonly order: number
  readonly type: string
  readonly task: string | null
  readonly host: string | null
  readonly time: string
  readonly line: number | null
}

let product: Product
let browser: Browser
let signedIn: SignedInPage
let job: number

beforeAll(async () => {
  ;[browser, product] = await Promise.all([
    startChromium(),
    startProduct({ forms: { 'check.yml': FORM }, playbooks: { 'check.yml': PLAYBOOK } }),
  ])
  job = await product.launch('Check')
  signedIn = await openSignedIn(browser, product.address, {
    viewport: { width: 1180, height: 720 },
    permissions: ['clipboard-read', 'clipboard-write'],
  })
  // A loaded machine takes longer than the usual half a minute.
  signedIn.context.setDefaultTimeout(200_000)
})
afterAll(async () => {
  await browser?.close()
  await product?.close()
  rmSync(folder, { recursive: true, force: true })
})

const openGate = (number: number) => writeFileSync(join(folder, `gate-${number}`), '')
const open = async (path: string) => {
  await signedIn.page.goto('about:blank')
  await signedIn.page.goto(`${product.address}/jobs/${job}${path}`)
}
const shown = () =>
  linesIn({ evaluate: (expression) => signedIn.page.evaluate(expression), press: () => Promise.resolve() })
const texts = async () => (await shown()).map(({ text }) => text)
const output = () => signedIn.page.getByRole('region', { name: 'Output' })
const rowOf = (line: number) => output().locator(`[data-line="${line}"]`)
const markedLines = () =>
  signedIn.page.locator('.log-marked').evaluateAll((rows) => rows.map((row) => Number(row.getAttribute('data-line'))))
const copied = () => signedIn.page.evaluate<string>('navigator.clipboard.readText()')
const filter = (name: string) =>
  signedIn.page.getByRole('toolbar').getByRole('button', { name: new RegExp(`^${name}`) })

/** The event of a task at a host, once its output is there. */
async function eventOf(task: string, host: string, type = 'runner_on_ok'): Promise<EventRecord & { line: number }> {
  let found: EventRecord | undefined
  const look = async () => {
    const path = `/job/${job}/events?task=${encodeURIComponent(task)}&host=${host}&type=${type}`
    found = (await product.admin.get<{ records: EventRecord[] }>(path)).records[0]
    return found?.line ?? null
  }
  await expect.poll(look).not.toBeNull()
  return found as EventRecord & { line: number }
}

/** A task of the outline. `line` is where its heading stands. */
async function taskOf(name: string): Promise<{ id: number; line: number } | undefined> {
  const path = `/job/${job}/outline`
  const { records } = await product.admin.get<{ records: { id: number; line: number; name: string }[] }>(path)
  return records.find((record) => record.name === name)
}

test('while a job runs, the output of a host and of an outcome grows by itself, and links lead to what comes later', async () => {
  const { page, problems, context } = signedIn
  const { line } = await eventOf('Tell', 'web2')
  await open('#H=web2')
  await expect.poll(markedLines).toContain(line)
  expect((await shown()).find((one) => one.line === line)?.text).toContain('ok: [web2]')

  // A task that has not begun. Its number is the next one after that of the task that waits.
  await expect.poll(() => taskOf('Wait')).toBeDefined()
  const later = Number((await taskOf('Wait'))?.id) + 1
  await open(`#T${later}`)
  await page.getByText('PLAY [localhost]').waitFor()
  const [ofHost, ofFailed] = [await context.newPage(), await context.newPage()]
  await ofHost.goto(`${product.address}/jobs/${job}?host=web1`)
  await ofHost.getByText('hello from web1').waitFor()
  await ofFailed.goto(`${product.address}/jobs/${job}?outcome=failed`)
  await ofFailed.getByText('0 lines · More may come').first().waitFor()

  openGate(1)
  await ofHost.getByText('(item=two)').first().waitFor()
  await ofFailed.getByText('failed: [web2] (item=two)').first().waitFor()
  expect(await ofHost.locator('.log-text').allInnerTexts()).not.toContainEqual(expect.stringContaining('web2'))
  // Either host may be the first under the heading.
  const heading = Number((await taskOf('Each'))?.line)
  await expect.poll(markedLines).toContain(heading + 1)
  expect(await rowOf(heading + 1).innerText()).toContain('TASK [Each]')

  openGate(2)
  await product.waitForEnd(job)
  for (const tab of [ofHost, ofFailed]) {
    await tab.getByText('All of the output is here').first().waitFor()
    await tab.close()
  }
  expect(problems).toEqual([])
})

test('a link to an event leads to all of its lines, and one to nothing says so', async () => {
  const { page, problems } = signedIn
  const event = await eventOf('Tell', 'web1')
  await open(`#E${event.order}`)
  await expect.poll(markedLines).toEqual([event.line, event.line + 1, event.line + 2])
  await open('#E123456')
  await page.getByText('The address names something that this output does not have.').waitFor()
  expect(problems).toEqual([])
})

test('each line has the colour of its host, and its time when somebody wants it', async () => {
  const { page, problems } = signedIn
  const [one, two] = [await eventOf('Tell', 'web1'), await eventOf('Tell', 'web2')]
  await open(`#L${one.line + 1}`)
  const barOf = (line: number) => rowOf(line).locator('.log-bar')
  await expect.poll(() => barOf(one.line).getAttribute('title')).toBe('web1')
  await expect.poll(() => barOf(two.line).getAttribute('title')).toBe('web2')
  expect(await barOf(one.line).getAttribute('class')).not.toBe(await barOf(two.line).getAttribute('class'))

  await output().focus()
  await page.keyboard.press('t')
  const clock = await page.evaluate<string>(`new Date(${JSON.stringify(one.time)}).toLocaleTimeString('en-GB')`)
  await rowOf(one.line).getByText(clock).waitFor()
  expect(await accessFaults(page)).toEqual([])
  await page.getByRole('button', { name: 'Times: clock' }).click()
  await rowOf(one.line)
    .getByText(/^\d:\d\d:\d\d\.\d$/)
    .waitFor()
  // The text begins to the right of its time, also when it is wrapped.
  await page.getByRole('button', { name: 'Wrap lines' }).click()
  const [time, text] = [rowOf(one.line).locator('.log-time'), rowOf(one.line).locator('.log-text')]
  const edges = await Promise.all([
    time.evaluate((element) => element.getBoundingClientRect().right),
    text.evaluate((element) => {
      const range = element.ownerDocument.createRange()
      range.selectNodeContents(element)
      return range.getBoundingClientRect().left
    }),
  ])
  expect(edges[0]).toBeLessThanOrEqual(edges[1])
  expect(await page.locator('.log-sheet').evaluate((sheet) => sheet.scrollWidth - sheet.clientWidth)).toBe(0)
  await page.getByRole('button', { name: 'Times: since the start' }).click()
  await expect.poll(() => rowOf(one.line).locator('.log-time').innerText()).toBe('')
  expect(problems).toEqual([])
})

test('the menu of a line copies links and output, and opens the result', async () => {
  const { page, problems } = signedIn
  const failure = await eventOf('Check', 'web2', 'runner_on_failed')
  await open(`#L${failure.line + 1}-${failure.line + 2}`)
  await rowOf(failure.line).waitFor()
  await output().focus()
  await page.keyboard.press('m')
  const menu = page.getByRole('menu', { name: `Line ${failure.line + 1}` })
  await menu.getByText('web2').first().waitFor()
  expect(await accessFaults(page)).toEqual([])
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Copy the link to these lines')
  await page.keyboard.press('Enter')
  await page.getByRole('status').getByText('Copied').waitFor()
  expect(await copied()).toBe(`${product.address}/jobs/${job}#L${failure.line + 1}-${failure.line + 2}`)
  await expect.poll(() => page.evaluate('document.activeElement.className')).toContain('log-scroller')

  // The same menu by the pointer.
  await rowOf(failure.line).locator('.log-text').hover()
  await page.getByRole('button', { name: 'Menu of this line' }).click()
  await menu.getByRole('menuitem', { name: 'Copy all output of web2' }).click()
  await expect.poll(copied).toContain('the disk is full')
  expect(await copied()).not.toContain('web1')
  expect(await copied()).not.toContain('\x1b')

  await page.keyboard.press('Shift+F10')
  await page.keyboard.press('ArrowUp')
  await page.keyboard.press('ArrowUp')
  await expect.poll(() => page.evaluate('document.activeElement.textContent')).toBe('Open the result')
  await page.keyboard.press('Enter')
  const dialog = page.getByRole('dialog', { name: 'Check at web2' })
  await dialog.getByRole('region', { name: 'Message' }).getByText('the disk is full').waitFor()
  await page.keyboard.press('Escape')
  await dialog.waitFor({ state: 'detached' })
  expect(problems).toEqual([])
})

test('filters show only what failed, changed, was unreachable or is a warning, of all hosts or of one', async () => {
  const { page, problems } = signedIn
  await open('')
  // What the output tells of has its number, and what it does not tell of is not there.
  const numbered = () => signedIn.page.getByRole('toolbar').locator('.log-outcome').allInnerTexts()
  await expect.poll(numbered).toEqual(['Failed2', 'Changed4', 'Unreachable1', expect.stringMatching(/^Warnings[1-9]/)])
  await filter('Unreachable').click()
  await page.getByText('fatal: [away]: UNREACHABLE!').first().waitFor()
  await page.getByText('All of the output is here').first().waitFor()
  expect((await texts()).filter((text) => /\[web\d\]/.test(text))).toEqual([])

  await filter('Failed').click()
  await page.getByText('fatal: [web2]: FAILED!').first().waitFor()
  await page.getByText('failed: [web2] (item=two)').first().waitFor()
  await filter('Unreachable').click()
  await page.getByText('fatal: [away]').waitFor({ state: 'detached' })
  expect(new URL(page.url()).search).toBe('?outcome=failed')

  await open('?host=web1')
  await page.getByText('Only what was printed for web1.').waitFor()
  await filter('Changed').click()
  await page.getByText('changed: [web1]').first().waitFor()
  await page.getByText('All of the output is here').first().waitFor()
  expect((await texts()).filter((text) => !text.startsWith('changed: [web1]'))).toEqual([])
  expect(await filter('Changed').getAttribute('aria-pressed')).toBe('true')

  await open('?outcome=warnings')
  await page.getByText('Could not match supplied host pattern').first().waitFor()
  await page.getByText('All of the output is here').first().waitFor()
  expect(await texts()).not.toContainEqual(expect.stringContaining('hello from'))
  expect(await accessFaults(page)).toEqual([])
  expect(problems).toEqual([])
})

test('a reload shows the output as it was: wrapped, with times, the word that was looked for, and the filter', async () => {
  const { page, problems } = signedIn
  await open('?host=web2')
  await page.getByText('All of the output is here').first().waitFor()
  await output().focus()
  await page.keyboard.press('Control+f')
  await page.getByLabel('Find in the output').fill('item=TWO')
  await page.locator('mark').first().waitFor()
  await page.keyboard.press('Escape')
  await page.keyboard.press('Control+f')
  await page.getByLabel('Find in the output').fill('ITEM')
  await page.locator('mark').first().waitFor()
  await page.getByRole('button', { name: 'Wrap lines' }).click()
  await page.getByRole('button', { name: 'Times', exact: true }).click()
  await expect.poll(() => page.evaluate('history.state?.log?.times')).toBe(1)
  await page.reload()
  await page.getByText('Only what was printed for web2.').waitFor()
  await page.locator('mark').first().waitFor()
  expect(await page.getByLabel('Find in the output').inputValue()).toBe('ITEM')
  expect(await page.getByRole('button', { name: 'Wrap lines' }).getAttribute('aria-pressed')).toBe('true')
  expect(await page.getByRole('button', { name: 'Times: clock' }).getAttribute('aria-pressed')).toBe('true')
  expect(problems).toEqual([])
})
