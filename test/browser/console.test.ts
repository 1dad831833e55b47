import { type Server, createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { accessFaultsInAllColors } from './kit/axe.js'
import { type Person, newPerson, signInOn, startChromium } from './kit/chromium.js'
import { expectForEverybody } from './kit/for-everybody.js'

/** The web console in a real browser, by what people see: roles and names. One product and one browser for all. */
const MARKUP = '<img src=x onerror=alert(1)><script>alert(2)</script>'
const FORMS = {
  'deploy.yml': `name: Deploy
type: ansible
description: Brings a version to the servers
roles: [default]
playbook: deploy.yml
approval: {title: "Deploy $(version)?", message: "Look at <b>$(version)</b> first. ${MARKUP}", roles: [ops]}
fields:
  - {name: version, type: text, label: Version, required: true, regex: {expression: '^\\d+\\.\\d+$', description: a version such as 1.2}}
  - {name: size, type: enum, label: Size, values: [small, large], default: small}
  - {name: careful, type: checkbox, label: Be careful, default: true}
`,
  'place.yml': `name: Place
type: ansible
roles: [default]
playbook: deploy.yml
fields:
  - {name: site, type: enum, label: Site, values: [north, south], default: south}
  - {name: rack, type: enum, label: Rack, runLocal: true, expression: "'$(site)' === 'north' ? ['n1', 'n2'] : ['s1']"}
  - {name: path, type: expression, label: Path, runLocal: true, expression: "'/$(site)/' + '$(rack)'"}
  - {name: tag, type: text, label: Tag, regex: {expression: '^[a-z]+$', description: small letters}}
  - {name: why, type: text, label: Why, dependencies: [{name: site, values: [north]}]}
`,
  'markup.yml': `name: ${JSON.stringify(`Odd ${MARKUP}`)}
type: ansible
description: ${JSON.stringify(MARKUP)}
roles: [default]
playbook: deploy.yml
fields:
  - {name: note, type: text, label: ${JSON.stringify(`Note ${MARKUP}`)}, help: ${JSON.stringify(MARKUP)}, default: ${JSON.stringify(MARKUP)}}
  - {name: text, type: html, value: ${JSON.stringify(`<p>Read <a href="javascript:alert(3)">this</a></p>${MARKUP}`)}}
`,
}
const PLAYBOOK = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: "version {{ version }} ${MARKUP}"}
    - ansible.builtin.fail: {msg: "the disk of web1 is full"}
`
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops]}
  - {name: default, groups: []}
`

let product: Product
let browser: Browser
let admin: Person

beforeAll(async () => {
  ;[browser, product] = await Promise.all([
    startChromium(),
    startProduct({
      config: CONFIG,
      forms: FORMS,
      playbooks: { 'deploy.yml': PLAYBOOK },
      withAgent: false,
    }),
  ])
  await product.admin.post('/user', { username: 'olga', password: ADMIN_PASSWORD, groups: ['ops'] })
  admin = await newPerson(browser, product.address)
})
afterAll(async () => {
  await browser?.close()
  await product?.close()
})

const open = (person: Person, path: string) => person.page.goto(`${product.address}${path}`)

test('while one types, the control plane says choices, computed values, problems, and what will run', async () => {
  const person = await newPerson(browser, product.address)
  const { page } = person
  await open(person, '/forms/Place')
  await signInOn(page, 'olga', ADMIN_PASSWORD)
  const rack = page.getByRole('combobox', { name: 'Rack' })
  await rack.getByRole('option', { name: 's1' }).waitFor({ state: 'attached' })
  expect(await page.getByRole('textbox', { name: 'Why' }).count()).toBe(0)

  await page.getByRole('combobox', { name: 'Site' }).selectOption('north')
  await rack.getByRole('option', { name: 'n2' }).waitFor({ state: 'attached' })
  await rack.selectOption('n2')
  await page.getByText('/north/n2', { exact: true }).waitFor()
  await page.getByRole('textbox', { name: 'Why' }).waitFor()

  const tag = page.getByRole('textbox', { name: 'Tag' })
  await tag.fill('BLUE')
  await page.getByText('small letters').waitFor()
  await tag.fill('blue')
  await page.getByText('small letters').waitFor({ state: 'detached' })
  await page.getByText('What will run').click()
  await page.getByText('"rack": "n2"').waitFor()
  expect(await person.faults()).toEqual([])
  await person.close()
})

test('a person lets a runner in, launches a form, has it approved, and reads why it failed', async () => {
  const { page } = admin
  await open(admin, '/jobs')
  await signInOn(page, 'admin', ADMIN_PASSWORD)
  await page.getByText('No job has run yet.').waitFor()
  const firstSteps = page.getByRole('region', { name: 'Get started' })
  await firstSteps.getByRole('listitem').filter({ hasText: 'Let a runner in' }).getByText('To do').waitFor()
  await firstSteps.getByRole('listitem').filter({ hasText: 'Have a form' }).getByText('Done').waitFor()
  await expectForEverybody(page)

  await firstSteps.getByRole('link', { name: 'Make a join token' }).click()
  product.startAgent()
  const request = page.getByRole('listitem').filter({ hasText: 'Fingerprint' })
  const shown = await request.getByText(/^(\S{4} )+\S{1,4}$/).innerText()
  await request.getByRole('textbox').fill('SHA256:AAAA')
  await request.getByText('It is different.', { exact: false }).waitFor()
  expect(await request.getByRole('button', { name: 'Let it in' }).getAttribute('aria-disabled')).toBe('true')
  await request.getByRole('textbox').fill(`SHA256:${shown}`)
  await request.getByText('It is the same.').waitFor()
  await request.getByRole('button', { name: 'Let it in' }).click()
  await page.getByRole('row').filter({ hasText: 'Online' }).waitFor()
  await page.getByRole('link', { name: 'Jobs' }).click()
  await firstSteps.getByText('can run playbooks.').waitFor()

  await page.getByRole('link', { name: 'Forms' }).click()
  await page.getByRole('link', { name: 'Deploy' }).click()
  await page.getByRole('textbox', { name: 'Version' }).fill('latest')
  await page.getByRole('button', { name: 'Launch' }).click()
  await page.getByText('a version such as 1.2').waitFor()
  await page.getByRole('textbox', { name: 'Version' }).fill('1.4')
  await page.getByRole('combobox', { name: 'Size' }).selectOption('large')
  await page.getByRole('button', { name: 'Launch' }).click()
  await page.getByRole('heading', { name: 'Job 1' }).waitFor()
  await page.getByRole('heading', { name: 'Deploy 1.4?' }).waitFor()

  const olga = await newPerson(browser, product.address)
  await open(olga, '/approvals')
  await signInOn(olga.page, 'olga', ADMIN_PASSWORD)
  await olga.page.getByRole('button', { name: 'Approve' }).click()
  await olga.page.getByText('Nothing waits for your approval.').waitFor()
  expect(await olga.faults()).toEqual([])
  await olga.close()

  // Nobody touches the first page: it hears of everything by itself.
  await page
    .getByText(/^✕\s*Failed$/)
    .first()
    .waitFor()
  await page.getByText('the disk of web1 is full').first().waitFor()
  await page.getByRole('link', { name: 'Values' }).click()
  await page.getByRole('region', { name: 'Field values' }).getByText('"large"').waitFor()
  await page.getByRole('link', { name: 'Jobs' }).click()
  await page.getByRole('row').filter({ hasText: 'Deploy' }).getByText('Failed').first().waitFor()
  expect(await admin.faults()).toEqual([])
})

/** Opens pages whose answers are changed on their way, as another service would give them. */
async function withAnswers(path: RegExp, change: (body: string) => string, look: () => Promise<void>): Promise<void> {
  const { page } = admin
  await page.route(path, async (route) => {
    try {
      const answer = await route.fetch()
      await route.fulfill({ response: answer, body: change(await answer.text()) })
    } catch {
      // The page was left meanwhile.
    }
  })
  await look()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
}

test('a user of another kind is shown with the kind', async () => {
  const { page } = admin
  const change = (body: string) => body.replace(/"(user_type|decided_by_type)":"local"/g, '"$1":"ldap"')
  await withAnswers(/\/api\/v2\/job/, change, async () => {
    await open(admin, '/jobs')
    await page.getByRole('cell', { name: 'admin (ldap)' }).first().waitFor()
    await open(admin, '/jobs/1')
    await page.getByText('admin (ldap)', { exact: true }).waitFor()
    await page.getByText('Approved by olga (ldap)').waitFor()
  })
})

test('what a sign-in left out is said on the page of the account', async () => {
  const { page } = admin
  const change = (body: string) => body.replace('{', '{"groupsLeftOut":1003,"rolesWithheld":["operators"],')
  await withAnswers(/\/api\/v2\/profile$/, change, async () => {
    await open(admin, '/me')
    await page.getByText('1003 more groups were too many').waitFor()
    await page.getByText('Not given: operators.').waitFor()
  })
})

/** The smallest window for which pages are made. */
const NARROW = { width: 320, height: 720 }

const PAGES = [
  '/jobs',
  '/jobs/1',
  '/jobs/1/history',
  '/forms',
  '/forms/Deploy',
  '/approvals',
  '/runners',
  '/me',
  '/jobs/99',
]

test('every page is for everybody: axe finds nothing in light and in dark colours', async () => {
  const { page } = admin
  for (const path of PAGES) {
    await open(admin, path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    expect([path, await accessFaultsInAllColors(page)]).toEqual([path, []])
  }
})

test('without JavaScript every page says what to use instead', async () => {
  const person = await newPerson(browser, product.address, { javaScriptEnabled: false, viewport: NARROW })
  for (const path of PAGES) {
    await open(person, path)
    const main = person.page.getByRole('main')
    await main.getByRole('heading', { level: 1, name: 'Holdfast needs JavaScript for its pages' }).waitFor()
    await main.getByText('holdfast --help').waitFor()
    expect([path, await person.page.getByRole('textbox').count()]).toEqual([path, 0])
    expect(await person.page.evaluate('document.documentElement.scrollWidth')).toBe(NARROW.width)
  }
  await person.page.getByRole('link', { name: 'OpenAPI document' }).click()
  await person.page.getByText('"openapi"').waitFor()
  expect(await person.faults()).toEqual([])
  await person.close()
})

test('a page of another origin can do nothing with the cookie', async () => {
  const evil: Server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html')
    response.end('<title>evil</title>')
  })
  await new Promise<void>((resolve) => evil.listen(0, '127.0.0.1', resolve))
  try {
    const tab = await admin.context.newPage()
    await tab.goto(`http://127.0.0.1:${(evil.address() as AddressInfo).port}/`)
    const target = JSON.stringify(`${product.address}/api/v2`)
    const user = JSON.stringify(JSON.stringify({ username: 'mallory', password: ADMIN_PASSWORD }))
    const tried = await tab.evaluate<string[]>(`Promise.all([
      fetch(${target} + '/user', { method: 'POST', credentials: 'include', mode: 'no-cors', body: ${user} }),
      fetch(${target} + '/user', { method: 'POST', credentials: 'include', body: ${user},
        headers: { 'content-type': 'application/json', 'x-holdfast-page': '1' } }),
      fetch(${target} + '/profile', { credentials: 'include' }),
      new Promise((resolve, reject) => {
        const source = new EventSource(${target} + '/events', { withCredentials: true })
        source.onmessage = source.onopen = () => resolve('heard')
        source.onerror = () => { source.close(); reject(new Error('nothing')) }
      }),
    ].map((one) => one.then((answer) => answer.type ?? answer, () => 'refused')))`)
    expect(tried).toEqual(['refused', 'refused', 'refused', 'refused'])
    await tab.close()
    const users = JSON.stringify(await product.admin.get('/user'))
    expect(users).toContain('olga')
    expect(users).not.toContain('mallory')
  } finally {
    evil.close()
  }
})
