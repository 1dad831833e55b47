import { execFileSync } from 'node:child_process'
import { existsSync, mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { killProcessesOfFolder, processesOfFolder } from '../support/processes-of-folder.js'
import { secretsBelow } from '../support/secret-search.js'
import { waitFor } from '../support/wait.js'

const SECRET = 'a-canary-of-the-restart'
let product: Product

afterEach(() => product.close())

/** A Python that holds every supervisor back until the file `go` is there: a claimed job then is not started. */
function holdingPython(folder: string): string {
  const programs = join(folder, 'programs')
  mkdirSync(programs)
  const real = execFileSync('python3', ['-c', 'import sys; print(sys.executable)']).toString().trim()
  const script = `#!/bin/sh
case "$*" in *sys.executable*) ${real} "$@" | sed 's#"${real}"#"'"$0"'"#'; exit;; *supervisor.py*) ;; *) exec ${real} "$@";; esac
touch ${folder}/held; until [ -e ${folder}/go ]; do sleep 0.05; done
exec ${real} "$@"
`
  writeFileSync(join(programs, 'python3'), script, { mode: 0o755 })
  return programs
}

test('a claimed job that was not started is started with its secrets after both programs were killed', async () => {
  let programs = ''
  product = await startProduct({
    forms: {
      'x.yml':
        'name: x\ntype: ansible\nroles: [default]\nplaybook: x.yml\ninventory: localhost,\ncredentials: {db: login}\n',
    },
    playbooks: {
      'x.yml': `- hosts: all
  connection: local
  gather_facts: false
  tasks:
    - debug: {msg: "{{ db.password | reverse }} {{ db.password }}"}
`,
    },
    prepare: async (folder) => {
      programs = holdingPython(folder)
      return { controlPlane: {}, agent: { RTE_PYTHON: join(programs, 'python3') } }
    },
  })
  const { folder } = product
  await product.admin.post('/credential', { name: 'login', user: 'u', password: SECRET })
  const jobId = await product.launch('x')
  await waitFor('the supervisor to be held', () => existsSync(join(folder, 'held')))

  const jobs = join(folder, 'rte-state/spool/jobs')
  const [job = ''] = readdirSync(jobs)
  expect(readdirSync(join(jobs, job))).toContain('claim.json')
  expect(readdirSync(join(jobs, job))).not.toContain('started.json')
  const { order } = JSON.parse(readFileSync(join(jobs, job, 'claim.json'), 'utf8')) as { order: { sealed: string } }
  expect(order.sealed.length).toBeGreaterThan(100)

  await product.agent.stop('SIGKILL')
  await product.controlPlane.stop('SIGKILL')
  await killProcessesOfFolder(folder)
  expect(processesOfFolder(folder)).toEqual([])
  expect(secretsBelow(folder, { SECRET })).toEqual([])

  await product.startControlPlane()
  product.startAgent()
  writeFileSync(join(folder, 'go'), '')
  const ended = await product.waitForEnd(jobId)
  expect(ended.status, String(ended.status_reason)).toBe('success')
  expect(ended.output).toContain(`${[...SECRET].reverse().join('')} ********`)
})
