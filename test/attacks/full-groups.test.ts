import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, ADMIN_PASSWORD, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import { ScriptedRunner } from '../support/scripted-runner.js'
import { waitFor } from '../support/wait.js'

/** A user fills a group with jobs that wait. The order in the group is strict, and nobody outside of it waits. */
const WAITING = 150
const form = (name: string, more = '') =>
  `name: ${name}\ntype: ansible\nplaybook: ${name}.yml\nroles: [default]\nfields: []\n${more}`
const GROUP = 'concurrency: {group: deploy, limit: 1}\n'

let product: Product
let runner: ScriptedRunner
let bob: RestClient
let ann: RestClient
beforeAll(async () => {
  product = await startProduct({
    withAgent: false,
    forms: {
      'full.yml': form('full', GROUP),
      'same.yml': form('same', GROUP),
      'other.yml': form('other', 'concurrency: {group: elsewhere, limit: 1}\n'),
      'plain.yml': form('plain'),
    },
  })
  runner = await ScriptedRunner.join(product, 'north')
  for (const username of ['bob', 'ann']) {
    await product.admin.post('/user', { username, password: ADMIN_PASSWORD, groups: [] })
  }
  bob = await signIn(product.address, 'bob', ADMIN_PASSWORD)
  ann = await signIn(product.address, 'ann', ADMIN_PASSWORD)
  runner.scripts.set('full.yml', { holds: true })
})
afterAll(async () => {
  await runner?.leave()
  await product?.close()
})

const launch = async (client: RestClient, formName: string) =>
  (await client.post<{ id: number }>('/job', { formName, rawFormData: {} })).id
const show = (id: number) =>
  product.admin.get<{ status: string; output: string; place?: Record<string, unknown> }>(`/job/${id}?output=false`)
const statusOf = async (id: number) => (await show(id)).status
/** The jobs that ran or run, in the order in which the runner got them. */
const given = () => runner.runs.map(({ order }) => order.job_id)

test('a user who fills a group keeps the others of the group waiting in order, and nobody else', async () => {
  const first = await launch(bob, 'full')
  await waitFor('the first one to run', () => given().includes(first))
  const waiting: number[] = []
  for (let at = 0; at < WAITING; at += 1) waiting.push(await launch(bob, 'full'))
  const anns = await launch(ann, 'same')

  // Jobs of other groups, and of none, run at once.
  for (const name of ['other', 'plain']) {
    expect(await product.waitForEnd(await launch(ann, name))).toMatchObject({ status: 'success' })
  }
  expect(given().filter((id) => id === anns || waiting.includes(id))).toEqual([])

  // Who waits sees why, and for how many.
  const text = await ann.get<{ output: string }>(`/job/${anns}?text=true`)
  expect(text.output).toContain(`in the group 'deploy' only 1 job may run at once (job ${first})`)
  expect(JSON.stringify((await show(anns)).place)).toContain(`${WAITING}`)

  // Aborting what waits frees its place in the row, and the order of the others stays.
  const kept = [waiting[0] ?? 0, waiting[1] ?? 0]
  for (const id of waiting.slice(2)) await bob.post(`/job/${id}/abort`)
  for (const id of waiting.slice(2)) expect(await statusOf(id)).toBe('aborted')
  expect(await statusOf(anns)).toBe('running')

  // Aborting what runs gives its place to the oldest that waits, and to one only.
  for (const [running, next] of [
    [first, kept[0]],
    [kept[0], kept[1]],
    [kept[1], anns],
  ] as const) {
    await bob.post(`/job/${running}/abort`)
    await waitFor('the next one to run', () => given().includes(next ?? 0))
  }
  expect(await product.waitForEnd(anns)).toMatchObject({ status: 'success' })
  expect(given().filter((id) => id === first || id === anns || waiting.includes(id))).toEqual([first, ...kept, anns])
})
