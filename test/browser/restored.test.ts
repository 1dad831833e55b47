import { execFileSync } from 'node:child_process'
import { copyFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import type { Browser } from 'playwright-core'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { newPerson as newCliPerson } from '../cli/run-cli.js'
import { closeDatabase, databasePathOf, openDatabase, query } from '../support/database-file.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { newPerson, signInOn, startChromium } from './kit/chromium.js'

/** A restored database gives numbers again: an open page and a follower of the audit trail begin again with it. */
const PLAYBOOK = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - {name: Say it, ansible.builtin.debug: {msg: "this is {{ word }}"}}
`
const FORM = `name: Say
type: ansible
roles: [default]
playbook: say.yml
fields: [{name: word, type: text, default: nothing}]
`

let product: Product
let browser: Browser

beforeAll(async () => {
  browser = await startChromium()
})
afterAll(() => browser?.close())
afterEach(() => product?.close())

const say = async (word: string) =>
  product.waitForEnd((await product.admin.post<{ id: number }>('/job', { formName: 'Say', rawFormData: { word } })).id)
const cli = () => newCliPerson({ HOLDFAST_SERVER: product.address, HOLDFAST_TOKEN: product.admin.token })

/** Ways to take the database back to a state of before: the command, a copy of the file, and a copy of the whole folder. */
const WAYS = {
  async 'holdfast restore'() {
    const file = join(product.folder, 'all.backup')
    const place = ['--persistent-path', join(product.folder, 'persistent')]
    expect(await cli().run(['backup', file, '--database-only', ...place])).toMatchObject({ code: 0 })
    return async () => {
      const restored = await cli().run(['restore', file, '--database-only', '--replace', ...place])
      expect(restored).toMatchObject({ code: 0 })
    }
  },
  async 'a copy of the file'() {
    const database = await openDatabase(databasePathOf(product), 'write')
    await query(database, `vacuum into '${join(product.folder, 'backup.db')}'`)
    await closeDatabase(database)
    return async () => {
      const path = databasePathOf(product)
      for (const suffix of ['', '-wal', '-shm']) rmSync(path + suffix, { force: true })
      copyFileSync(join(product.folder, 'backup.db'), path)
    }
  },
  async 'a copy of the folder'() {
    await product.controlPlane.stop('SIGTERM')
    const [persistent, copy] = [join(product.folder, 'persistent'), join(product.folder, 'copy')]
    // With the times of the files, as everything that makes backups of folders does.
    execFileSync('cp', ['-a', persistent, copy])
    await product.startControlPlane()
    return async () => {
      rmSync(persistent, { recursive: true })
      execFileSync('cp', ['-a', copy, persistent])
    }
  },
} as const

test.each(Object.keys(WAYS) as (keyof typeof WAYS)[])(
  '%s: an open page shows nothing of the job that had the number before',
  async (way) => {
    // What a runner keeps would be adopted, and might take the number first.
    const agent = { RTE_KEEP_ENDED_MINUTES: '0' }
    product = await startProduct({ forms: { 'say.yml': FORM }, playbooks: { 'say.yml': PLAYBOOK }, agent })
    await say('before')
    const person = await newPerson(browser, product.address)
    const { page } = person
    await page.goto(`${product.address}/jobs`)
    await signInOn(page, 'admin', ADMIN_PASSWORD)
    const restore = await WAYS[way]()
    await say('the first with this number')
    await page.goto(`${product.address}/jobs/2`)
    await page.getByText('"msg": "this is the first with this number"').waitFor()
    const follower = cli().start(['audit', '--follow', '--action', 'job.launch', '--json'])
    await waitFor('both launches', () => follower.stdout().trim().split('\n').length === 2)

    await product.controlPlane.stop('SIGTERM')
    await restore()
    await product.startControlPlane()
    await say('another job')
    await page.getByText('"msg": "this is another job"').waitFor()
    expect(await page.getByText('the first with this number').count()).toBe(0)
    // While the job runs, the page also says where it is.
    await expect.poll(() => page.getByText('Say it').count()).toBe(1)
    expect(await person.faults()).toEqual([])
    await person.close()

    await waitFor('the launch of the other job', () => follower.stdout().trim().split('\n').length === 3)
    expect(follower.stderr()).toContain('The database of the control plane was restored.')
    const objects = follower.stdout().trim().split('\n')
    expect(objects.map((line) => (JSON.parse(line) as { object: { id: string } }).object.id)).toEqual(['1', '2', '2'])
    follower.process.kill('SIGINT')
    await follower.ended
  },
)
