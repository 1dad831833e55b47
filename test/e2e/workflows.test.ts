import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'
import { workflowForm, workflowText } from '../support/workflow-text.js'
import { covers } from '../interface/covers.js'

/** A workflow with a real control plane, a real runner and real playbooks. */
let product: Product
let marks: string

const play = (...tasks: object[]): string =>
  JSON.stringify([{ hosts: 'localhost', connection: 'local', gather_facts: false, tasks }])
const note = (text: string) => ({ 'ansible.builtin.raw': `echo "${text}" >> ${join(marks, 'notes')}` })
const publish = (data: object) => ({ 'ansible.builtin.set_stats': { data } })

beforeAll(async () => {
  marks = mkdtempSync(join(tmpdir(), 'holdfast-marks-'))
  const seen = (name: string) => ({ 'ansible.builtin.raw': `touch ${join(marks, name)}` })
  const awaits = (name: string) => ({ 'ansible.builtin.raw': `until [ -e ${join(marks, name)} ]; do sleep 0.05; done` })
  product = await startProduct({
    forms: { 'deploy.yml': workflowForm('deploy', { fields: [{ name: 'version', type: 'text' }] }) },
    workflows: {
      'deploy.yml': workflowText('deploy', {
        build: { playbook: 'build.yml', success: ['live'] },
        check: { playbook: 'check.yml', success: ['never'], failure: ['tidy'] },
        tidy: { playbook: 'tidy.yml', success: ['ask'] },
        live: { workflow: 'live.yml', success: ['ask'] },
        ask: { approval: { roles: [] }, success: ['tell'], more: { all_parents_must_converge: true } },
        tell: { playbook: 'tell.yml', more: { skip_tags: 'quiet', job_tags: 'loud,quiet' } },
        never: { playbook: 'tell.yml' },
      }),
      'live.yml': workflowText('live', { go: { playbook: 'go.yml' } }),
    },
    playbooks: {
      // Each of the two waits for the other: they end only when they run side by side.
      'build.yml': play(seen('build'), awaits('check'), publish({ image: 'app-{{ version }}' })),
      'check.yml': play(seen('check'), awaits('build'), publish({ why: 'disk' }), { 'ansible.builtin.fail': {} }),
      'tidy.yml': play(note('tidy after {{ why }}')),
      'go.yml': play(note('run {{ image }}'), publish({ address: '{{ image }}.example' })),
      'tell.yml': play(
        { ...note('tell {{ address }} {{ why }} {{ version }}'), tags: 'loud' },
        { ...note('not to be'), tags: 'quiet' },
      ),
    },
  })
})

afterAll(async () => {
  await product.close()
  rmSync(marks, { recursive: true, force: true })
})

test('playbooks run side by side, after a failure, in a nested workflow and after an approval, with what others published', async () => {
  covers('workflow.artifacts', 'workflow.roots', 'workflow.links', 'workflow.nested', 'workflow.approval')
  const id = await product.launch('deploy', { version: '7' })
  await waitFor('the approval', async () => {
    const { status } = await product.admin.get(`/job/${String(id)}?output=false`)
    return status === 'approve'
  })
  await product.admin.post(`/job/${String(id)}/approve`)
  const job = await product.waitForEnd(id)
  expect(job.status, String(job.output)).toBe('success')
  const notes = readFileSync(join(marks, 'notes'), 'utf8').trim().split('\n')
  expect([...notes].sort()).toEqual(['run app-7', 'tell app-7.example disk 7', 'tidy after disk'])
  expect(notes.at(-1)).toContain('tell')
  const node = (identifier: string) =>
    product.admin.get<{ node: { status: string }; artifacts: object }>(`/job/${String(id)}/node/${identifier}`)
  expect((await node('check')).node.status).toBe('failed')
  expect((await node('never')).node.status).toBe('do not run')
  expect((await node('build')).artifacts).toEqual({ image: 'app-7' })
  expect((await node('live')).artifacts).toEqual({ address: 'app-7.example' })
  expect(job.output).toMatch(
    /WORKFLOW NODE \[check\] \(failed\)[^]*TASK \[ansible.builtin.fail\][^]*WORKFLOW NODE \[tell\] \(success\)/,
  )
})
