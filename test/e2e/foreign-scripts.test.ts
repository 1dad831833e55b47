import { execFile } from 'node:child_process'
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { covers } from '../interface/covers.js'
import { cleanEnvironment, startProgram } from '../support/process.js'
import { type Product, ROOT, startProduct } from '../support/product.js'
import { type RestClient, signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'

/** Scripts of people who use curl or Python's standard library, as real processes against the whole product. */
const SCRIPTS = join(ROOT, 'test/e2e/foreign-scripts')
const PASSWORD = 'a long enough password'

let product: Product
let user: RestClient
let gates: string

const form = (name: string, more: string) =>
  `name: ${name}\ntype: ansible\nroles: [default]\nplaybook: ${name}.yml\ninventory: localhost,\n${more}\n`
const play = (tasks: string) =>
  `- name: the play\n  hosts: all\n  gather_facts: false\n  connection: local\n  tasks:\n${tasks}`
const debug = (msg: string) => `    - name: say\n      ansible.builtin.debug:\n        msg: "${msg}"\n`
const gate = (name: string) =>
  `    - name: wait for ${name}\n      ansible.builtin.raw: until [ -e {{ gates }}/${name} ]; do sleep 0.05; done\n`

beforeAll(async () => {
  product = await startProduct({
    forms: {
      'deploy.yml': form(
        'deploy',
        'fields: [{name: region, required: true}, {name: package, type: file, required: true}]',
      ),
      'waits.yml': form('waits', 'fields: [{name: asked, required: true}]'),
      'parts.yml': form('parts', 'fields: [{name: gates, required: true}]'),
    },
    playbooks: {
      'deploy.yml': play(debug("region {{ region }} file {{ lookup('file', package.path) }}")),
      'waits.yml': play(gate('never').replace('{{ gates }}', '/nowhere')),
      'parts.yml': play(
        [debug('part 1 said'), gate('one'), debug('part 2 said'), gate('two'), debug('part 3 said')].join(''),
      ),
    },
  })
  gates = join(product.folder, 'gates')
  mkdirSync(gates)
  await product.admin.post('/user', { username: 'deployer', password: PASSWORD, groups: [] })
  user = await signIn(product.address, 'deployer', PASSWORD)
})
afterAll(() => product.close())

async function run(script: string, environment: Record<string, string>): Promise<string[]> {
  const env = cleanEnvironment({ BASE: product.address, TOKEN: user.token, ...environment })
  const { stdout } = await promisify(execFile)(join(SCRIPTS, script), { env })
  return stdout.trimEnd().split('\n')
}

describe('scripts that were written for AnsibleForms', () => {
  test('curl: sign in with Basic, upload, launch, wait, read as text, download, list, events, delete', async () => {
    covers('launch.verbose', 'launch.files', 'sign-in.basic', 'sign-in.refresh', 'endpoint.upload', 'rule-3.unchanged')
    const upload = join(product.folder, 'package.txt')
    const downloads = join(product.folder, 'downloads')
    writeFileSync(upload, 'contents of the package')
    mkdirSync(downloads)
    const said = await run('deploy.sh', { LOGIN: `deployer:${PASSWORD}`, UPLOAD: upload, DOWNLOADS: downloads })
    const text = said.join('\n')
    expect(said[0]).toBe('status: success')
    // What the field holds counts, not what was sent as extra variables.
    expect(text).toContain('region eu file contents of the package')
    // Only -vvv says where a task stands.
    expect(text).toMatch(/^task path: /m)
    expect(text).toMatch(/^html: [1-9]/m)
    const [name] = readdirSync(downloads) as [string]
    expect(name).toMatch(/^holdfast-job-\d+\.txt$/)
    expect(readFileSync(join(downloads, name), 'utf8')).toContain('contents of the package')
    expect(said.slice(-4)).toEqual([
      "list: 1 [('deploy', 'success', 'deployer')]",
      'recap: playbook_on_stats',
      expect.stringMatching(/^Job \d+ was deleted$/),
      'gone: 404',
    ])
  })

  test('Python: upload with the standard library, launch, wait for the end', async () => {
    const upload = join(product.folder, 'second.txt')
    writeFileSync(upload, 'contents of the second')
    const said = await run('upload.py', { LOGIN: `deployer:${PASSWORD}`, UPLOAD: upload })
    expect(said.at(-1)).toBe('status: success')
    expect(said.join('\n')).toContain('region us file contents of the second')
  })

  test('shell: sign in with a body of a form, launch, follow the output in a loop', async () => {
    const folder = join(product.folder, 'open-gates')
    mkdirSync(folder)
    for (const name of ['one', 'two']) writeFileSync(join(folder, name), '')
    const said = await run('loop.sh', { LOGIN: `deployer:${PASSWORD}`, GATES: folder })
    expect(said.at(-1)).toBe('status: success')
    for (const part of [1, 2, 3]) expect(said.filter((line) => line.includes(`part ${part} said`))).toHaveLength(1)
  })

  test('curl: a job is followed by the event stream, its output and its status are heard of', async () => {
    covers('live.jobs-output', 'live.jobs-status', 'live.open', 'service.changes-by-name')
    const { id } = await user.post<{ id: number }>('/job', { formName: 'parts', rawFormData: { gates } })
    const inGate = (name: string) =>
      waitFor(`the job to wait for ${name}`, async () => {
        const { records } = await user.get<{ records: { type: string; task: string }[] }>(`/job/${id}/events`)
        return records.some((event) => event.type === 'runner_on_start' && event.task === `wait for ${name}`)
      })
    await inGate('one')
    const environment = { BASE: product.address, TOKEN: user.token, JOB: String(id) }
    const follower = startProgram(join(SCRIPTS, 'follow.sh'), [], environment)
    try {
      await waitFor('the follower to listen', () => follower.said().includes('listening'))
      writeFileSync(join(gates, 'one'), '')
      await waitFor('the follower to hear of output', () => follower.said().includes('running part 1 said part 2 said'))
      await inGate('two')
      writeFileSync(join(gates, 'two'), '')
      await waitFor('the follower to hear of the end', () =>
        follower.said().endsWith('success part 1 said part 2 said part 3 said\n'),
      )
    } finally {
      await follower.stop('SIGKILL')
    }
  })

  test('Python: launch, read the values as payload, abort, and the status codes of what goes wrong', async () => {
    covers('job.payload', 'move.abort', 'action.abort', 'rule-12.abort', 'rule-12.delete')
    const [line] = await run('abort.py', {})
    expect(JSON.parse(line ?? '')).toEqual({
      launch: 200,
      payload: 'by a script',
      'delete while running': 409,
      abort: [200, { message: expect.any(String) as string }],
      status: 'aborted',
      'abort again': ['code', 'error'],
      'abort of an ended job': 409,
      'no such job': 404,
      'no token': 401,
      'no form': 400,
      'no such event': [400, 404],
    })
  })
})
