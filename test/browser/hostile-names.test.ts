import { beforeAll, expect, test } from 'vitest'
import { type Product } from '../support/product.js'
import { runEvents } from '../support/run-events.js'
import { SOCKET_PATH } from '@holdfast/protocol'
import { RawAgent, newIdentity } from '../support/raw-agent.js'
import type { ScriptedRunner } from '../support/scripted-runner.js'
import { type Person } from './kit/chromium.js'
import { startScriptedScene } from './kit/scene.js'

/** Whoever names a host, a task, a file, a label or a variable, or writes an output, makes no markup in the pages of others. */
const EVIL = `<img src=x onerror="globalThis.evil=1"><a href="javascript:evil=1">x</a>'"\u202e\u2066&lt;`
const LINK = '<a href="https://evil.example/approve">Click here</a><h3>APPROVED</h3>'
const DEPTH = 10_000
/** What a file may be called. The longest name has 255 characters, and a slash would begin another name. */
const EVIL_FILE = `${`<img src=x onerror="globalThis.evil=1">'"\u202e\u2066&lt;`.padEnd(251, 'w')}.iso`
const nested = (text: string) => `${'<b><i>'.repeat(DEPTH / 2)}${text}${'</i></b>'.repeat(DEPTH / 2)}`
const quoted = (text: string) => JSON.stringify(text)

const FORMS = {
  'evil.yml': `name: ${quoted(`Form ${EVIL}`)}
type: ansible
description: ${quoted(EVIL)}
roles: [default]
playbook: evil.yml
approval: {title: "For $(why)", message: "<b>Why:</b> $(why)", roles: [default], allowSelf: true}
fields:
  - {name: why, type: text, label: ${quoted(`Label ${EVIL}`)}, help: ${quoted(EVIL)}, placeholder: ${quoted(EVIL)}}
  - {name: choice, type: enum, label: Choice, values: [${quoted(EVIL)}, other]}
`,
  'deep.yml': `name: Deep
type: ansible
roles: [default]
playbook: evil.yml
approval: {message: ${quoted(`${nested('').slice(0, 3000)} bottom`)}, roles: [default], allowSelf: true}
fields:
  - {name: note, type: html, value: ${quoted(`${nested('bottom of it')}after it`)}}
`,
  'file.yml':
    'name: Filed\ntype: ansible\nroles: [default]\nplaybook: evil.yml\nfields: [{name: image, type: file, label: Image}]\n',
  'runs.yml': 'name: Runs\ntype: ansible\nroles: [default]\nplaybook: evil.yml\nfields: []\n',
}
const CONFIG = 'roles:\n  - {name: admin, groups: [local/admins]}\n  - {name: default, groups: []}\n'

let product: Product
let runner: ScriptedRunner
let admin: Person

beforeAll(async () => {
  const scene = await startScriptedScene({ config: CONFIG, forms: FORMS, playbooks: { 'evil.yml': '[]\n' } })
  ;({ product, runner, admin } = scene)
  return scene.close
})

const open = (path: string) => admin.page.goto(`${product.address}${path}`)
const launch = async (formName: string, rawFormData: Record<string, unknown> = {}) =>
  (await product.admin.post<{ id: number }>('/job', { formName, rawFormData })).id

/** Nothing of the page is wider than a small screen. */
async function expectNarrow(): Promise<void> {
  const { page } = admin
  await page.setViewportSize({ width: 320, height: 640 })
  expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(320)
  await page.setViewportSize({ width: 1180, height: 720 })
}

/** No element of a name is there, and nothing of it ran. */
async function expectTextOnly(): Promise<void> {
  const { page } = admin
  expect(await page.evaluate('document.querySelectorAll("main img, main script, main iframe, [onerror]").length')).toBe(
    0,
  )
  // In an output an address is a link to itself, and shows nothing else.
  const links = await page
    .locator('a[href]')
    .evaluateAll((all) =>
      all.map((link) => link.getAttribute('href') ?? '').filter((href, at) => all[at]?.textContent !== href),
    )
  expect(links.filter((href) => /^\s*javascript:|^[a-z]*:?\/\/evil/i.test(href))).toEqual([])
  expect(await page.evaluate('globalThis.evil ?? null')).toBeNull()
  expect(await admin.faults()).toEqual([])
}

test('what somebody types into a form is text in the message that its approver reads', async () => {
  const { page } = admin
  const id = await launch(`Form ${EVIL}`, { why: LINK })
  for (const path of ['/approvals', `/jobs/${id}`]) {
    await open(path)
    await page.getByText('Click here').first().waitFor()
    expect(await page.getByRole('link', { name: 'Click here' }).count()).toBe(0)
    expect(await page.getByRole('heading', { name: 'APPROVED', exact: true }).count()).toBe(0)
    // The author of the form made this.
    expect(await page.locator('b', { hasText: 'Why:' }).count()).toBe(1)
    await expectTextOnly()
  }
  await product.admin.post(`/job/${id}/reject`)
})

test('names of forms, fields and choices are text', async () => {
  for (const path of ['/forms', `/forms/${encodeURIComponent(`Form ${EVIL}`)}`]) {
    await open(path)
    await admin.page.getByText('onerror').first().waitFor()
    await expectTextOnly()
  }
})

test('ten thousand nested elements of a form are shown, and the page goes on', async () => {
  const { page } = admin
  await open('/forms/Deep')
  await page.getByText('bottom of it').waitFor()
  await page.getByText('after it').waitFor()
  const id = await launch('Deep')
  await open(`/jobs/${id}`)
  await page.getByText('bottom', { exact: false }).first().waitFor()
  await expectTextOnly()
  await product.admin.post(`/job/${id}/reject`)
})

test('names of hosts and tasks, and an output with ten thousand marks, are text', async () => {
  const { page } = admin
  const tasks = Array.from({ length: 3 }, (_, index) => ({
    name: `Task ${index} ${EVIL}`,
    at: index,
    hosts: {
      [`host ${index} ${EVIL}`]: [index === 1 ? 'failed' : 'ok', index + 1] as const,
      web1: ['ok', index + 1] as const,
    },
  }))
  const marks = `${'\u001b[1m\u001b[31m\u001b[4m'.repeat(DEPTH)}in all colours ${EVIL}${'\u001b[0m'.repeat(DEPTH)}\n`
  const links = '\u001b]8;;javascript:evil=1\u0007a link\u001b]8;;\u0007\n\u001b]0;title\u0007\u001b[2J\n'
  runner.scripts.set('evil.yml', {
    output: `${marks}${links}${nested('markup')}\n${'\u001b['.repeat(DEPTH)}\n${'\u202e'.repeat(DEPTH)}last line\n`,
    events: runEvents(tasks),
    stats: { [EVIL]: EVIL },
  })
  const id = await launch('Runs')
  await product.waitForEnd(id)
  await open(`/jobs/${id}`)
  await page.getByText('Show the whole line').first().click()
  await page.getByText('in all colours').first().waitFor()
  await expectTextOnly()
  for (const name of ['Hosts and tasks', 'Timeline', 'Output']) {
    await page.getByRole('link', { name }).click()
    await page
      .getByText(name === 'Output' ? 'Show the whole line' : 'onerror')
      .first()
      .waitFor()
    await expectTextOnly()
  }
  expect(await page.title()).not.toMatch('title')
})

test('a runner has a plain name, and what it says about its host is text', async () => {
  const { page } = admin
  const url = product.address.replace(/^http/, 'ws') + SOCKET_PATH
  const refused = await RawAgent.greet(url, newIdentity(EVIL))
  await expect.poll(() => refused.closed).not.toBeNull()
  const name = `n${'-'.repeat(61)}n`
  // As long as these words may be.
  const said = { host: EVIL.padEnd(200, 'w'), version: EVIL.padEnd(200, 'v'), ansible_version: EVIL }
  const identity = newIdentity(name)
  const stranger = await RawAgent.greet(url, identity, said)
  const listed = async () => (await product.admin.get<{ records: { id: number; name: string }[] }>('/runner')).records
  await expect.poll(async () => (await listed()).length).toBe(2)
  const records = await listed()
  expect(records.map((runner) => runner.name).sort()).toEqual([name, 'scripted'].sort())
  const id = records.find((runner) => runner.name === name)?.id
  const look = async () => {
    for (const path of ['/runners', `/runners/${id}`]) {
      await open(path)
      await page.getByText(name).first().waitFor()
      await expectTextOnly()
      await expectNarrow()
    }
    await page.getByText('onerror').first().waitFor()
  }
  await look()
  await product.admin.post(`/runner/${id}/approve`)
  await stranger.leave()
  const agent = await RawAgent.join(url, identity, said)
  await look()
  await agent.leave()
})

test('the name of a file that somebody sends is text, for them and for who sees the job', async () => {
  const { page } = admin
  await open('/forms/Filed')
  const buffer = Buffer.from('x')
  await page.getByLabel('Image').setInputFiles({ name: EVIL_FILE, mimeType: 'text/html', buffer })
  await page.getByText('onerror').first().waitFor()
  await expectTextOnly()
  await expectNarrow()
  await page.getByRole('button', { name: 'Launch', exact: true }).click()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
  const id = Number(/\d+/.exec(await page.getByRole('heading', { name: /^Job / }).innerText())?.[0])
  const ended = await product.waitForEnd(id)
  expect(JSON.stringify(ended.extravars)).toContain('onerror')
  await open(`/jobs/${id}/values`)
  await page.getByRole('heading', { name: 'Extra variables' }).waitFor()
  await page.getByText('onerror').first().waitFor()
  await expectTextOnly()
  await expectNarrow()
})
