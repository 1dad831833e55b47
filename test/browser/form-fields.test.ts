import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import type { CDPSession, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { type Product } from '../support/product.js'
import type { ScriptedRunner } from '../support/scripted-runner.js'
import { accessFaults } from './kit/axe.js'
import { expectForEverybody } from './kit/for-everybody.js'
import { type Person } from './kit/chromium.js'
import { startScriptedScene } from './kit/scene.js'

/** Fields that are more than one input: files that go up, and lists whose rows are forms. */
const FORMS = {
  'cert.yml': `name: Certificate
type: ansible
roles: [default]
playbook: cert.yml
fields:
  - {name: cert, type: file, label: Certificate, required: true}
  - {name: host, label: Host}
`,
  'names.yml': `name: Names
type: ansible
roles: [default]
playbook: names.yml
fields:
  - {name: site, label: Site, default: gent}
  - {name: short, type: local, label: Short, expression: "'$(site)'.slice(0, 3)"}
  - {name: fixed, type: expression, label: Fixed, runLocal: true, expression: "'fix-$(short)'"}
  - {name: host, type: expression, label: Name of the host, runLocal: true, editable: true, expression: "'srv-$(short)'"}
  - {name: other, type: expression, label: Other, runLocal: true, editable: true, expression: "({of: '$(host)'})"}
`,
  'objects.yml': `- name: Objects
  type: ansible
  roles: [default]
  playbook: objects.yml
  fields:
    - {name: net, type: yaml, label: Network, default: {vlan: 12, hosts: [web1, web2]}}
    - {name: line, label: Line, default: {a: [1, 2]}}
    - {name: text, type: textarea, label: Text, default: [one, two]}
    - {name: many, type: number, label: Many, default: [3]}
    - {name: day, type: datetime, dateType: date, label: Day, default: [monday]}
    - {name: size, type: enum, label: Size, values: [small, [2, 3]], default: large}
    - {name: rows, type: list, label: Rows, subform: Port}
- name: Port
  type: subform
  fields: [{name: spec, type: yaml, label: Spec, default: {port: 22}}]
`,
  'team.yml': `- name: Team
  type: ansible
  roles: [default]
  playbook: team.yml
  fields:
    - {name: title, label: Title}
    - {name: people, type: list, label: People, subform: Person, minSize: 1}
- name: Person
  type: subform
  fields:
    - {name: who, label: Name, required: true}
    - {name: age, type: number, label: Age, minValue: 18}
    - {name: kind, type: enum, label: Kind, values: [guest, member], default: guest}
    - {name: club, label: Club, dependencies: [{name: kind, values: [member]}]}
    - {name: pin, type: password, label: PIN}
    - {name: long, type: expression, runLocal: true, expression: "'$(pin)'.length"}
    - {name: keys, type: list, label: Keys, subform: Key}
- name: Key
  type: subform
  fields: [{name: door, label: Door, required: true}]
`,
  'table.yml': `name: Table
type: ansible
roles: [default]
playbook: table.yml
fields:
  - {name: first name}
  - {name: greeting, type: expression, label: Greeting, runLocal: true, expression: "'to $(first name)'", default: to all}
  - name: hosts
    type: table
    label: Hosts
    tableFields:
      - {name: host name, required: true}
      - {name: cpus, type: number, label: CPUs, maxValue: 8}
`,
}

let product: Product
let runner: ScriptedRunner
let admin: Person
let page: Page

beforeAll(async () => {
  const scene = await startScriptedScene({ forms: FORMS })
  ;({ product, runner, admin, page } = scene)
  return scene.close
})

const open = (path: string) => page.goto(`${product.address}${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const file = (name: string, buffer: Buffer) => ({ name, mimeType: 'application/octet-stream', buffer })
async function launchedVariables(): Promise<Record<string, unknown>> {
  await button('Launch').click()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
  await page.getByRole('link', { name: 'Values' }).click()
  const text = await page.getByRole('region', { name: 'Extra variables' }).innerText()
  return JSON.parse(text) as Record<string, unknown>
}

test('a file goes up when it is chosen, byte for byte, and another one takes its place', async () => {
  await open('/forms/Certificate')
  const input = page.getByLabel('Certificate')
  await button('Launch').click()
  await page.getByText('Certificate is required').waitFor()
  await input.setInputFiles(file('old.pem', Buffer.from('the old one')))
  await page.getByText('old.pem, 11 bytes').waitFor()
  const bytes = Buffer.from(Array.from({ length: 100_000 }, (_, index) => (index * 7919) % 256))
  await input.setInputFiles(file('<b>new.pem', bytes))
  await page.getByText('<b>new.pem, 100.0 kB').waitFor()
  expect(await accessFaults(page)).toEqual([])
  const { cert } = await launchedVariables()
  expect(cert).toMatchObject({ originalname: '<b>new.pem', size: bytes.length })
  expect(readFileSync((cert as { path: string }).path).equals(bytes)).toBe(true)
  expect(await admin.faults()).toEqual([])
})

test('an object or a list stays what it is, in every input, and is typed as YAML or JSON', async () => {
  await open('/forms/Objects')
  const main = page.getByRole('main')
  const net = main.getByLabel('Network')
  await expect.poll(() => net.inputValue()).toBe('vlan: 12\nhosts:\n  - "web1"\n  - "web2"')
  expect(await main.getByLabel('Line').inputValue()).toBe('{"a":[1,2]}')
  expect(await main.getByLabel('Text').inputValue()).toBe('["one","two"]')
  for (const value of ['[3]', '["monday"]', 'large']) await main.getByText(`The value is now ${value}.`).waitFor()
  await main.getByLabel('Size').getByRole('option', { name: '[2,3]' }).waitFor({ state: 'attached' })
  await page.getByRole('button', { name: 'Add a row' }).click()
  await expect.poll(() => main.getByLabel('Spec').inputValue()).toBe('port: 22')
  expect(await page.getByText('[object Object]').count()).toBe(0)
  await expectForEverybody(page)

  await net.press('End')
  await net.press('Control+End')
  await net.pressSequentially('\n  - web3')
  await main.getByLabel('Line').fill('a line')
  await main.getByLabel('Text').fill('a text')
  await main.getByLabel('Many').fill('4')
  await main.getByLabel('Day').fill('2026-11-28')
  await main.getByLabel('Size').selectOption('small')
  await page.getByText('The value is now').first().waitFor({ state: 'detached' })
  expect(await launchedVariables()).toMatchObject({
    net: { vlan: 12, hosts: ['web1', 'web2', 'web3'] },
    line: 'a line',
    text: 'a text',
    many: 4,
    rows: [{ spec: { port: 22 } }],
  })

  await page.getByRole('link', { name: 'Run again with changes' }).click()
  await expect.poll(() => net.inputValue()).toContain('web3')
  expect(await page.getByText('[object Object]').count()).toBe(0)

  // A computed field takes an object, so it is typed over as one.
  const id = await product.launch('Names', { site: 'gent', other: { of: 'x' } })
  await open(`/forms/Names?from=${id}`)
  await expect.poll(() => main.getByLabel('Other').inputValue()).toBe('{"of":"x"}')
  await main.getByLabel('Other').pressSequentially(' ')
  await main.getByLabel('Other').fill('{"of": ["x", "y"]}')
  expect(await launchedVariables()).toMatchObject({ site: 'gent', other: { of: ['x', 'y'] } })
  expect(await admin.faults()).toEqual([])
})

test('what is computed and editable can be typed over, and stays computed until then', async () => {
  await open('/forms/Names')
  const host = page.getByLabel('Name of the host')
  await expect.poll(() => host.inputValue()).toBe('srv-gen')
  await page.getByLabel('Site').fill('bruges')
  await expect.poll(() => host.inputValue()).toBe('srv-bru')
  await page.getByText('fix-bru').first().waitFor()
  // Fields of the types local, local_out and credential are never shown.
  expect(await page.getByText('Short', { exact: true }).count()).toBe(0)
  await host.fill('web1')
  await page.getByText('{"of":"web1"}').first().waitFor()
  expect(await accessFaults(page)).toEqual([])
  const sent = await launchedVariables()
  expect(sent).toMatchObject({ site: 'bruges', fixed: 'fix-bru', host: 'web1', other: { of: 'web1' } })
  expect(sent.short).toBeUndefined()
})

let network: CDPSession | null = null
/** Makes the way to the control plane so slow that no upload ends by itself; null: as fast as it goes. */
async function slowDown(bytesPerSecond: number | null): Promise<void> {
  network ??= await page.context().newCDPSession(page)
  const uploadThroughput = bytesPerSecond ?? -1
  await network.send('Network.emulateNetworkConditions', {
    offline: false,
    latency: 0,
    downloadThroughput: -1,
    uploadThroughput,
  })
}
const storedUploads = () => readdirSync(join(product.folder, 'persistent/uploads'))

test('how far a file is, is shown; a launch waits for it; cancelled, nothing of it is left', async () => {
  await open('/forms/Certificate')
  const before = storedUploads()
  const input = page.getByLabel('Certificate', { exact: false }).first()
  await input.setInputFiles(file('small.pem', Buffer.from('small')))
  await page.getByText('small.pem, 5 bytes').waitFor()
  await slowDown(100_000)
  await input.setInputFiles(file('large.bin', Buffer.alloc(20_000_000)))
  const bar = page.getByRole('progressbar', { name: 'large.bin goes up…' })
  const done = () => bar.evaluate((element) => Number(element.getAttribute('value')))
  await page.getByText('of 20.0 MB').waitFor()
  const first = await done()
  await expect.poll(done).toBeGreaterThan(first)
  expect(await bar.evaluate((element) => Number(element.getAttribute('max')))).toBeGreaterThan(20_000_000)
  expect(await accessFaults(page)).toEqual([])

  await button('Launch').click()
  await page.getByText('The file is still going up.').waitFor()
  expect(runner.runs.filter(({ order }) => JSON.stringify(order).includes('large.bin'))).toEqual([])
  await button('Cancel the upload').click()
  await page.getByText('The upload was cancelled. No file is chosen.').waitFor()
  await page.getByText('The file is still going up.').waitFor({ state: 'detached' })
  expect(await input.evaluate((element) => element.matches(':focus'))).toBe(true)
  await expect.poll(() => storedUploads().length).toBe(before.length + 1)
  await slowDown(null)
  // The small one of before is not meant any more either.
  await button('Launch').click()
  await page.getByText('Certificate is required').waitFor()
  expect(await admin.faults()).toEqual([])
})

test('a file that is refused, or does not arrive, is said at its field, and goes up again when asked', async () => {
  await open('/forms/Certificate')
  const input = page.getByLabel('Certificate', { exact: false }).first()
  const refusal = { error: 'The file is larger than 1 GB', code: 'upload_too_large' }
  await page.route(/job\/upload$/, (route) => route.fulfill({ status: 413, json: refusal }))
  await input.setInputFiles(file('large.bin', Buffer.from('as if it were large')))
  await page.getByText('The file is larger than an upload may be.').waitFor()
  await page.unrouteAll({ behavior: 'ignoreErrors' })

  await slowDown(100_000)
  const bytes = Buffer.alloc(2_000_000, 'abc')
  await input.setInputFiles(file('late.bin', bytes))
  await page.getByText('of 2.0 MB').waitFor()
  await product.controlPlane.stop('SIGKILL')
  await page.getByText('The control plane does not answer.').waitFor()
  await slowDown(null)
  await product.startControlPlane()
  await button('Upload it again').click()
  await page.getByText('late.bin, 2.0 MB').waitFor()
  const { cert } = await launchedVariables()
  expect(readFileSync((cert as { path: string }).path).equals(bytes)).toBe(true)
  expect(await admin.faults()).toEqual([])
})

test('rows of a list are filled in by their form: added, judged field by field, removed', async () => {
  await open('/forms/Team')
  const people = page.getByRole('group', { name: 'People' })
  const person = (number: number) => people.getByRole('group', { name: `Row ${number}`, exact: true }).first()
  const addPerson = people.getByRole('button', { name: 'Add a row' }).last()
  await people.getByText('No row yet.').waitFor()
  for (const name of ['Ann', 'Bob', 'Eve']) {
    await addPerson.click()
    const row = people
      .getByRole('group', { name: /^Row/ })
      .filter({ has: page.getByLabel('Name') })
      .last()
    await row.getByLabel('Name').fill(name)
    await row.getByLabel('PIN').fill(name.repeat(name.charCodeAt(0) - 64))
  }
  await person(2).getByLabel('Kind').selectOption('member')
  await person(2).getByLabel('Club').fill('chess')
  await person(2).getByLabel('Age').fill('17')
  await person(2).getByText('Age must be at least 18').waitFor()
  expect(await person(1).getByText('Age must be at least 18').count()).toBe(0)
  await person(2).getByLabel('Age').fill('18')
  await person(2).getByText('Age must be at least 18').waitFor({ state: 'detached' })

  const keys = person(3).getByRole('group', { name: 'Keys' })
  await keys.getByRole('button', { name: 'Add a row' }).click()
  await button('Launch').click()
  await keys.getByText('Door is required').waitFor()
  await page.getByText('1 field needs another value').waitFor()
  await expect.poll(() => keys.getByLabel('Door').evaluate((input) => input.matches(':focus'))).toBe(true)
  await keys.getByLabel('Door').fill('cellar')
  await keys.getByText('Door is required').waitFor({ state: 'detached' })
  expect(await accessFaults(page)).toEqual([])

  // The first row goes, and what was typed into the others stays with them, passwords too.
  await people.getByRole('button', { name: 'Remove row 1' }).first().click()
  await expect.poll(() => person(1).getByLabel('Name').inputValue()).toBe('Bob')
  expect(await launchedVariables()).toMatchObject({
    people: [
      { who: 'Bob', age: 18, kind: 'member', club: 'chess', long: 6 },
      { who: 'Eve', kind: 'guest', long: 15, keys: [{ door: 'cellar' }] },
    ],
  })
  expect(await admin.faults()).toEqual([])
})

test('a table and names with blanks are filled in like any list and field', async () => {
  await open('/forms/Table')
  await page.getByText('to all').first().waitFor()
  await page.getByLabel('first name').fill('Ann')
  await page.getByText('to Ann').first().waitFor()
  const hosts = page.getByRole('group', { name: 'Hosts' })
  const row = (number: number) => hosts.getByRole('group', { name: `Row ${number}`, exact: true })
  await hosts.getByRole('button', { name: 'Add a row' }).click()
  await hosts.getByRole('button', { name: 'Add a row' }).click()
  await row(2).getByLabel('host name').fill('web2')
  await row(2).getByLabel('CPUs').fill('9')
  await row(2).getByText('CPUs must be at most 8').waitFor()
  await row(2).getByLabel('CPUs').fill('8')
  await button('Launch').click()
  await row(1).getByText('host name is required').waitFor()
  expect(await accessFaults(page)).toEqual([])
  await hosts.getByRole('button', { name: 'Remove row 1' }).click()
  expect(await launchedVariables()).toMatchObject({
    'first name': 'Ann',
    greeting: 'to Ann',
    hosts: [{ 'host name': 'web2', cpus: 8 }],
  })
  expect(await admin.faults()).toEqual([])
})
