import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { covers } from '../interface/covers.js'

/** From field values to a real playbook, with launches checked as they are by default. */
let product: Product

const FORMS = [
  {
    name: 'order',
    type: 'ansible',
    roles: ['default'],
    playbook: 'show.yml',
    inventory: 'localhost,',
    fields: [
      { name: 'name', required: true, regex: { expression: '^(?=.*[a-z])[a-z0-9]+$', description: 'small letters' } },
      { name: 'upper', type: 'expression', runLocal: true, expression: "'$(name)'.toUpperCase()" },
      { name: 'shown', type: 'checkbox', output: false },
      { name: 'hidden', default: 'never', dependencies: [{ name: 'shown', values: [true] }] },
      {
        name: 'size',
        type: 'enum',
        values: [
          { id: 1, gb: 4 },
          { id: 2, gb: 8 },
        ],
        valueColumn: 'gb',
        model: 'vm.memory',
      },
      { name: 'disks', type: 'list', subform: 'disk', model: 'vm.disks' },
      { name: 'options', type: 'yaml' },
      { name: '__tags__' },
    ],
  },
  { name: 'disk', type: 'subform', fields: [{ name: 'gb', type: 'number', required: true, maxValue: 100 }] },
]

const PLAYBOOK = `- name: show
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: shown
      ansible.builtin.debug:
        msg: "SHOWN {{ {'n': name, 'u': upper, 'h': hidden | default('no'), 'vm': vm, 'o': options} | to_json(sort_keys=true) }}"
      tags: wanted
    - name: not wanted
      ansible.builtin.debug: {msg: NOTWANTED}
`

beforeAll(async () => {
  product = await startProduct({
    forms: { 'forms.yml': JSON.stringify(FORMS) },
    playbooks: { 'show.yml': PLAYBOOK },
    config: `roles:
  - {name: admin, groups: [local/admins]}
  - {name: elsewhere, groups: [local/elsewhere], runners: [another-runner]}
  - {name: default, groups: []}
`,
  })
})

afterAll(() => product?.close())

const rawFormData = {
  name: 'web1',
  hidden: 'sent all the same',
  size: '8',
  disks: [{ gb: 10 }, { gb: '20' }],
  options: 'a: [1, 2]',
  __tags__: 'wanted',
}

test('an enforced launch: the playbook gets what the server built from the field values, and nothing else', async () => {
  covers('rule-1.validation', 'validation.enforce')
  const extravars = { hidden: 'forged', name: 'forged', vm: 'forged' }
  const { id } = await product.admin.post<{ id: number }>('/job', { formName: 'order', rawFormData, extravars })
  const job = await product.waitForEnd(id)
  expect(job.status, String(job.status_reason)).toBe('success')
  const shown = /SHOWN (\{.*\})"/.exec(String(job.output))?.[1] ?? ''
  expect(JSON.parse(shown.replaceAll('\\"', '"'))).toEqual({
    n: 'web1',
    u: 'WEB1',
    h: 'no',
    vm: { memory: 8, disks: [{ gb: 10 }, { gb: 20 }] },
    o: { a: [1, 2] },
  })
  expect(job.output).not.toContain('NOTWANTED')
})
