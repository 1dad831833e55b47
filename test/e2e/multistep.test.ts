import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newPerson } from '../cli/run-cli.js'
import { covers } from '../interface/covers.js'
import { gatedPlaybook, gatesIn } from '../support/gated-playbook.js'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** Multistep forms with a real control plane, a real runner and real playbooks, followed on the command line. */
const play = (tasks: string) => `- name: play
  hosts: localhost
  connection: local
  gather_facts: false
  tasks:
${tasks}`

const FORMS = {
  'release.yml': `name: release
type: multistep
roles: [default]
fields:
  - {name: version, required: true}
  - {name: size, type: number, model: build.size}
  - {name: publish, type: checkbox, default: false}
steps:
  - {name: build, type: ansible, playbook: tell.yml, key: build, tags: told}
  - {name: smoke, type: ansible, playbook: break.yml, continue: true}
  - {name: publish, type: ansible, playbook: tell.yml, ifExtraVar: publish}
  - {name: roll out, type: ansible, playbook: tell.yml, limit: localhost, approval: {title: "Roll out $(version)", roles: []}}
  - {name: tidy, type: ansible, playbook: tell.yml, always: true}
`,
  'slow.yml': `name: slow
type: multistep
roles: [default]
steps:
  - {name: wait, type: ansible, playbook: gated.yml, inventory: "one,two,"}
  - {name: after, type: ansible, playbook: tell.yml, always: true}
`,
}

let product: Product
let marks: string

beforeAll(async () => {
  marks = mkdtempSync(join(tmpdir(), 'holdfast-marks-'))
  const tell = 'v={{ version | default("-") }} size={{ size | default("-") }} user={{ ansibleforms_user.username }}'
  product = await startProduct({
    forms: FORMS,
    playbooks: {
      'tell.yml': play(`    - ansible.builtin.raw: echo "${tell} tags={{ ansible_run_tags }}" >> ${join(marks, 'told')}
      tags: [told]
`),
      'break.yml': play('    - ansible.builtin.fail: {msg: it does not work}\n'),
      'gated.yml': gatedPlaybook(marks),
    },
  })
})
afterAll(async () => {
  await product?.close()
  rmSync(marks, { recursive: true, force: true })
})

const told = () => {
  const file = join(marks, 'told')
  return existsSync(file) ? readFileSync(file, 'utf8').trim().split('\n') : []
}

test('steps run in order with what each gets; continue, a condition, an approval and always do what they say', async () => {
  covers(
    'service.multistep-job',
    'status.warning',
    'multistep.parts',
    'multistep.key',
    'multistep.if-extra-var',
    'multistep.continue',
    'multistep.always',
    'multistep.approval',
  )
  const person = newPerson({ HOLDFAST_SERVER: product.address, HOLDFAST_TOKEN: product.admin.token })
  const cli = person.start(['job', 'launch', 'release', '-e', 'version=1.2', '-e', 'size=3', '--follow'])
  await cli.says("waits for an approval 'Roll out 1.2' by an admin.")
  expect(told()).toEqual(["v=- size=3 user=admin tags=['told']"])
  const [whole] = (
    await product.admin.get<{ records: { id: number; parent_id: number | null }[] }>('/job')
  ).records.filter((job) => job.parent_id === null)
  const id = whole?.id ?? 0
  expect((await product.admin.request('POST', `/job/${id}/approve`)).status).toBe(200)
  const { code, stdout, stderr } = await cli.ended
  expect(code, stderr).toBe(11)
  expect(told()).toEqual([
    "v=- size=3 user=admin tags=['told']",
    "v=1.2 size=- user=admin tags=['all']",
    "v=1.2 size=- user=admin tags=['all']",
  ])
  const job = await product.admin.get<{ status: string; subjobs: number[]; output: string }>(`/job/${id}?text=true`)
  expect(job).toMatchObject({ status: 'warning', subjobs: { length: 4 } })
  const [build, smoke, rollOut, tidy] = job.subjobs
  const lines = [
    new RegExp(`^STEP \\[build\\] \\(job ${build}\\) \\*+\nok: \\[build\\]`, 'm'),
    new RegExp(`^failed: \\[smoke\\] \\(job ${smoke}\\): .*a host failed\n\\.\\.\\.going on`, 'm'),
    /^skipping: \[publish\]: the extra variable 'publish' is not true$/m,
    /^APPROVE \[Roll out 1\.2\] \*+$/m,
    new RegExp(`^ok: \\[roll out\\] \\(job ${rollOut}\\)$`, 'm'),
    new RegExp(`^ok: \\[tidy\\] \\(job ${tidy}\\)\nSTEP RECAP \\*+\nok=3 failed=1 skipped=1$`, 'm'),
  ]
  for (const line of lines) expect(stdout).toMatch(line)
  expect(stderr).toContain(`Job ${id} ended warning`)
  const part = await product.admin.get<{ output: string }>(`/job/${smoke}?text=true`)
  expect(part).toMatchObject({ parent_id: id, target: 'smoke', status: 'failed', form: 'release' })
  expect(part.output).toContain('it does not work')
  const shown = await person.run(['job', 'show', String(id)])
  expect(shown.stdout).toMatch(/status +warning/)
  expect(shown.stdout).toMatch(new RegExp(` ${build} +build +success `))
  expect(shown.stdout).toMatch(new RegExp(` ${smoke} +smoke +failed .* a host failed`))
  expect((await person.run(['job', 'list'])).stdout).toMatch(new RegExp(` ${rollOut} +release / roll out +success `))
})

test('an abort of the parent job ends the playbook of the running step, and nothing follows, not even always', async () => {
  covers('multistep.abort')
  const before = told().length
  const id = await launchSlow()
  const gates = gatesIn(marks)
  await waitFor('the playbook to be at its gate', () => gates.isReached())
  expect((await product.admin.request('POST', `/job/${id}/abort`)).status).toBe(200)
  expect(await product.waitForEnd(id)).toMatchObject({ status: 'aborted', status_reason: 'aborted by admin' })
  const { subjobs } = await product.admin.get<{ subjobs: number[] }>(`/job/${id}`)
  expect(subjobs).toHaveLength(1)
  expect(await product.admin.get(`/job/${subjobs[0]}`)).toMatchObject({ status: 'aborted', abort_requested: true })
  expect(told()).toHaveLength(before)
})

async function launchSlow(): Promise<number> {
  return (await product.admin.post<{ id: number }>('/job', { formName: 'slow', rawFormData: {} })).id
}
