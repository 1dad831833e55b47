import type { ProductOptions } from '../support/product.js'
import type { RestClient } from '../support/rest.js'

/** What the frozen database encrypts and signs with. The product that opens it needs the same. */
export const SECRETS = {
  ACCESS_TOKEN_SECRET: 'signs what only tests use',
  ENCRYPTION_SECRET: 'encrypts what only tests use',
}

const task = (text: string): string => `- hosts: all
  connection: local
  gather_facts: false
  tasks:
    - name: Say
      ansible.builtin.debug: { msg: '${text}' }
`
const form = (name: string, rest: string): string => `name: ${name}
type: ansible
roles: [default]
inventory: hosts.ini
playbook: greet.yml
${rest}`

/** The forms, playbooks and workflows of the frozen installation. */
export const INSTALLATION: Pick<ProductOptions, 'forms' | 'playbooks' | 'workflows'> = {
  forms: {
    'greet.yml': form(
      'Greet',
      `fields:
  - { name: who, type: text, required: true }
  - { name: pin, type: password }
`,
    ),
    'fail.yml': 'name: Fail\ntype: ansible\nroles: [default]\ninventory: hosts.ini\nplaybook: fail.yml\nfields: []\n',
    'secret.yml': form('Secret', 'vaultCredentials: [{ name: vault, id: prod }]\nfields: []\n'),
    'ask.yml': form('Ask', 'approval: { title: Go?, message: Look first, roles: [default] }\nfields: []\n'),
    'steps.yml': `name: Steps
type: multistep
roles: [default]
inventory: hosts.ini
fields: []
steps:
  - { name: one, playbook: greet.yml }
  - { name: two, playbook: greet.yml, approval: { title: On, roles: [default] } }
`,
    'flow.yml': 'name: Flow\ntype: workflow\nroles: [default]\nworkflow: flow.yml\nfields: []\n',
  },
  playbooks: {
    'hosts.ini': 'localhost\n',
    'greet.yml': task('Hello {{ who | default("you") }}'),
    'fail.yml': task('{{ no_such_variable }}'),
  },
  workflows: {
    'flow.yml': `workflow_job_templates:
  - name: Flow
    related:
      workflow_nodes:
        - identifier: first
          unified_job_template: { name: greet.yml, type: job_template }
          inventory: { name: hosts.ini }
          related: { success_nodes: [{ identifier: ask }] }
        - identifier: ask
          unified_job_template: { name: Ask, type: workflow_approval_template }
          approval: { title: Sure?, roles: [default] }
          related: { success_nodes: [{ identifier: last }] }
        - identifier: last
          unified_job_template: { name: greet.yml, type: job_template }
          inventory: { name: hosts.ini }
`,
  },
}

/** Facts that depend on the moment or on the host, and not on what is stored. */
const OF_NOW = new Set([
  'can',
  'clock_skew_ms',
  'connected',
  'draining',
  'estimate',
  'last_seen',
  'online',
  'place',
  'running_jobs',
  'spool_bytes',
])

function stored(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(stored)
  if (typeof value !== 'object' || value === null) return value
  const kept = Object.entries(value).filter(([name]) => !OF_NOW.has(name))
  return Object.fromEntries(kept.map(([name, part]) => [name, stored(part)]))
}

const LISTS = ['/job?records=100', '/user', '/credential', '/schedule', '/notification-target', '/runner']

/** What the REST interface says about everything that is stored, by path. */
export async function everythingOf(admin: RestClient): Promise<Record<string, unknown>> {
  const said: Record<string, unknown> = {}
  for (const path of LISTS) said[path] = stored(await admin.get(path))
  const { records } = await admin.get<{ records: { id: number; job_type: string }[] }>('/job?records=100')
  for (const { id, job_type: type } of records) {
    const parts = type === 'ansible' ? ['events', 'outline', 'output/index'] : ['nodes']
    for (const part of ['?text=true', '?output=false', ...parts.map((name) => `/${name}`)]) {
      said[`/job/${id}${part}`] = stored(await admin.get(`/job/${id}${part}`))
    }
  }
  return said
}
