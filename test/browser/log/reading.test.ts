import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../../support/product.js'
import { waitFor } from '../../support/wait.js'
import { accessFaults } from '../kit/axe.js'
import { startChromium, userMenuOf } from '../kit/chromium.js'
import { linesIn } from './log-window.js'
import { type SignedInPage, openSignedIn } from './signed-in.js'

/** Reading the output of a job that has ended: a long one, of a real playbook. One product and one browser for all. */
const LINES = 2_500
const PLAYBOOK = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - {name: Name the hosts, ansible.builtin.add_host: {name: "{{ item }}", groups: web, ansible_connection: local}, loop: [web1, web2]}
- name: Servers
  hosts: web
  gather_facts: false
  tasks:
    - {name: Tell, ansible.builtin.debug: {msg: "{{ range(${LINES / 2}) | map('string') | list }}"}}
    - {name: Tell more, ansible.builtin.debug: {msg: more}}
    - {name: Write, diff: true, ansible.builtin.copy: {dest: "{{ playbook_dir }}/{{ inventory_hostname }}", content: "one\\ntwo\\n"}}
    - {name: Write again, diff: true, ansible.builtin.copy: {dest: "{{ playbook_dir }}/{{ inventory_hostname }}", content: "one\\n2\\n"}}
    - {name: Check, ansible.builtin.assert: {that: inventory_hostname != 'web2', fail_msg: the disk is full}}
`
const FORM = 'name: Check\ntype: ansible\nroles: [default]\nplaybook: check.yml\nfields: []\n'

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
  await product.waitForEnd(job)
  signedIn = await openSignedIn(browser, product.address, { viewport: { width: 1180, height: 720 } })
})
afterAll(async () => {
  await browser?.close()
  await product?.close()
})

const shown = () =>
  linesIn({ evaluate: (expression) => signedIn.page.evaluate(expression), press: () => Promise.resolve() })
const open = async (path: string) => {
  await signedIn.page.goto('about:blank')
  await signedIn.page.goto(`${product.address}/jobs/${job}${path}`)
}
const texts = async () => (await shown()).map(({ text }) => text)

test('of a long output, tasks without failure and change are folded, and what was read stands there again after a reload', async () => {
  const { page, problems } = signedIn
  await open('')
  await page.getByText('fatal: [web2]').first().waitFor()
  await page.focus('.log-scroller')
  await page.keyboard.press('Home')
  await page
    .locator('.log-summary')
    .getByText(/^2 ok · /)
    .first()
    .waitFor()
  expect(await texts()).toContainEqual(expect.stringContaining('TASK [Tell]'))
  expect(await texts()).not.toContainEqual(expect.stringContaining(`"${LINES / 4}"`))

  await page.getByRole('button', { name: 'Unfold all' }).click()
  await page.focus('.log-scroller')
  for (let times = 0; times < 5; times += 1) await page.keyboard.press('PageDown')
  await expect.poll(texts).toContainEqual(expect.stringMatching(/"\d+",/))
  // What the last key moved is painted in the next frame.
  await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))')
  const before = await shown()
  const isAsBefore = () =>
    waitFor('the same place', async () => JSON.stringify((await shown())[0]) === JSON.stringify(before[0]))
  // The place is noted a moment after the last move.
  await expect.poll(() => page.evaluate('history.state?.log?.line')).toBe(before[0]?.line)
  await page.reload()
  await isAsBefore()
  await page.getByRole('link', { name: 'Values' }).click()
  await page.getByRole('region', { name: 'Extra variables' }).waitFor()
  await page.goBack()
  await isAsBefore()
  expect(await page.getByRole('button', { name: 'Unfold all' }).count()).toBe(0)

  // A link to a line of a task that would be folded leads to it.
  await open('#L300')
  await page.getByRole('button', { name: 'Unfold all' }).waitFor()
  await expect.poll(async () => (await shown()).map(({ line }) => line)).toContain(299)
  expect(problems).toEqual([])
})

test('the output of one host, and that of one task, can be read alone', async () => {
  const { page, problems } = signedIn
  await open('/tasks')
  await page.getByRole('gridcell', { name: 'Check at web2: failed' }).click()
  await page.getByRole('link', { name: 'All output of web2' }).click()
  await page.getByText('Only what was printed for web2.').waitFor()
  await page.getByText('fatal: [web2]').first().waitFor()
  await page.focus('.log-scroller')
  await page.keyboard.press('/')
  await page.locator('.log-find input[type=search]:focus').waitFor()
  await page.keyboard.type('web1')
  await page.locator('.log-find').getByText('Nothing found').waitFor()
  await page.keyboard.press('Control+a')
  await page.keyboard.type('OK: [web2]')
  await page.locator('.log-text mark').getByText('ok: [web2]').first().waitFor()
  expect(await accessFaults(page)).toEqual([])

  await open('/tasks')
  await page
    .getByRole('rowheader', { name: /^Check/ })
    .getByRole('link')
    .click()
  await page.getByText('Only what was printed for Check.').waitFor()
  await page.getByText('ok: [web1]').waitFor()
  expect(await texts()).not.toContainEqual(expect.stringContaining('changed:'))
  await page.getByRole('link', { name: 'Show all of the output' }).click()
  await page.getByText('PLAY RECAP').waitFor()
  expect(problems).toEqual([])
})

test('what a task changed in a file is shown line by line', async () => {
  const { page, problems } = signedIn
  await open('/tasks')
  await page.getByRole('gridcell', { name: 'Write again at web1: changed' }).click()
  const difference = page.getByRole('region', { name: 'Difference' })
  await difference.waitFor()
  expect((await difference.innerText()).trim().split('\n').slice(-3)).toEqual([' one', '-two', '+2'])
  expect(await accessFaults(page)).toEqual([])
  expect(problems).toEqual([])
})

test.each(['light', 'dark'] as const)(
  'colours and focus are seen in the colours that somebody chose, with a system that is %s',
  async (colorScheme) => {
    const { page } = signedIn
    await page.emulateMedia({ colorScheme })
    await open('')
    await userMenuOf(page, 'admin').click()
    await page.getByRole('combobox', { name: 'Colours' }).selectOption(colorScheme === 'light' ? 'dark' : 'light')
    await page.keyboard.press('Escape')
    await page.getByText('fatal: [web2]').first().waitFor()
    expect(await accessFaults(page)).toEqual([])
    await page.focus('.log-scroller')
    await page.keyboard.press('PageUp')
    expect(
      await page
        .locator('.log-scroller')
        .evaluate((one) => one.ownerDocument.defaultView?.getComputedStyle(one).outlineStyle),
    ).toBe('solid')
    await userMenuOf(page, 'admin').click()
    await page.getByRole('combobox', { name: 'Colours' }).selectOption('system')
    await page.emulateMedia({ colorScheme: 'light' })
  },
)

test('only the events of the lines in the window are loaded', async () => {
  const { page, problems } = signedIn
  const loaded: { line: number; order: number }[] = []
  const asked: Promise<unknown>[] = []
  page.on('response', (response) => {
    if (!response.url().includes('/events?')) return
    asked.push(response.json().then(({ records }: { records: typeof loaded }) => loaded.push(...records)))
  })
  await open('#L1')
  await page.locator('.log-bar[title=localhost]').first().waitFor()
  await Promise.all(asked)
  const lines = await shown()
  const { count } = await product.admin.get<{ count: number }>(`/job/${job}/events`)
  expect(loaded.length).toBeGreaterThan(0)
  expect(loaded.filter(({ line }) => line > (lines.at(-1)?.line ?? 0))).toEqual([])
  expect(loaded.length).toBeLessThan(count / 2)
  expect(problems).toEqual([])
})
