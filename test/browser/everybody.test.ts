import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { accessFaults } from './kit/axe.js'
import { type Person, newPerson, startChromium } from './kit/chromium.js'

/** Pages for who has no mouse, a small screen, or needs large letters; with names that are longer than any screen. */
const LONG = 'an-exceptionally-long-name-without-any-blank-'.repeat(2)
const FORMS = {
  'all.yml': `- name: Everything
  type: ansible
  roles: [default]
  playbook: all.yml
  fields:
    - {name: text, label: Text, required: true}
    - {name: count, type: number, label: Count}
    - {name: pin, type: password, label: PIN}
    - {name: notes, type: textarea, label: Notes}
    - {name: data, type: yaml, label: Data}
    - {name: careful, type: checkbox, label: Careful}
    - {name: size, type: radio, label: Size, values: [small, medium, large], default: small}
    - {name: site, type: enum, label: Site, values: [north, south]}
    - {name: racks, type: enum, multiple: true, label: Racks, values: [r1, r2, r3]}
    - {name: day, type: datetime, dateType: date, label: Day}
    - {name: cert, type: file, label: Certificate}
    - {name: rows, type: list, label: Rows, subform: Row}
    - {name: path, type: expression, runLocal: true, label: Path, expression: "'/$(text)'"}
    - {name: hint, type: html, value: '<p>Read <a href="https://example.org/">this</a> first.</p>'}
- name: Row
  type: subform
  fields: [{name: door, label: Door, required: true}]
`,
  'hold.yml': `name: Hold
type: ansible
roles: [default]
playbook: hold.yml
fields: []
`,
  'steps.yml': `name: Steps of ${LONG}
type: multistep
roles: [default]
fields: []
steps: [{name: ${LONG}, type: ansible, playbook: long.yml}]
`,
  'long.yml': `name: ${LONG}
type: ansible
categories: [${LONG}]
description: ${LONG}
roles: [default]
playbook: long.yml
approval: {title: ${LONG}, message: ${LONG}, roles: [ops]}
fields:
  - {name: ${LONG.replaceAll('-', '_')}, label: ${LONG}, help: ${LONG}, default: ${LONG}}
  - {name: pick, type: enum, label: Pick, values: [${LONG}], default: ${LONG}}
  - {name: several, type: enum, multiple: true, label: ${LONG}, values: [${LONG}]}
  - {name: computed, type: expression, runLocal: true, label: ${LONG}, expression: "'${LONG}'"}
`,
}
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/admins]}
  - {name: ${LONG}, groups: [local/${LONG}]}
  - {name: default, groups: []}
`

let product: Product
let runner: ScriptedRunner
let browser: Browser
let admin: Person
let page: Page
/** Jobs: one that failed, one that waits for its approval, one of several steps. */
let jobs: readonly [failed: number, waiting: number, steps: number]

beforeAll(async () => {
  ;[browser, product] = await Promise.all([
    startChromium(),
    startProduct({ config: CONFIG, forms: FORMS, withAgent: false, agent: { RTE_NAME: LONG.slice(0, 60) } }),
  ])
  runner = await ScriptedRunner.join(product, 'scripted')
  runner.scripts.set('hold.yml', { holds: true })
  const fatal = { type: 'runner_on_failed', task: LONG, host: LONG, play: LONG }
  runner.scripts.set('long.yml', { exit: 2, output: `${LONG.repeat(20)}\n`.repeat(50), events: [fatal] })
  await product.admin.post('/user', { username: 'olga', password: ADMIN_PASSWORD, groups: [LONG] })
  await product.admin.post('/credential', { name: LONG, user: LONG, password: ADMIN_PASSWORD, host: LONG })
  const olga = await signIn(product.address, 'olga', ADMIN_PASSWORD)
  const launched = async () => (await olga.post<{ id: number }>('/job', { formName: LONG, rawFormData: {} })).id
  const steps = await product.launch(`Steps of ${LONG}`)
  jobs = [await launched(), await launched(), steps]
  await product.admin.post(`/job/${jobs[0]}/approve`)
  await product.waitForEnd(jobs[0])
  product.startAgent()
  admin = await newPerson(browser, product.address)
  ;({ page } = admin)
})
afterAll(async () => {
  await browser?.close()
  await runner?.leave()
  await product?.close()
})

/** Opens a page and waits until it is painted: Chromium drops keys that are pressed before that. */
async function open(path: string): Promise<void> {
  await page.goto(`${product.address}${path}`)
  await expect.poll(() => page.evaluate("performance.getEntriesByName('first-contentful-paint').length")).toBe(1)
}

/** What the focus is on, as people hear it; throws when nobody could see that it is there. */
async function focused(): Promise<string> {
  const [name, isVisible] = await page.evaluate<[string, boolean]>(`(() => {
    const one = document.activeElement
    const labels = [...(one.labels ?? [])].map((label) => label.innerText)
    const said = [one.getAttribute('aria-label') ?? '', ...labels, one.innerText ?? ''].find((text) => text.trim() !== '') ?? one.tagName
    const { outlineStyle, outlineWidth } = getComputedStyle(one)
    const { bottom, top, left, right } = one.getBoundingClientRect()
    const isInSight = bottom > 0 && top < innerHeight && right > 0 && left < innerWidth
    return [said.trim().split('\\n')[0], isInSight && outlineStyle !== 'none' && parseFloat(outlineWidth) > 0]
  })()`)
  if (!isVisible) throw new Error(`nobody sees that the focus is at ${name}`)
  return name
}

/** The same, once the page shows it: it may still be drawing. */
async function seenFocus(): Promise<string> {
  let at = ''
  await expect.poll(async () => (at = await focused())).not.toBe('')
  return at
}

/** Presses Tab until the focus is on this. */
async function tabTo(name: string): Promise<void> {
  const seen: string[] = []
  while (seen.length < 80) {
    await page.keyboard.press('Tab')
    const at = await seenFocus().catch((error: unknown) => {
      throw new Error(`Tab was to lead to ${name}, and led to ${seen.join(' | ')}`, { cause: error })
    })
    if (at.startsWith(name)) return
    seen.push(at)
  }
  throw new Error(`Tab does not lead to ${name}, only to ${seen.join(' | ')}`)
}

async function press(...keys: string[]): Promise<void> {
  for (const key of keys) await page.keyboard.press(key)
}

test('with the keyboard alone, and always seeing where one is, one signs in and fills in every type of field', async () => {
  await open('/forms')
  await page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await tabTo('Username')
  await page.keyboard.type('admin')
  await tabTo('Password')
  await page.keyboard.type(ADMIN_PASSWORD)
  await press('Enter')
  await page.getByRole('link', { name: 'Everything' }).waitFor()
  await tabTo('Everything')
  await press('Enter')
  await page.getByRole('textbox', { name: 'Text' }).waitFor()

  for (const [name, typed] of [
    ['Text', 'one'],
    ['Count', '3'],
    ['PIN', 'a pin'],
    ['Notes', 'some notes'],
    ['Data', 'a: 1'],
  ] as const) {
    await tabTo(name)
    await page.keyboard.type(typed)
  }
  await tabTo('Careful')
  await press('Space')
  await tabTo('small')
  await press('ArrowDown')
  await tabTo('Site')
  await page.keyboard.type('south')
  await tabTo('r2')
  await press('Space')
  await tabTo('Day')
  await page.keyboard.type('02022026')
  await tabTo('Certificate')
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), press('Enter')])
  await chooser.setFiles({ name: 'a.pem', mimeType: 'text/plain', buffer: Buffer.from('pem') })
  await page.getByText('a.pem, 3 bytes').waitFor()
  await tabTo('Add a row')
  await press('Enter')
  await page.getByRole('textbox', { name: 'Door' }).waitFor()
  await press('Shift+Tab', 'Shift+Tab')
  expect(await focused()).toContain('Door')
  await page.keyboard.type('cellar')
  await tabTo('What will run')
  await press('Enter')
  await page.getByText('"door": "cellar"').waitFor()
  await tabTo('Launch')
  await press('Enter')
  await page.getByRole('link', { name: 'Values', exact: true }).waitFor()
  await tabTo('Values')
  await press('Enter')
  const text = await page.getByRole('region', { name: 'Extra variables' }).innerText()
  expect(JSON.parse(text)).toMatchObject({
    text: 'one',
    count: 3,
    notes: 'some notes',
    data: { a: 1 },
    careful: true,
    size: 'medium',
    site: 'south',
    racks: ['r2'],
    day: '2026-02-02',
    rows: [{ door: 'cellar' }],
    path: '/one',
    cert: { originalname: 'a.pem' },
  })
  expect(await admin.faults()).toEqual([])
})

/** Every page that there is. */
const pages = () => [
  '/jobs',
  '/jobs?status=aborted',
  '/forms',
  '/forms/Everything',
  `/forms/${LONG}`,
  '/approvals',
  '/runners',
  '/runners/1',
  '/runners/2',
  '/me',
  ...[jobs[0], jobs[1]].flatMap((id) =>
    ['', '/tasks', '/timeline', '/values', '/history'].map((tab) => `/jobs/${id}${tab}`),
  ),
  `/jobs/${jobs[2]}/nodes`,
  '/users',
  '/users/2',
  '/roles',
  '/credentials',
  '/audit',
  '/settings',
  '/jobs/999',
]

test.each([
  ['of 320 px', 320, 640, 'light'],
  // What is left of 1280 px when everything is twice as large.
  ['at a zoom of 200 %', 640, 512, 'dark'],
] as const)(
  'no page has to be scrolled sideways in a window %s, and axe finds nothing',
  async (_what, width, height, colorScheme) => {
    await page.setViewportSize({ width, height })
    await page.emulateMedia({ colorScheme })
    const wide: [string, number][] = []
    for (const path of pages()) {
      await open(path)
      await page.getByRole('heading', { level: 1 }).first().waitFor()
      await page.getByText('Loading…').first().waitFor({ state: 'detached' })
      const over = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
      if (over > 0) wide.push([path, over])
      expect([path, await accessFaults(page)]).toEqual([path, []])
    }
    expect(wide).toEqual([])
  },
)

test('dialogs fit into a window of 320 px', async () => {
  await page.setViewportSize({ width: 320, height: 640 })
  await open(`/jobs/${jobs[1]}`)
  await page.getByRole('button', { name: 'Reject' }).click()
  const dialog = page.getByRole('dialog')
  await dialog.waitFor()
  const { x, width } = (await dialog.boundingBox()) ?? { x: -1, width: 0 }
  expect([x >= 0, x + width <= 320]).toEqual([true, true])
  expect(await dialog.evaluate((element) => element.scrollWidth - element.clientWidth)).toBe(0)
})

test('what an approval is about fits into a window of 320 px, too', async () => {
  await page.setViewportSize({ width: 320, height: 640 })
  await open('/approvals')
  await page.getByText('What will run').click()
  await page.getByRole('region', { name: /^Extra variables of job/ }).waitFor()
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  expect(await accessFaults(page)).toEqual([])
})
