import { beforeAll, expect, test } from 'vitest'
import { type Product } from '../support/product.js'
import { type RunTask, runEvents } from '../support/run-events.js'
import type { ScriptedRunner } from '../support/scripted-runner.js'
import { accessFaults } from './kit/axe.js'
import { type Person } from './kit/chromium.js'
import { startScriptedScene } from './kit/scene.js'
import { expectForEverybody } from './kit/for-everybody.js'

/** The comparison of a job with the last good run of its form. One product, one runner and one browser for all. */
const FORM = JSON.stringify({
  name: 'deploy',
  type: 'ansible',
  playbook: 'deploy.yml',
  roles: ['default'],
  fields: [{ name: 'size', type: 'number' }, { name: 'place' }],
})
const GOOD: readonly RunTask[] = [
  { name: 'install', at: 0, hosts: { web1: ['ok', 2], web2: ['changed', 5] } },
  { name: 'check', at: 5, hosts: { web1: ['ok', 6], web2: ['ok', 6] } },
]
const BAD: readonly RunTask[] = [
  { name: 'install', at: 0, hosts: { web1: ['ok', 2], web2: ['changed', 45] } },
  { name: 'check', at: 45, hosts: { web1: ['ok', 46], web2: ['failed', 46], web3: ['ok', 46] } },
]

let product: Product
let runner: ScriptedRunner
let admin: Person

beforeAll(async () => {
  const scene = await startScriptedScene({ forms: { 'deploy.yml': FORM } })
  ;({ product, runner, admin } = scene)
  return scene.close
})

async function run(tasks: readonly RunTask[], exit: number, values: object): Promise<number> {
  runner.scripts.set('deploy.yml', { events: runEvents(tasks), exit })
  const { id } = await product.admin.post<{ id: number }>('/job', { formName: 'deploy', rawFormData: values })
  await product.waitForEnd(id)
  return id
}

test('a failed job says what is not as in the last good run', async () => {
  const { page } = admin
  const good = await run(GOOD, 0, { size: 1, place: 'north' })
  await page.goto(`${product.address}/jobs/${good}/compare`)
  await page.getByText('No earlier run of this that you may see has succeeded').waitFor()
  expect(await accessFaults(page)).toEqual([])

  const bad = await run(BAD, 2, { size: 2, place: 'north' })
  await page.goto(`${product.address}/jobs/${bad}`)
  await page.getByRole('link', { name: 'Comparison' }).press('Enter')
  await page.getByText(`Compared with Job ${good},`).waitFor()
  const table = (name: string) => page.getByRole('region', { name })
  const rowsOf = (name: string) => table(name).getByRole('row').allInnerTexts()
  expect(await rowsOf('Variables that differ')).toEqual(['Variable\tThis job\tThe other job', 'size\t2\t1'])
  await page.getByText('Only this job had: web3').waitFor()
  expect((await rowsOf('Results that differ')).slice(1)).toEqual(['check\tweb2\tfailed\tok'])
  expect((await rowsOf('How long tasks took')).slice(1)).toEqual(['install\t45 s\t5.0 s\t+40 s'])

  // Another job stands in the address.
  const same = await run(BAD, 2, { size: 2, place: 'north' })
  await page.goto(`${product.address}/jobs/${same}/compare`)
  await page.getByText(`Compared with Job ${good},`).waitFor()
  await page.getByRole('textbox', { name: 'Compare with job' }).fill(String(bad))
  await page.keyboard.press('Enter')
  await page.getByText('Nothing differs').waitFor()
  expect(new URL(page.url()).search).toBe(`?with=${bad}`)
  await page.getByRole('link', { name: 'The last good run', exact: true }).click()
  await page.getByText(`Compared with Job ${good},`).waitFor()
  expect(await admin.faults()).toEqual([])
})

test('the page is for everybody, also on small screens', async () => {
  await admin.page.goto(`${product.address}/jobs/2/compare`)
  await admin.page.getByRole('region', { name: 'How long tasks took' }).waitFor()
  await expectForEverybody(admin.page)
})
