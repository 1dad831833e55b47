import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { gatesIn } from '../support/gated-playbook.js'
import { type Product, startProduct } from '../support/product.js'
import { waitFor } from '../support/wait.js'

/** Playbooks of one runner run as one user, unless it isolates them. What one of them may still not do to another. */
let product: Product
/** Where the victim waits and the thief puts what it finds. */
let folder: string

const CANARY = 'a canary of the credential'

const form = (name: string, more = '') => `name: ${name}
type: ansible
roles: [default]
playbook: ${name}.yml
inventory: localhost,
fields: []
${more}`

const play = (tasks: string) => `- hosts: all
  gather_facts: false
  connection: local
  tasks:
${tasks}
`

const VICTIM_TASK = '    - debug: {msg: "what the author wrote"}'

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-attack-'))
  const files = '{{ lookup("env", "PWD") | dirname | dirname | dirname | dirname }}'
  product = await startProduct({
    forms: {
      'victim.yaml': form('victim'),
      'holder.yaml': form('holder', 'credentials: {db: database}'),
      'poisoner.yaml': form('poisoner'),
      'thief.yaml': form('thief'),
      'nosy.yaml': form('nosy'),
      'narrow.yaml': form('narrow', 'playbookFiles: []'),
      'payroll.yaml': form('payroll').replace('payroll.yml', 'finance/payroll.yml'),
    },
    playbooks: {
      'victim.yml': play(VICTIM_TASK),
      'holder.yml': play(
        `    - shell: touch ${folder}/at-1; until [ -e ${folder}/gate-1 ]; do sleep 0.05; done\n    - debug: {msg: "{{ db.user }}"}`,
      ),
      'poisoner.yml': play(
        `    - shell: grep -rl 'what the author wrote' '${files}/cache/blobs' | xargs sed -i 's/what the author wrote/what the thief wrote!/'`,
      ),
      'finance/.holdfast.yml': 'forms: [payroll]\n',
      'finance/payroll.yml': play('    - debug: {msg: "salaries are secret"}'),
      'nosy.yml': play('    - shell: grep -r salaries . || echo nothing'),
      'narrow.yml': play('    - shell: find . -type f'),
      'thief.yml': play(
        `    - shell: for f in '${files}'/spool/jobs/*/secret-vars; do timeout 5 cat "$f"; done > ${folder}/stolen 2>&1 || true`,
      ),
    },
  })
  await product.admin.post('/credential', { name: 'database', type: 'userpass', user: 'app', password: CANARY })
})

afterAll(async () => {
  await product.close()
  rmSync(folder, { recursive: true, force: true })
})

test('a playbook that changes the cached files changes no later job', async () => {
  const runVictim = async () => product.waitForEnd(await product.launch('victim'))
  expect((await runVictim()).output).toContain('what the author wrote')
  expect(await product.waitForEnd(await product.launch('poisoner'))).toMatchObject({ status: 'success' })
  const after = await runVictim()
  expect(after).toMatchObject({ status: 'success' })
  expect(after.output).toContain('what the author wrote')
  expect(after.output).not.toContain('what the thief wrote')
})

test('a playbook that opens the pipes of a running job gets none of its credentials', async () => {
  const holder = await product.launch('holder')
  await waitFor('the other job to run with its credential', () => gatesIn(folder).isReached(1))
  expect(await product.waitForEnd(await product.launch('thief'))).toMatchObject({ status: 'success' })
  expect(readFileSync(join(folder, 'stolen'), 'utf8')).not.toContain(CANARY)
  gatesIn(folder).open(1)
  const end = await product.waitForEnd(holder)
  expect(end).toMatchObject({ status: 'success' })
  expect(end.output).toContain('app')
})

test('a job gets no folder that is for other forms, and no more than its form says that it needs', async () => {
  const outputOf = async (name: string) => (await product.waitForEnd(await product.launch(name))).output
  expect(await outputOf('payroll')).toContain('salaries are secret')
  const linesOf = async (name: string) => {
    const id = await product.launch(name)
    expect(await product.waitForEnd(id)).toMatchObject({ status: 'success' })
    const { records } = await product.admin.get<{ records: { order: number; type: string }[] }>(`/job/${id}/events`)
    const order = records.find(({ type }) => type === 'runner_on_ok')?.order ?? 0
    const event = await product.admin.get<{ result: { stdout_lines: string[] } }>(`/job/${id}/events/${order}`)
    return event.result.stdout_lines
  }
  // The playbook itself has the word.
  expect((await linesOf('nosy')).map((line) => line.split(':')[0])).toEqual(['./nosy.yml'])
  expect(await linesOf('narrow')).toEqual(['./narrow.yml'])
})
