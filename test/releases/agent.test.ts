import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CONTRACT } from '@holdfast/protocol'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { unpackAgent } from './frozen.js'
import { INSTALLATION } from './installation.js'

/** A runner agent of release 0.1.0 and a control plane of today. */
let product: Product
let old: string
let runner: number

const GATED = (folder: string) => `- hosts: all
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.raw: "touch '${folder}/begun'; until [ -e '${folder}/gate' ]; do sleep 0.05; done; echo through"
      register: said
    - ansible.builtin.debug: { msg: '{{ said.stdout }}' }
`

beforeAll(async () => {
  product = await startProduct({
    ...INSTALLATION,
    forms: {
      ...INSTALLATION.forms,
      'gated.yml':
        'name: Gated\ntype: ansible\nroles: [default]\ninventory: hosts.ini\nplaybook: gated.yml\nfields: []\n',
    },
    withAgent: false,
  })
  writeFileSync(join(product.folder, 'persistent/playbooks/gated.yml'), GATED(product.folder))
  old = unpackAgent(product.folder)
  product.startAgent({ program: old })
  const asking = await waitFor('the runner to ask to join', async () => (await runners())[0])
  runner = asking.id
  await product.admin.post(`/runner/${runner}/approve`)
  await product.waitForRunner()
  await product.admin.post('/credential', { name: 'vault', type: 'vault', password: 'the password of vault' })
})
afterAll(() => product.close())

interface Runner {
  readonly id: number
  readonly state: string
  readonly version: string
  readonly contract: number
}
const runners = async () => (await product.admin.get<{ records: Runner[] }>('/runner')).records

/** The end of a job whose every byte was compared with what its runner wrote. */
async function verified(jobId: number): Promise<Record<string, unknown>> {
  const job = await product.waitForEnd(jobId)
  const { integrity } = await product.admin.get<{ integrity: { state: string } }>(`/job/${jobId}?output=false`)
  return { ...job, integrity: integrity.state }
}

test('it joins, and says which contract it speaks', async () => {
  expect(await runners()).toMatchObject([{ state: 'approved', version: '0.1.0', contract: CONTRACT }])
})

test('its jobs are exact, with their passwords, credentials and events', async () => {
  const [greet, fail, secret] = [
    await product.launch('Greet', { who: 'world', pin: 'the pin of a launch' }),
    await product.launch('Fail'),
    await product.launch('Secret'),
  ]
  const good = { status: 'success', integrity: 'verified' }
  expect(await verified(greet)).toMatchObject({ ...good, output: expect.stringContaining('Hello world') as string })
  expect(await verified(fail)).toMatchObject({ status: 'failed', integrity: 'verified' })
  expect(await verified(secret)).toMatchObject(good)
  const { records } = await product.admin.get<{ records: { type: string; line: number | null }[] }>(
    `/job/${greet}/events`,
  )
  expect(records.length).toBeGreaterThan(3)
  expect(records.some(({ line }) => typeof line === 'number')).toBe(true)
})

test('a job is aborted', async () => {
  const jobId = await product.launch('Gated')
  await waitFor('the playbook to run', () => existsSync(join(product.folder, 'begun')))
  await product.admin.post(`/job/${jobId}/abort`)
  expect(await product.waitForEnd(jobId)).toMatchObject({ status: 'aborted' })
})

test('its state folder and its running jobs are taken over by an agent of today, and the other way round', async () => {
  for (const program of [undefined, old]) {
    const jobId = await product.launch('Gated')
    await waitFor('the job to run', async () => {
      const { place } = await product.admin.get<{ place: { state: string } | null }>(`/job/${jobId}?output=false`)
      return place?.state === 'claimed'
    })
    await product.agent.stop('SIGKILL')
    product.startAgent(program === undefined ? {} : { program })
    await product.waitForRunner()
    writeFileSync(join(product.folder, 'gate'), '')
    expect(await verified(jobId)).toMatchObject({ status: 'success', integrity: 'verified' })
    rmSync(join(product.folder, 'gate'))
  }
  expect((await runners()).map(({ id }) => id)).toEqual([runner])
})
