import { createHash } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newPerson } from '../cli/run-cli.js'
import { covers } from '../interface/covers.js'
import { type Product, startProduct } from '../support/product.js'

/** A job that ran is run again with real playbooks: as it ran, with a changed value, with its upload, in verbose mode. */
let product: Product

const FORM = {
  name: 'install',
  playbook: 'install.yml',
  roles: ['default'],
  inventory: 'localhost,',
  fields: [
    { name: 'title', required: true },
    { name: 'shout', type: 'expression', runLocal: true, expression: "'$(title)'.toUpperCase()" },
    { name: 'cert', type: 'file', required: true },
    { name: 'pin', type: 'password' },
  ],
}
const PLAYBOOK = `- name: install
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: look at the file
      ansible.builtin.stat: {path: "{{ cert.path }}", checksum_algorithm: sha256}
      register: found
    - name: tell
      ansible.builtin.debug:
        msg: "job={{ __jobid__ }} {{ title }}/{{ shout }} sha256={{ found.stat.checksum }} pin=<{{ pin }}> v={{ ansible_verbosity }}"
`

beforeAll(async () => {
  product = await startProduct({
    forms: { 'install.yml': JSON.stringify(FORM) },
    playbooks: { 'install.yml': PLAYBOOK },
  })
})
afterAll(() => product?.close())

test('as it ran, then with a changed value in verbose mode through the command line: new jobs, the same upload', async () => {
  covers('endpoint.relaunch', 'rule-11.changes', 'rule-11.verbose', 'action.relaunch-id', 'detail.rawformdata')
  const content = 'certificate\n'.repeat(1000)
  const sha256 = createHash('sha256').update(content).digest('hex')
  const body = new FormData()
  body.append('file', new Blob([content]), 'site.pem')
  const headers = { authorization: `Bearer ${product.admin.token}` }
  const cert: unknown = await (
    await fetch(`${product.address}/api/v2/job/upload`, { method: 'POST', headers, body })
  ).json()
  const launch = { formName: 'install', rawFormData: { title: 'web', pin: '' }, files: { cert } }
  const { id: first } = await product.admin.post<{ id: number }>('/job', launch)
  const ended = await product.waitForEnd(first)
  expect(ended.status, String(ended.status_reason)).toBe('success')
  expect(ended.output).toContain(`job=${first} web/WEB sha256=${sha256} pin=<> v=0`)

  // The old job and its record may go meanwhile: the new one has the upload.
  const { id: second } = await product.admin.post<{ id: number }>(`/job/${first}/relaunch`)
  await product.admin.request('DELETE', `/job/${first}`)
  expect((await product.waitForEnd(second)).output).toContain(`job=${second} web/WEB sha256=${sha256} pin=<> v=0`)

  const person = newPerson({ HOLDFAST_SERVER: product.address, HOLDFAST_TOKEN: product.admin.token })
  const args = ['-e', 'title=db', '-e', 'pin=hidden-pin', '--verbose', '--follow']
  const { code, stdout, stderr } = await person.run(['job', 'relaunch', String(second), ...args])
  expect(code, stderr).toBe(0)
  const third = Number(/was launched again as job (\d+)/.exec(stderr)?.[1])
  expect(third).toBeGreaterThan(second)
  expect(stdout).toContain(`job=${third} db/DB sha256=${sha256} pin=<********> v=3`)
  expect(await product.admin.get(`/job/${third}`)).toMatchObject({ extravars: { __verbose__: true, pin: '********' } })
  expect(await product.admin.get(`/job/${third}/rawformdata`)).toEqual({ title: 'db' })
  const refused = await product.admin.request('POST', `/job/${third}/relaunch`)
  expect([refused.status, refused.body]).toMatchObject([422, { details: { missing: ['pin'] } }])
})
