import { afterAll, beforeAll, expect, test } from 'vitest'
import { covers } from '../interface/covers.js'
import { type Product, startProduct } from '../support/product.js'

/** Files of a wizard step, and of the rows of a list, go through both programs into a real playbook. */
const FORMS = `- name: machine
  type: ansible
  roles: [default]
  playbook: machine.yml
  inventory: localhost,
  fields: []
  wizard:
    - {name: system, subform: System, defaultModel: vm}
    - {name: storage, subform: Storage}
- name: System
  type: subform
  fields: [{name: image, type: file, required: true, model: boot.image}]
- name: Storage
  type: subform
  fields: [{name: disks, type: list, subform: Disk}]
- name: Disk
  type: subform
  fields: [{name: name, required: true}, {name: content, type: file}]
`
const PLAYBOOK = `- name: machine
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: tell the step
      ansible.builtin.debug:
        msg: "step={{ lookup('ansible.builtin.file', vm.boot.image.path) }} of {{ vm.boot.image.originalname }}"
    - name: tell the rows
      ansible.builtin.debug:
        msg: "row {{ item.name }}={{ lookup('ansible.builtin.file', item.content.path) if item.content is defined else 'nothing' }}"
      loop: "{{ disks }}"
`

let product: Product
beforeAll(async () => {
  product = await startProduct({ forms: { 'machine.yml': FORMS }, playbooks: { 'machine.yml': PLAYBOOK } })
})
afterAll(() => product.close())

async function upload(name: string, content: string): Promise<Record<string, unknown>> {
  const body = new FormData()
  body.append('file', new Blob([content]), name)
  const headers = { authorization: `Bearer ${product.admin.token}` }
  const response = await fetch(`${product.address}/api/v2/job/upload`, { method: 'POST', headers, body })
  expect(response.status).toBe(200)
  return (await response.json()) as Record<string, unknown>
}

async function outputOf(id: number): Promise<string> {
  const job = await product.waitForEnd(id)
  expect(job.status, String(job.output)).toBe('success')
  return String(job.output)
}

test('the playbook reads the file of a wizard step and those of rows, also when the job is run again', async () => {
  covers('launch.files', 'validation.upload-travels')
  const [image, red, blue] = await Promise.all(
    ['image', 'red', 'blue'].map((name) => upload(`${name}.txt`, `all of ${name}`)),
  )
  const { id } = await product.admin.post<{ id: number }>('/job', {
    formName: 'machine',
    rawFormData: { storage: { disks: [{ name: 'sda', content: red }, { name: 'sdb' }, { name: 'sdc' }] } },
    files: { image, 'storage.disks[2].content': blue },
  })
  const output = await outputOf(id)
  for (const line of [
    'step=all of image of image.txt',
    'row sda=all of red',
    'row sdb=nothing',
    'row sdc=all of blue',
  ]) {
    expect(output).toContain(line)
  }

  const { storage } = await product.admin.get<{ storage: { disks: object[] } }>(`/job/${id}/rawformdata`)
  const disks = [storage.disks[2], { name: 'sdx', content: red }]
  const other = await upload('other.txt', 'all of the other')
  const again = await product.admin.post<{ id: number }>(`/job/${id}/relaunch`, { values: { storage: { disks } } })
  const second = await outputOf(again.id)
  for (const line of ['step=all of image', 'row sdc=all of blue', 'row sdx=all of red']) expect(second).toContain(line)
  expect(second).not.toContain('row sda')

  const files = { 'system.image': other, 'storage.disks[0].content': null }
  const last = await product.admin.post<{ id: number }>(`/job/${again.id}/relaunch`, { files })
  const third = await outputOf(last.id)
  for (const line of ['step=all of the other of other.txt', 'row sdc=nothing', 'row sdx=all of red']) {
    expect(third).toContain(line)
  }
})
