import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../interface/covers.js'
import { GATED_FORM, gatedPlaybook, gatesIn } from '../support/gated-playbook.js'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'

/** Jobs that wait for an approval, with a real control plane, a real runner and a real playbook. */
const CONFIG = `roles:
  - {name: admin, groups: [local/admins]}
  - {name: ops, groups: [local/ops]}
  - {name: default, groups: []}
`
const PASSWORD = 'the password of the database'

let product: Product
let ann: RestClient
let bob: RestClient
let marks: string

const play = (tasks: string) => `- name: play
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
${tasks}`

beforeAll(async () => {
  marks = mkdtempSync(join(tmpdir(), 'holdfast-marks-'))
  product = await startProduct({
    config: CONFIG,
    controlPlane: { RTE_LOST_SECONDS: '1' },
    forms: {
      'plain.yml': 'name: plain\ntype: ansible\nroles: [default]\nplaybook: plain.yml\nfields: []\n',
      'gated.yml': GATED_FORM,
      'deploy.yml': `name: deploy
type: ansible
roles: [default]
playbook: deploy.yml
credentials: {db: database}
approval: {title: "Deploy $(host)", message: "Please look at $(doc.originalname).", roles: [ops]}
fields: [{name: host, type: text}, {name: doc, type: file}]
`,
    },
    playbooks: {
      'plain.yml': play('    - ansible.builtin.debug: {msg: plain}\n'),
      'gated.yml': gatedPlaybook(marks),
      'deploy.yml': play(`    - ansible.builtin.raw: echo "{{ host }}" >> ${join(marks, 'deployed')}
    - ansible.builtin.debug:
        msg: "file={{ lookup('file', doc.path) }} login={{ db.user }}/{{ db.password | hash('sha256') }}"
`),
    },
  })
  for (const [username, groups] of [
    ['ann', []],
    ['bob', ['ops']],
  ]) {
    await product.admin.post('/user', { username, password: ADMIN_PASSWORD, groups })
  }
  await product.admin.post('/credential', { name: 'database', type: 'userpass', user: 'app', password: PASSWORD })
  ann = await signIn(product.address, 'ann', ADMIN_PASSWORD)
  bob = await signIn(product.address, 'bob', ADMIN_PASSWORD)
})

afterAll(async () => {
  await product.close()
  rmSync(marks, { recursive: true, force: true })
})

const deployed = () =>
  existsSync(join(marks, 'deployed')) ? readFileSync(join(marks, 'deployed'), 'utf8').trim().split('\n') : []

async function launchDeploy(host: string): Promise<number> {
  const form = new FormData()
  form.append('file', new Blob([`notes for ${host}`]), 'notes.txt')
  const headers = { authorization: `Bearer ${ann.token}` }
  const response = await fetch(`${product.address}/api/v2/job/upload`, { method: 'POST', headers, body: form })
  const launch = { formName: 'deploy', rawFormData: { host }, files: { doc: await response.json() } }
  return (await ann.post<{ id: number }>('/job', launch)).id
}

/** The runner takes its jobs in their order, so that what was before this one in its queue has had its turn. */
async function runAnother(): Promise<void> {
  const id = (await ann.post<{ id: number }>('/job', { formName: 'plain', rawFormData: {} })).id
  expect(await product.waitForEnd(id)).toMatchObject({ status: 'success' })
}

describe('a job with an approval', () => {
  test('reaches no runner before it is approved, and then runs once with its upload and its credential', async () => {
    covers('service.approval-first', 'approval.before', 'approval.then', 'approval.written', 'status.approve')
    const id = await launchDeploy('web-1')
    await runAnother()
    expect(await ann.get(`/job/${id}`)).toMatchObject({ status: 'approve', approval: { title: 'Deploy web-1' } })
    expect(deployed()).toEqual([])
    expect([await ann.get('/job/approvals'), await bob.get('/job/approvals')]).toEqual([0, 1])
    expect((await ann.request('POST', `/job/${id}/approve`)).status).toBe(403)

    await bob.post(`/job/${id}/approve`)
    const job = await product.waitForEnd(id)
    expect(job, String(job.output)).toMatchObject({
      status: 'success',
      approval: { state: 'approved', decided_by: 'bob' },
    })
    const hash = createHash('sha256').update(PASSWORD).digest('hex')
    expect(job.output).toContain(`file=notes for web-1 login=app/${hash}`)
    expect(String(job.output)).toMatch(/APPROVE \[Deploy web-1\][^]*notes\.txt[^]*Approved by bob at [^]*PLAY \[play\]/)
    expect(deployed()).toEqual(['web-1'])
    for (const path of ['/output', '/download', '/events']) {
      expect((await bob.request('GET', `/job/${id}${path}`)).status).toBe(200)
    }
  })

  test('never runs when it is rejected', async () => {
    covers('status.rejected', 'move.reject', 'approval.then')
    const id = await launchDeploy('web-2')
    await bob.post(`/job/${id}/reject`)
    await runAnother()
    expect(await ann.get(`/job/${id}`)).toMatchObject({ status: 'rejected', status_reason: 'rejected by bob' })
    expect(deployed()).not.toContain('web-2')
  })

  test('waits on when the control plane is killed and its runner is silent, and runs when it is approved after that', async () => {
    covers('approval.before', 'approval.then')
    const id = await launchDeploy('web-3')
    const running = await product.launch('gated')
    await waitFor('the other job to run', () => existsSync(join(marks, 'starts')))
    await product.agent.stop('SIGKILL')
    await product.controlPlane.stop('SIGKILL')
    await product.startControlPlane()
    await waitFor('the other job to be given up', async () => {
      const { status } = await product.admin.get(`/job/${running}`)
      return status === 'abandoned'
    })
    expect(await ann.get(`/job/${id}`)).toMatchObject({ status: 'approve', abandoned_at: null, end: null })
    expect(await bob.get('/job/approvals')).toBe(1)

    // Approved while its runner is away it waits for that one, as a launch does.
    await bob.post(`/job/${id}/approve`)
    expect(await ann.get(`/job/${id}`)).toMatchObject({ status: 'running' })
    product.startAgent()
    expect(await product.waitForEnd(id)).toMatchObject({ status: 'success' })
    expect(deployed()).toEqual(['web-1', 'web-3'])
    for (const gate of [1, 2]) gatesIn(marks).open(gate)
    await waitFor('the other job', async () => (await product.admin.get(`/job/${running}`)).status === 'success')
  })
})
