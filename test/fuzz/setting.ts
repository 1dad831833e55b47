import { LARGE_FORM } from './largest.js'
import { workflowText } from '../support/workflow-text.js'
import type { KnownField, KnownForm } from './world.js'

/** Roles of the fuzzed service: someone for every right there is. */
export const CONFIG = `roles:
  - name: admin
    groups: [local/admins]
  - name: operator
    groups: [local/operators]
    options: { manageAllJobs: true, allowJobRelaunch: true, allowApiTokens: true }
  - name: default
    options: { allowVerboseMode: false, allowJobRelaunch: true, allowApiTokens: true }
`

/** Every type and rule of a field. */
const EVERY_FIELD: readonly KnownField[] = [
  { name: 'label', type: 'text', required: true, minLength: 2, maxLength: 200, model: 'server.label' },
  { name: 'host', type: 'text', regex: { expression: '^(([a-z0-9]+)+[.]?)+$', description: 'a name' } },
  { name: 'notes', type: 'textarea', maxLength: 5000 },
  { name: 'secret', type: 'password', minLength: 3 },
  { name: 'again', type: 'password', sameAs: 'secret' },
  { name: 'count', type: 'number', minValue: 1, maxValue: 100, default: 3, model: 'server.disks[0].count' },
  { name: 'agreed', type: 'checkbox', default: false },
  { name: 'size', type: 'radio', values: ['small', 'large'], default: 'small' },
  { name: 'services', type: 'enum', multiple: true, values: ['ssh', 'time', 'backup'], default: '__all__' },
  {
    name: 'site',
    type: 'enum',
    values: [
      { name: 'here', zone: 1 },
      { name: 'there', zone: 2 },
    ],
    valueColumn: 'zone',
  },
  { name: 'day', type: 'datetime', dateType: 'date' },
  { name: 'page', type: 'html', value: '<b>hello</b>' },
  { name: 'sum', type: 'expression', runLocal: true, expression: "Number('$(count)') + 1" },
  { name: 'text', type: 'expression', runLocal: true, expression: "'$(label)'.split('').reverse().join('')" },
  { name: 'typed', type: 'expression', editable: true, query: 'select 1' },
  { name: 'data', type: 'yaml', yamlError: { description: 'no YAML' } },
  { name: 'disks', type: 'list', subform: 'disk', insertMarker: 'new', deleteMarker: 'gone' },
  {
    name: 'shown',
    type: 'text',
    dependencies: [
      { name: 'agreed', values: [true] },
      { name: '!size', values: ['large'] },
    ],
  },
  { name: 'in_range', type: 'number', minValue: '$(count)' },
] as never

const DISK_FIELDS: readonly KnownField[] = [
  { name: 'name', type: 'text', required: true },
  { name: 'gb', type: 'number', minValue: 1, model: 'size.gb' },
  { name: 'of', type: 'expression', runLocal: true, expression: "'$(__parent__.label)' + '$(name)'" },
] as never

/** Fields of the forms that others use. */
export const SUBFORMS: Readonly<Record<string, readonly KnownField[]>> = { disk: DISK_FIELDS }

type FormFile = KnownForm & Readonly<Record<string, unknown>>

const base = { type: 'ansible', roles: ['default'], playbook: 'quick.yml', inventory: 'here,', fields: [] }

/** A form whose fields are computed with values that a page sends. */
export const ASKING_FORM = 'that asks'

/** The forms of the fuzzed service. */
export const FORMS: readonly FormFile[] = [
  { ...base, name: 'every field', fields: EVERY_FIELD },
  { ...base, name: 'plain', verbose: true, tags: 'a,b', limit: 'here' },
  { ...base, name: 'slow', playbook: 'slow.yml' },
  { ...base, name: 'real', playbook: 'real.yml', inventory: 'localhost,' },
  {
    ...base,
    name: 'with file',
    fields: [{ name: 'image', type: 'file', maxSize: 60_000 } as never, { name: 'label' }],
  },
  {
    ...base,
    name: 'wizard',
    wizard: [
      { subform: 'disk', name: 'first' },
      { subform: 'disk', name: 'second' },
    ],
  },
  { ...base, name: 'with credential', credentials: { access: 'router' }, ansibleCredentials: 'router' },
  {
    ...base,
    name: LARGE_FORM,
    fields: [
      { name: 'text', type: 'textarea' },
      { name: 'rows', type: 'list', subform: 'disk' },
      { name: 'yaml', type: 'yaml' },
    ],
  },
  {
    ...base,
    name: ASKING_FORM,
    fields: [
      { name: 'sorted', type: 'expression', expression: 'fn.fnSort($(list))', ignoreIncomplete: true } as never,
      { name: 'rows', type: 'expression', query: 'select $(list)', dbConfig: 'none', editable: true } as never,
    ],
  },
  { ...base, name: 'of operators', roles: ['operator'] },
  { ...base, name: 'on another runner', runner: 'not-there' },
  { ...base, name: 'no relaunch', allowRelaunch: false, abortable: false },
  { ...base, name: 'approved', approval: { title: 'May it?', message: 'It wants to', roles: ['operator'] } },
  { ...base, name: 'approved by oneself', approval: { title: 'May it?', roles: ['default'], allowSelf: true } },
  {
    ...base,
    name: 'steps',
    type: 'multistep',
    steps: [
      { name: 'one', type: 'ansible', playbook: 'quick.yml', inventory: 'here,' },
      { name: 'two', type: 'ansible', playbook: 'slow.yml', inventory: 'here,', continue: true },
    ],
  },
  {
    ...base,
    name: 'steps that ask',
    type: 'multistep',
    steps: [
      { name: 'one', playbook: 'quick.yml', key: 'part', ifExtraVar: 'other' },
      { name: 'two', playbook: 'quick.yml', approval: { title: 'On?', roles: ['default'], allowSelf: true } },
      { name: 'three', playbook: 'quick.yml', runner: 'not-there', continue: true, always: true },
    ],
  },
  { ...base, name: 'flow', type: 'workflow', workflow: 'flow' },
  { ...base, name: 'short flow', type: 'workflow', workflow: 'short.yml' },
  { ...base, name: 'foreign', type: 'awx', template: 'x' },
]

/** Every file of forms; JSON is YAML. */
export function formFiles(): Record<string, string> {
  const subforms = Object.entries(SUBFORMS).map(([name, fields]) => ({ name, type: 'subform', fields }))
  return { 'all.yml': JSON.stringify([...FORMS, ...subforms]) }
}

/** The nodes of every workflow. */
export const NODES = ['first', 'last'] as const

/** Every workflow file; those that ask come last, so that a job of each is soon through. */
export function workflowFiles(): Record<string, string> {
  const [first, last] = NODES
  const quick = { playbook: 'quick.yml', more: { inventory: 'here,', extra_data: { other: 1 } } }
  const asks = { approval: { roles: ['default'], allowSelf: true }, timeout: 1 }
  return {
    'flow.yml': workflowText('flow', {
      [first]: { ...quick, failure: ['other'], success: ['within'] },
      other: { playbook: 'quick.yml', more: { runner: 'not-there' } },
      within: { workflow: 'short.yml', success: [last] },
      [last]: asks,
    }),
    'short.yml': workflowText('short', {
      [first]: { ...quick, always: [last] },
      [last]: { playbook: 'slow.yml', more: { if_extra_var: 'other' } },
    }),
    'broken.yml': workflowText('broken', { [first]: { success: [first] } }),
  }
}

export const PLAYBOOKS: Readonly<Record<string, string>> = {
  'quick.yml': '[]\n',
  'slow.yml': '[]\n',
  'real.yml': `- hosts: all
  gather_facts: false
  connection: local
  tasks:
    - ansible.builtin.debug: { msg: "{{ item }}" }
      loop: [one, two]
`,
}
