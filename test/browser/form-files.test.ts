import { readFileSync } from 'node:fs'
import type { Browser, Page } from 'playwright-core'
import { beforeAll, expect, test } from 'vitest'
import { covers } from '../interface/covers.js'
import { type Product } from '../support/product.js'
import { accessFaults } from './kit/axe.js'
import { type Person, newPerson, signInOn } from './kit/chromium.js'
import { startScriptedScene } from './kit/scene.js'

/** Files that are chosen in a step of a wizard and in the rows of a list, and those of the job that is run again. */
const FORMS = {
  'machine.yml': `- name: Machine
  type: ansible
  roles: [default]
  playbook: machine.yml
  wizard:
    - {name: system, subform: System, defaultModel: vm}
    - {name: storage, subform: Storage}
    - {name: end, subform: End}
- name: System
  type: subform
  fields:
    - {name: host, label: Host}
    - {name: image, type: file, label: Image, required: true, minSize: 3}
- name: Storage
  type: subform
  fields: [{name: disks, type: list, label: Disks, subform: Disk}]
- {name: End, type: subform, fields: [{name: note, label: Note}]}
- name: Disk
  type: subform
  fields:
    - {name: name, label: Name, required: true}
    - {name: content, type: file, label: Content, maxSize: 1000000}
`,
}
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: default, groups: [], options: {allowJobRelaunch: true}}
  - {name: managers, users: [local/max], options: {manageAllJobs: true}}
`

let product: Product
let browser: Browser
let admin: Person
let page: Page

beforeAll(async () => {
  const scene = await startScriptedScene({ forms: FORMS, config: CONFIG })
  ;({ product, browser, admin, page } = scene)
  return scene.close
})

const open = (path: string) => page.goto(`${product.address}${path}`)
const button = (name: string) => page.getByRole('button', { name, exact: true })
const row = (number: number) => page.getByRole('group', { name: `Row ${number}`, exact: true })
const choose = (place: { getByLabel: Page['getByLabel'] }, label: string, name: string, buffer: Buffer) =>
  place.getByLabel(label).setInputFiles({ name, mimeType: 'application/octet-stream', buffer })

interface Stored {
  readonly path: string
}
interface Variables {
  readonly vm: { readonly host?: string; readonly image: Stored }
  readonly disks?: readonly { readonly name: string; readonly content?: Stored }[]
}
const contentOf = (file: Stored | undefined) => file && readFileSync(file.path, 'utf8')

async function launched(): Promise<Variables> {
  // The step with the rows is judged when it is left.
  await button('Next').click()
  await page.getByLabel('Note').fill('done')
  await button('Launch').click()
  await page.getByRole('heading', { name: /^Job / }).waitFor()
  await page.getByText('Successful').first().waitFor()
  const id = Number(/\d+/.exec(await page.getByRole('heading', { name: /^Job / }).innerText())?.[0])
  return (await product.admin.get<{ extravars: Variables }>(`/job/${id}`)).extravars
}

test('a file of a wizard step and files of rows go up, are judged at their place, and reach the job', async () => {
  covers('launch.files')
  await open('/forms/Machine')
  await button('Next').click()
  await page.getByText('Image is required').waitFor()
  await choose(page, 'Image', 'tiny.iso', Buffer.from('x'))
  await page.getByText('Image must be at least 3 B').waitFor()
  await choose(page, 'Image', 'boot.iso', Buffer.from('the image'))
  await page.getByText('boot.iso, 9 bytes').waitFor()
  await page.getByText('Image must be at least 3 B').waitFor({ state: 'detached' })
  await button('Next').click()

  for (const name of ['sda', 'sdb', 'sdc']) {
    await button('Add a row').click()
    await page.getByRole('group', { name: /^Row/ }).last().getByLabel('Name').fill(name)
  }
  await choose(row(1), 'Content', 'red.img', Buffer.alloc(1_000_001))
  await row(1).getByText('Content must be at most').waitFor()
  expect(await row(2).getByText('Content must be at most').count()).toBe(0)
  await choose(row(1), 'Content', 'red.img', Buffer.from('all red'))
  await row(1).getByText('Content must be at most').waitFor({ state: 'detached' })
  await choose(row(3), 'Content', 'blue.img', Buffer.from('all blue'))
  await row(3).getByText('blue.img, 8 bytes').waitFor()
  expect(await accessFaults(page)).toEqual([])
  const { vm, disks } = await launched()
  expect(contentOf(vm.image)).toBe('the image')
  expect(disks?.map(({ name, content }) => [name, contentOf(content)])).toEqual([
    ['sda', 'all red'],
    ['sdb', undefined],
    ['sdc', 'all blue'],
  ])
  expect(await admin.faults()).toEqual([])
})

test('what is typed into a row while its file goes up stays, and a row that is removed takes its file along', async () => {
  await open('/forms/Machine')
  await choose(page, 'Image', 'boot.iso', Buffer.from('the image'))
  await page.getByText('boot.iso, 9 bytes').waitFor()
  await button('Next').click()
  await button('Add a row').click()
  await row(1).getByLabel('Name').fill('gone')
  await choose(row(1), 'Content', 'gone.img', Buffer.from('gone'))
  await row(1).getByText('gone.img, 4 bytes').waitFor()
  await button('Add a row').click()
  let goOn = () => {}
  const held = new Promise<void>((resolve) => (goOn = resolve))
  await page.route(/job\/upload$/, async (route) => {
    await held
    await route.continue()
  })
  await choose(row(2), 'Content', 'late.img', Buffer.from('late'))
  await row(2).getByText('late.img goes up…').waitFor()
  await row(2).getByLabel('Name').fill('typed meanwhile')
  await button('Remove row 1').click()
  await expect.poll(() => row(1).getByLabel('Name').inputValue()).toBe('typed meanwhile')
  goOn()
  await row(1).getByText('late.img, 4 bytes').waitFor()
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  expect(await row(1).getByLabel('Name').inputValue()).toBe('typed meanwhile')
  const { disks } = await launched()
  expect(disks?.map(({ name, content }) => [name, contentOf(content)])).toEqual([['typed meanwhile', 'late']])
  expect(await admin.faults()).toEqual([])
})

test('a job that is run again keeps its files: that of the step, and those of rows with their rows', async () => {
  covers('rule-11.changes')
  await product.admin.post('/user', { username: 'max', password: 'a long password', groups: [] })
  const person = await newPerson(browser, product.address)
  const { records } = await product.admin.get<{ records: { id: number }[] }>('/job')
  const first = records.at(-1)?.id ?? 0
  const before = page
  page = person.page
  // The uploads are another user's. The relaunch may use them.
  await open('/forms')
  await signInOn(page, 'max', 'a long password')
  await open(`/forms/Machine?from=${first}`)
  await page.getByLabel('Host').fill('web1')
  await button('Next').click()
  await row(1).getByText('red.img, 7 bytes').waitFor()
  await row(3).getByText('blue.img, 8 bytes').waitFor()
  await row(3).getByLabel('Name').fill('sdz')
  await page.getByText('What will run').waitFor()
  expect(await page.getByText('another user uploaded this file').count()).toBe(0)
  await button('Remove row 1').click()
  await choose(row(1), 'Content', 'green.img', Buffer.from('all green'))
  await row(1).getByText('green.img, 9 bytes').waitFor()
  await page.getByText('Changed. Before: [{"name":"sda","content":"red.img"}').waitFor()
  expect(await accessFaults(page)).toEqual([])
  const { vm, disks } = await launched()
  expect([vm.host, contentOf(vm.image)]).toEqual(['web1', 'the image'])
  expect(disks?.map(({ name, content }) => [name, contentOf(content)])).toEqual([
    ['sdb', 'all green'],
    ['sdz', 'all blue'],
  ])
  expect(await person.faults()).toEqual([])
  page = before
})
