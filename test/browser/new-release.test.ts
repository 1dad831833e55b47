import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser, Page } from 'playwright-core'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { ADMIN_PASSWORD, type Product, ROOT, startProduct } from '../support/product.js'
import { type Person, newPerson, signInOn, startChromium } from './kit/chromium.js'

/** A control plane of another release: the same files, with another version in its package.json. */
const VERSION = '99.1.0'
const FORM = 'name: Say\ntype: ansible\nroles: [default]\nplaybook: say.yml\nfields: [{name: word, label: Word}]\n'

let product: Product
let browser: Browser
let admin: Person

beforeAll(async () => {
  ;[browser, product] = await Promise.all([
    startChromium(),
    startProduct({ forms: { 'say.yml': FORM }, withAgent: false }),
  ])
  await product.admin.post('/user', { username: 'wanda', password: ADMIN_PASSWORD, groups: [] })
  admin = await newPerson(browser, product.address)
})
afterAll(async () => {
  await browser?.close()
  await product?.close()
})

/** Writes the other release. @returns its command */
function anotherRelease(): string {
  const [from, to] = [join(ROOT, 'control-plane'), join(product.folder, 'release/control-plane')]
  for (const part of ['bin', 'bundle', 'dist', 'web/dist/pages'])
    cpSync(join(from, part), join(to, part), { recursive: true })
  const manifest = JSON.parse(readFileSync(join(from, 'package.json'), 'utf8')) as object
  writeFileSync(join(to, 'package.json'), JSON.stringify({ ...manifest, version: VERSION }))
  symlinkSync(join(ROOT, 'node_modules'), join(product.folder, 'release/node_modules'))
  return join(to, 'bin/holdfast.js')
}

/** Marks a page. The mark is gone when the page was loaded again. */
const mark = (page: Page) => page.evaluate('globalThis.isMarked = true')
const isMarked = (page: Page) => page.evaluate<boolean>('globalThis.isMarked === true').catch(() => null)
const offered = (page: Page) => page.getByText(`The control plane is now release ${VERSION}.`)

test('after a new release a page loads itself again, but not while somebody types or is asked', async () => {
  const { page: list } = admin
  await list.goto(`${product.address}/jobs`)
  await signInOn(list, 'admin', ADMIN_PASSWORD)
  const [typing, asked] = [await admin.newTab(), await admin.newTab()]
  await typing.goto(`${product.address}/forms/Say`)
  await typing.getByLabel('Word').fill('half of a word')
  // Who has typed keeps it also after they went on to another field.
  await typing.getByRole('heading', { level: 1 }).click()
  await asked.goto(`${product.address}/users/2`)
  await asked.getByRole('button', { name: 'Delete' }).click()
  const question = asked.getByRole('dialog')
  await question.waitFor()
  for (const page of [list, typing, asked]) await mark(page)

  // The same release: nothing is loaded again.
  await product.controlPlane.stop('SIGTERM')
  await list.getByText('Not connected since').waitFor()
  await product.startControlPlane()
  await list.getByText('Not connected since').waitFor({ state: 'detached' })
  expect(await isMarked(list)).toBe(true)

  await product.controlPlane.stop('SIGTERM')
  await product.startControlPlane(anotherRelease())
  await expect.poll(() => isMarked(list)).toBe(false)
  await list.getByRole('heading', { name: 'Jobs' }).waitFor()
  expect(await offered(list).count()).toBe(0)

  await offered(typing).waitFor()
  await offered(asked).waitFor()
  expect([await isMarked(typing), await isMarked(asked)]).toEqual([true, true])
  expect(await typing.getByLabel('Word').inputValue()).toBe('half of a word')

  // What was typed is left with its page, and the next one is loaded anew.
  await typing.getByRole('banner').getByRole('link', { name: 'Jobs' }).click()
  await typing.getByRole('dialog').getByRole('button', { name: 'Leave', exact: true }).click()
  await expect.poll(() => isMarked(typing)).toBe(false)
  await question.getByRole('button', { name: 'Cancel' }).click()
  await asked.getByRole('button', { name: 'Reload the page' }).click()
  await expect.poll(() => isMarked(asked)).toBe(false)
  await asked.getByRole('heading', { level: 1, name: 'wanda' }).waitFor()
  expect(await admin.faults()).toEqual([])
})
