import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** An honest runner whose playbook makes more events than the control plane keeps. */
let product: Product

const FORM = `name: many
type: ansible
roles: [default]
playbook: many.yml
inventory: localhost,
fields: []
`

const PLAYBOOK = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - debug: { msg: "{{ item }}" }
      loop: "{{ range(30) | list }}"
`

beforeAll(async () => {
  product = await startProduct({
    forms: { 'many.yml': FORM },
    playbooks: { 'many.yml': PLAYBOOK },
    controlPlane: { JOB_EVENTS_MAX: '3' },
  })
})
afterAll(() => product.close())

test('its job ends well, with all of its output, says what is missing, and is forgotten on the runner', async () => {
  const job = await product.waitForEnd(await product.launch('many'))
  expect(job).toMatchObject({ status: 'success', status_reason: null })
  expect(String(job.output)).toContain('PLAY RECAP')
  expect(String(job.detail)).toMatch(/the runner sent more events than is kept: the first \d+ of \d+ bytes are stored/)
  expect(await product.admin.get(`/job/${Number(job.id)}/events`)).toMatchObject({ count: 3 })
  await waitFor('the runner to forget it', async () => {
    const { records } = await product.admin.get<{ records: { spool_bytes: number }[] }>('/runner')
    return records[0]?.spool_bytes === 0
  })
})
