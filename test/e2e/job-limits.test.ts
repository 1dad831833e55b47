import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** Limits of forms with real playbooks: one that never ends by itself, and one that waits for its place. */
let product: Product

const form = (name: string, more: string) =>
  `name: ${name}\ntype: ansible\nroles: [default]\nplaybook: ${name}.yml\ninventory: localhost,\nfields: [{name: marker, type: text}]\n${more}\n`
const play = (command: string) => `- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - ansible.builtin.shell: ${command}
`

beforeAll(async () => {
  product = await startProduct({
    forms: {
      'endless.yml': form('endless', 'timeout: 4\nconcurrency: {group: one at a time}'),
      'quick.yml': form('quick', 'concurrency: {group: one at a time}'),
    },
    playbooks: {
      'endless.yml': play('echo $$ > {{ marker }}; while true; do sleep 0.2; done'),
      'quick.yml': play('echo done'),
    },
  })
})
afterAll(() => product.close())

const show = (id: number) => product.admin.get<Record<string, unknown>>(`/job/${id}?output=false`)

test('a playbook that runs too long is aborted, also over a crash of the control plane, and the next job gets its place', async () => {
  const marker = join(product.folder, 'endless.pid')
  // Without an agent no time passes, however slow this machine is.
  await product.agent.stop('SIGKILL')
  const endless = await product.launch('endless', { marker })
  const quick = await product.launch('quick')
  expect(await show(quick)).toMatchObject({
    status: 'running',
    place: { state: 'waiting', group: { name: 'one at a time', limit: 1, running: [endless], before: 0 } },
  })
  product.startAgent()
  await waitFor('the runner to take the job', async () => {
    const { place } = await show(endless)
    return place === null || (place as { state: string }).state !== 'queued'
  })
  await product.controlPlane.stop('SIGKILL')
  await product.startControlPlane()
  expect(await product.waitForEnd(endless)).toMatchObject({
    status: 'aborted',
    status_reason: 'aborted by the time limit of its form (4 seconds)',
  })
  // The end is the runner's: nothing of the playbook is left. A slow machine may not have come to its task.
  const pid = existsSync(marker) ? readFileSync(marker, 'utf8').trim() : ''
  if (pid !== '') expect(existsSync(`/proc/${pid}`)).toBe(false)
  expect(await product.waitForEnd(quick)).toMatchObject({ status: 'success', status_reason: null })
})
