import type { Browser, Page } from 'playwright-core'
import { beforeAll, describe, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product } from '../support/product.js'
import { accessFaults } from './kit/axe.js'
import { type Person, newPerson, signInOn } from './kit/chromium.js'
import { startScene } from './kit/scene.js'

const SECRET = 'the secret of the switch in rack 4'
const PASSWORD = 'a good password of olga'
const FORM = `name: Deploy
type: ansible
roles: [default]
playbook: deploy.yml
fields:
  - {name: version, type: text, label: Version, required: true}
`
const WIZARD = {
  'where.yml': `name: Where
type: subform
fields: [{name: site, type: text, label: Site, required: true}]
`,
  'what.yml': `name: What
type: subform
fields: [{name: size, type: text, label: Size, required: true}]
`,
  'guided.yml': `name: Guided
type: ansible
roles: [default]
playbook: deploy.yml
wizard: [{name: first, subform: Where}, {name: second, subform: What}]
`,
}
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops], options: {allowJobRelaunch: true}, runners: [north]}
  - {name: default, groups: []}
`
const ADMIN_PAGES = ['/users', '/users/1', '/roles', '/credentials', '/audit', '/settings'] as const

let product: Product
let browser: Browser
let admin: Person
let page: Page

beforeAll(async () => {
  const scene = await startScene({
    config: CONFIG,
    forms: { 'deploy.yml': FORM, ...WIZARD },
    playbooks: { 'deploy.yml': '- hosts: localhost\n' },
    controlPlane: { JOBS_LIST_SIZE: '77' },
    withAgent: false,
  })
  ;({ product, browser, admin, page } = scene)
  return scene.close
})

const open = (path: string, at: Page = page) => at.goto(`${product.address}${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const confirm = (name: string) => page.getByRole('dialog').getByRole('button', { name, exact: true }).click()

/** Answers of the REST interface as another service would give them. */
async function withAnswers(change: (body: string) => string | null, look: () => Promise<void>): Promise<void> {
  await page.route(/\/api\/v2\/(user|role|session|credential|audit|settings)/, async (route) => {
    try {
      const answer = await route.fetch()
      const body = change(await answer.text())
      if (body === null) {
        const refusal = { error: 'The database does not answer', code: 'database_unreachable' }
        await route.fulfill({ status: 503, json: refusal })
      } else await route.fulfill({ response: answer, body })
    } catch {
      // The page was left meanwhile.
    }
  })
  await look()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
}

describe('an admin', () => {
  test('adds a user, gives groups and a password, ends their sessions, blocks and deletes them', async () => {
    await open('/jobs')
    await page.getByRole('link', { name: 'Users' }).click()
    await button('Add a local user').click()
    const form = page.getByRole('form', { name: 'Add a local user' })
    await form.getByLabel('Username').fill('olga')
    await form.getByLabel('Groups').fill('ops, dba')
    await form.getByLabel('change it at the next sign-in').uncheck()
    await form.getByLabel('Password').fill(PASSWORD)
    await form.getByRole('button', { name: 'Add' }).click()
    await page.getByRole('row').filter({ hasText: 'olga' }).getByText('ops, dba').waitFor()

    await page.getByRole('link', { name: 'olga' }).click()
    await page.getByText('This user is not signed in, and has no API token.').waitFor()
    const olga = await newPerson(browser, product.address)
    await open('/jobs', olga.page)
    await signInOn(olga.page, 'olga', PASSWORD)
    await page.reload()
    await page.getByRole('cell', { name: 'Sign-in' }).waitFor()
    await button('End all of them').click()
    await confirm('End all of them')
    await page.getByText('This user is not signed in, and has no API token.').waitFor()
    await olga.page.reload()
    await olga.page.getByRole('heading', { name: 'Sign in' }).waitFor()

    const groups = page.getByRole('form', { name: 'Groups and address' })
    await groups.getByLabel('Groups').fill('dba')
    await groups.getByRole('button', { name: 'Save' }).click()
    await page.getByText('dba', { exact: true }).waitFor()
    const password = page.getByRole('form', { name: 'New password' })
    await password.getByLabel('New password').fill(`${PASSWORD} 2`)
    await password.getByRole('button').click()
    await page.getByText('The password was set.').waitFor()
    await page.getByText('has to change the password').waitFor()

    await button('Block').click()
    await confirm('Block')
    await page.getByText('Blocked', { exact: true }).waitFor()
    await button('Delete').click()
    await confirm('Delete')
    await page.getByRole('heading', { name: 'Users', level: 1 }).waitFor()
    await page.getByRole('link', { name: 'admin', exact: true }).first().waitFor()
    await page.getByRole('link', { name: 'olga' }).waitFor({ state: 'detached' })
    expect(await olga.faults()).toEqual([])
    await olga.close()
  })

  test('reads who has a role', async () => {
    await product.admin.post('/user', { username: 'nora', password: PASSWORD, groups: ['ops'] })
    await open('/roles')
    const ops = page.getByRole('row').filter({ hasText: 'local/ops' })
    await ops.getByText('allowJobRelaunch').waitFor()
    await ops.getByText('Runners: north').waitFor()
    await ops.getByRole('link', { name: 'nora' }).click()
    await page.getByRole('heading', { name: 'nora', level: 1 }).waitFor()
  })

  test('adds, changes and deletes a credential, and its secret is never shown', async () => {
    await open('/credentials')
    await page.getByText('No credential yet.').waitFor()
    await button('Add a credential').click()
    const form = page.getByRole('form', { name: 'Add a credential' })
    await form.getByRole('textbox', { name: 'Name' }).fill('switch')
    await form.getByRole('textbox', { name: 'User' }).fill('root')
    await form.getByRole('textbox', { name: 'Secret' }).fill(SECRET)
    await form.getByRole('button', { name: 'Add' }).click()
    const row = page.getByRole('row').filter({ hasText: 'switch' })
    await row.getByText('Username and password').waitFor()
    await form.waitFor({ state: 'detached' })

    await row.getByRole('button', { name: 'Change' }).click()
    const dialog = page.getByRole('dialog', { name: 'Change switch' })
    expect(await dialog.getByRole('textbox', { name: 'Secret' }).inputValue()).toBe('')
    await dialog.getByRole('textbox', { name: 'Host' }).fill('10.0.0.4')
    await dialog.getByRole('button', { name: 'Save' }).click()
    await row.getByText('10.0.0.4').waitFor()
    await page.reload()
    await row.getByText('10.0.0.4').waitFor()
    expect(await page.content()).not.toContain(SECRET)

    await row.getByRole('button', { name: 'Delete' }).click()
    await confirm('Delete')
    await page.getByText('No credential yet.').waitFor()
  })

  test('finds what was done in the audit trail, and checks it', async () => {
    await open('/audit')
    await button('Check the whole trail').click()
    await page.getByText('The trail is as it was written').waitFor()
    await page.getByLabel('Action').fill('user.delete')
    await button('Show').click()
    await page.getByRole('cell', { name: /olga/ }).waitFor()
    await expect.poll(() => page.getByRole('row').count()).toBe(2)
    expect(page.url()).toContain('action=user.delete')
    await page.getByLabel('Action').fill('user.nothing')
    await button('Show').click()
    await page.getByText('No record fits these filters.').waitFor()
  })

  test('reads the settings in force, and changes what all pages show', async () => {
    await open('/settings')
    const row = page.getByRole('row').filter({ hasText: 'JOBS_LIST_SIZE' })
    await row.getByRole('cell', { name: '77', exact: true }).waitFor()
    await row.getByRole('cell', { name: 'given', exact: true }).waitFor()
    await page.getByLabel('Announcement').fill('The service stops at noon')
    await button('Save').click()
    await page.getByRole('paragraph').filter({ hasText: 'The service stops at noon' }).waitFor()
  })

  test('makes an API token, which is shown once, and revokes it', async () => {
    await open('/me')
    await page.getByText('You have no API token.').waitFor()
    await page.getByLabel('What it is for').fill('nightly')
    await page.getByRole('combobox', { name: 'May' }).selectOption('read and launch')
    await button('Make an API token').click()
    const token = await page.getByRole('region', { name: 'API tokens' }).locator('code').innerText()
    const asked = await fetch(`${product.address}/api/v2/profile`, { headers: { authorization: `Bearer ${token}` } })
    expect(asked.status).toBe(200)
    await page.reload()
    const row = page.getByRole('row').filter({ hasText: 'nightly' })
    await row.getByText('launch').waitFor()
    expect(await page.content()).not.toContain(token)
    await row.getByRole('button', { name: 'Revoke' }).click()
    await confirm('Revoke')
    await page.getByText('You have no API token.').waitFor()
    expect(await admin.faults()).toEqual([])
  })
})

describe('every admin page', () => {
  test('says that it is loading, and what went wrong, and goes on', async () => {
    for (const path of ADMIN_PAGES) {
      await withAnswers(
        () => null,
        async () => {
          await open(path)
          await page.getByRole('alert').getByText('The database does not answer').first().waitFor()
        },
      )
      // The page may also read again by itself meanwhile.
      const again = page.getByRole('alert').getByRole('button', { name: 'Try again' }).first()
      await expect
        .poll(async () => {
          await again.click({ timeout: 1000 }).catch(() => undefined)
          return page.getByRole('alert').count()
        })
        .toBe(0)

      let answerNow: () => void = () => undefined
      const held = new Promise<void>((resolve) => (answerNow = resolve))
      await page.route(/\/api\/v2\/(user|role|credential|audit|settings\/service)/, async (route) => {
        await held
        await route.continue()
      })
      await open(path)
      await page.getByText('Loading…').first().waitFor()
      answerNow()
      await page.getByText('Loading…').first().waitFor({ state: 'detached' })
      await page.unrouteAll({ behavior: 'wait' })
    }
  })

  test.each([
    ['light', 1180],
    // What a window of 1180 has at a zoom of 200 %.
    ['dark', 590],
  ] as const)('is for everybody: axe finds nothing, %s at %i px', async (colorScheme, width) => {
    await page.emulateMedia({ colorScheme })
    await page.setViewportSize({ width, height: 720 })
    for (const path of ADMIN_PAGES) {
      await open(path)
      await page.getByRole('heading', { level: 1 }).waitFor()
      await page.getByText('Loading…').first().waitFor({ state: 'detached' })
      expect([path, await accessFaults(page)]).toEqual([path, []])
    }
    await page.emulateMedia({ colorScheme: 'light' })
    await page.setViewportSize({ width: 1180, height: 720 })
  })
})

test('no page is wider than a narrow window', async () => {
  await page.setViewportSize({ width: 320, height: 720 })
  for (const path of [...ADMIN_PAGES, '/me', '/jobs', '/forms', '/forms/Deploy', '/approvals', '/runners']) {
    await open(path)
    await page.getByRole('heading', { level: 1 }).waitFor()
    await page.getByText('Loading…').first().waitFor({ state: 'detached' })
    const tooWide = await page.evaluate<number>('document.documentElement.scrollWidth - innerWidth')
    expect([path, Math.max(0, tooWide)]).toEqual([path, 0])
  }
  await page.setViewportSize({ width: 1180, height: 720 })
})

test('who is no admin is led to no admin page, and is told so there; by keyboard alone they launch a form', async () => {
  const nora = await newPerson(browser, product.address)
  const { keyboard } = nora.page
  const focused = () =>
    nora.page.evaluate<string>(`(() => {
      const { activeElement: one } = document
      return (one.labels?.[0] ?? one).innerText.trim().split('\\n')[0]
    })()`)
  /** Presses Tab until this has the focus. */
  const tabTo = async (name: string) => {
    const seen: string[] = []
    for (let step = 0; step < 60; step += 1) {
      await keyboard.press('Tab')
      const at = await focused()
      if (at.startsWith(name)) return
      seen.push(at)
    }
    throw new Error(`Tab does not lead to ${name}, only to ${seen.join(' | ')}`)
  }

  await open('/forms', nora.page)
  await nora.page.getByRole('heading', { name: 'Sign in' }).waitFor()
  await tabTo('Username')
  await keyboard.type('nora')
  await tabTo('Password')
  await keyboard.type(PASSWORD)
  await keyboard.press('Enter')
  await nora.page.getByRole('link', { name: 'Deploy' }).waitFor()
  await tabTo('Deploy')
  await keyboard.press('Enter')
  await nora.page.getByRole('textbox', { name: 'Version' }).waitFor()
  await tabTo('Version')
  await keyboard.type('1.4')
  await tabTo('Launch')
  await keyboard.press('Enter')
  await nora.page.getByRole('heading', { name: 'Job 1' }).waitFor()
  await tabTo('Values')
  await keyboard.press('Enter')
  await nora.page.getByRole('region', { name: 'Field values' }).getByText('"1.4"').waitFor()

  expect(await nora.page.getByRole('link', { name: 'Users' }).count()).toBe(0)
  for (const path of ADMIN_PAGES) {
    await open(path, nora.page)
    await nora.page.getByRole('alert').getByText('You may not see this').first().waitFor()
  }
  expect(await nora.faults()).toEqual([])
  await nora.close()
})

test('a wizard shows one step at a time, and says at its fields what is wrong before it goes on', async () => {
  await open('/forms/Guided')
  const [site, size] = [page.getByRole('textbox', { name: 'Site' }), page.getByRole('textbox', { name: 'Size' })]
  await site.waitFor()
  expect(await size.count()).toBe(0)
  // What the control plane says of the empty fields comes with the first answer.
  await page.getByText('What will run').waitFor()
  await button('Next').click()
  await expect.poll(() => site.getAttribute('aria-invalid')).toBe('true')
  await site.fill('north')
  await expect.poll(() => site.getAttribute('aria-invalid')).not.toBe('true')
  await button('Next').click()
  await size.fill('large')
  expect(await site.count()).toBe(0)
  await button('Back').click()
  expect(await site.inputValue()).toBe('north')
  await button('Next').click()
  await button('Launch').click()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
})

test('a page says when the control plane is away, and when the session is over, and goes on where it was', async () => {
  await open('/users')
  await page.getByLabel('Search users').fill('nor')
  await product.controlPlane.stop('SIGKILL')
  await page.getByText('Not connected since').waitFor()
  await product.startControlPlane()
  await page.getByText('Not connected since').waitFor({ state: 'detached' })
  await page.evaluate(`fetch('/api/v2/auth/session', { method: 'DELETE', headers: { 'x-holdfast-page': '1' } })`)
  const dialog = page.getByRole('dialog', { name: 'Your session is over' })
  await dialog.getByLabel('Password').fill(ADMIN_PASSWORD)
  await dialog.getByRole('button', { name: 'Sign in', exact: true }).click()
  await dialog.waitFor({ state: 'detached' })
  expect(await page.getByLabel('Search users').inputValue()).toBe('nor')
  await page.getByRole('link', { name: 'nora' }).click()
  await page.getByRole('heading', { name: 'nora', level: 1 }).waitFor()
})
