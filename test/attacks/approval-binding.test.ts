import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { workflowForm, workflowText } from '../support/workflow-text.js'
import { covers } from '../interface/covers.js'

/** An approval counts for what the approver saw: somebody who may write playbooks or forms cannot have another one run. */
interface WaitingJob {
  readonly status: string
  readonly status_reason: string | null
  readonly output: string
  readonly subjobs: number[]
  readonly approval: {
    readonly state: string
    readonly forced: boolean
    readonly subject: { readonly manifest_sha256: string; readonly form_sha256: string }
  }
}

const play = (message: string) => `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.debug: {msg: "${message}"}
`
/** Goes on when its file is there. */
const gate = (file: string) => `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.raw: until [ -e ${file} ]; do sleep 0.1; done
`
const form = (name: string, playbook = 'deploy.yml') => `name: ${name}
type: ansible
roles: [default]
playbook: ${playbook}
approval: {message: Look, roles: []}
fields: []
`
/** Of the forms that say so, one job runs at once. */
const ALONE = 'concurrency: {group: deploy, limit: 1}\n'

let product: Product
let gateFile: string

beforeAll(async () => {
  product = await startProduct({
    forms: {
      'deploy.yml': `${form('deploy')}${ALONE}`,
      'beside.yml': `${form('beside', 'beside.yml').replace(/approval: .*\n/, '')}${ALONE}`,
      'edited.yml': form('edited'),
      'steps.yml': `name: steps
type: multistep
roles: [default]
approval: {message: Look, roles: []}
fields: []
steps: [{name: first, type: ansible, playbook: gate.yml}, {name: second, type: ansible, playbook: deploy.yml}]
`,
      'outer.yml': workflowForm('outer', { approval: { message: 'Look', roles: [] } }),
    },
    workflows: {
      'outer.yml': workflowText('outer', { a: { success: ['in'] }, in: { workflow: 'inner.yml' } }),
      'inner.yml': workflowText('inner', { x: {} }),
    },
    playbooks: {
      'deploy.yml': play('as approved'),
      'beside.yml': play('beside'),
      'outer/a.yml': play('a'),
      'inner/x.yml': play('as approved'),
      'inner/evil.yml': play('nobody approved this'),
    },
    prepare: (folder) => {
      gateFile = join(folder, 'gate')
      writeFileSync(join(folder, 'persistent/playbooks/gate.yml'), gate(gateFile))
      return Promise.resolve({ controlPlane: {}, agent: {} })
    },
  })
})
afterAll(() => product.close())

const jobOf = (id: number) => product.admin.get<WaitingJob>(`/job/${id}?text=true`)
const becomes = (id: number, status: string) =>
  waitFor(`job ${id} to be ${status}`, async () => {
    const job = await jobOf(id)
    return job.status === status ? job : null
  })
const approve = (id: number, query = '', body?: unknown) =>
  product.admin.request('POST', `/job/${id}/approve${query}`, body)
const writePlaybook = (text: string, name = 'deploy.yml') =>
  writeFileSync(join(product.folder, 'persistent/playbooks', name), text)
const detailsOfApprovals = async () =>
  (await product.admin.get<{ records: { detail: string | null }[] }>('/audit?action=job.approve')).records.map(
    ({ detail }) => detail,
  )

test('a playbook that was changed while its job waits does not run unless the approver insists', async () => {
  covers('approval.changed')
  const id = await product.launch('deploy')
  const asked = (await becomes(id, 'approve')).approval.subject
  writePlaybook(play('changed meanwhile'))
  const refused = await approve(id)
  expect([refused.status, refused.body]).toEqual([
    409,
    {
      code: 'changed_since_asked',
      error: expect.stringContaining('Changed: the playbook folder ('),
      details: { asked, now: { ...asked, manifest_sha256: expect.stringMatching(/^[0-9a-f]{64}$/) } },
    },
  ])
  expect((refused.body as { details: { now: object } }).details.now).not.toEqual(asked)
  expect(await jobOf(id)).toMatchObject({ status: 'approve', approval: { state: 'waiting', subject: asked } })

  expect((await approve(id, '', { force: true })).status).toBe(200)
  const job = await becomes(id, 'success')
  expect(job.approval).toMatchObject({ state: 'approved', forced: true })
  expect(job.output).toContain('[WARNING]: Changed since the approval was asked for: the playbook folder (')
  expect(job.output).toContain('changed meanwhile')
  expect(await detailsOfApprovals()).toEqual([expect.stringMatching(/^force, changed: the playbook folder \(/), null])
})

test('a form that was changed while its job waits is told, too', async () => {
  covers('approval.changed')
  const id = await product.launch('edited')
  await becomes(id, 'approve')
  const path = join(product.folder, 'persistent/forms/edited.yml')
  writeFileSync(
    path,
    readFileSync(path, 'utf8').replace('roles: [default]', 'roles: [default]\ndescription: another form'),
  )
  // The service looks at its form files once a second.
  await waitFor('the service to see the new form', async () => {
    return JSON.stringify((await product.admin.request('GET', '/forms')).body).includes('another form')
  })
  const refused = await approve(id)
  expect(refused.status).toBe(409)
  expect(refused.body).toMatchObject({ error: expect.stringContaining('Changed: the form (') })
  expect((await approve(id, '?force=true')).status).toBe(200)
  await becomes(id, 'success')
})

test('a playbook that is changed after the approval, while the job waits for its runner, needs another approval', async () => {
  writePlaybook(play('as approved'))
  await product.agent.stop('SIGKILL')
  const id = await product.launch('deploy')
  await becomes(id, 'approve')
  expect((await approve(id)).status).toBe(200)
  writePlaybook(play('nobody approved this'))
  product.startAgent()
  const waiting = await becomes(id, 'approve')
  expect(waiting.output).toContain('[WARNING]: The playbook folder changed after the approval')
  expect(waiting.output).not.toContain('nobody approved this')
  expect(waiting.approval).toMatchObject({ state: 'waiting', forced: false })
  // While it waits, it keeps no job of its group waiting.
  expect(await product.waitForEnd(await product.launch('beside'))).toMatchObject({ status: 'success' })
  writePlaybook(play('as approved'))
  expect((await approve(id)).status).toBe(409)
  expect((await approve(id, '?force=true')).status).toBe(200)
  expect((await becomes(id, 'success')).output).toContain('as approved')
})

test('the later steps of an approved job run what was approved, or fail', async () => {
  const id = await product.launch('steps')
  await becomes(id, 'approve')
  expect((await approve(id)).status).toBe(200)
  const [first = 0] = await waitFor('the first step', async () => {
    const { subjobs } = await jobOf(id)
    return subjobs.length > 0 ? subjobs : null
  })
  await waitFor('the first step to run', async () => (await jobOf(first)).output.includes('TASK ['))
  writePlaybook(play('nobody approved this'))
  writeFileSync(gateFile, '')
  const whole = await becomes(id, 'failed')
  const second = await jobOf(whole.subjobs[1] ?? 0)
  expect(second.status_reason).toBe(
    'The playbook folder changed after the approval: nobody approved what this job would run now',
  )
  expect(second.output).not.toContain('nobody approved this')
})

test('a workflow in an approved workflow runs as it was approved, whatever its file says by then', async () => {
  const id = await product.launch('outer')
  await becomes(id, 'approve')
  expect((await approve(id)).status).toBe(200)
  const path = join(product.folder, 'persistent/workflows/inner.yml')
  writeFileSync(path, readFileSync(path, 'utf8').replace('x.yml', 'evil.yml'))
  const whole = await becomes(id, 'success')
  const inner = await jobOf(whole.subjobs[1] ?? 0)
  const node = await jobOf(inner.subjobs[0] ?? 0)
  expect(node.output).toContain('as approved')
})

test('a job whose playbook folder could not be read at its launch is approved only as it is now', async () => {
  writePlaybook('{', '.holdfast.yml')
  const id = await product.launch('deploy')
  const asked = (await becomes(id, 'approve')).approval.subject
  expect(asked.manifest_sha256).toBeNull()
  const unreadable = await approve(id, '?force=true')
  expect([unreadable.status, unreadable.body]).toEqual([
    503,
    expect.objectContaining({
      code: 'playbook_folder',
      error: expect.stringContaining('nobody can say what would run'),
    }),
  ])
  rmSync(join(product.folder, 'persistent/playbooks/.holdfast.yml'))
  writePlaybook(play('changed while nobody could look'))
  const refused = await approve(id)
  expect(refused.status).toBe(409)
  expect(refused.body).toMatchObject({ code: 'changed_since_asked', details: { asked } })
  expect((await jobOf(id)).status).toBe('approve')
  expect((await approve(id, '?force=true')).status).toBe(200)
  expect((await becomes(id, 'success')).output).toContain('changed while nobody could look')
})
