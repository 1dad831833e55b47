import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const HOSTS = Array.from({ length: 50 }, (_, index) => `host${String(index + 1).padStart(2, '0')}`).join(',') + ','
const TASKS = Array.from(
  { length: 40 },
  (_, index) =>
    `    - name: task ${index + 1}\n      ansible.builtin.debug:\n        msg: "result ${index + 1} of {{ inventory_hostname }}"\n`,
).join('')

/** The playbooks that the bench runs, for the product and for bare ansible-playbook alike. */
export const PLAYBOOKS = {
  'big.yml': `- name: big\n  hosts: all\n  gather_facts: false\n  connection: local\n  tasks:\n${TASKS}`,
  'hello.yml':
    '- name: hello\n  hosts: localhost\n  gather_facts: false\n  connection: local\n  tasks:\n    - name: say hello\n      ansible.builtin.debug:\n        msg: hello\n',
}

export const INVENTORIES = { 'big.yml': HOSTS, 'hello.yml': 'localhost,' }

const form = (name: 'big' | 'hello') =>
  `name: ${name}\ntype: ansible\nroles: [default]\nplaybook: ${name}.yml\ninventory: "${INVENTORIES[`${name}.yml`]}"\nfields: []\n`

export const FORMS = {
  'big.yml': form('big'),
  'hello.yml': form('hello'),
  'synthetic.yml': form('hello').replace('name: hello', 'name: synthetic\nrunner: emitter'),
}

/** A folder with the playbooks for the runs without the product; it is an ansible-runner folder too. */
export function bareFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'holdfast-bench-'))
  for (const folder of ['project', 'inventory']) mkdirSync(join(path, folder))
  writeFileSync(join(path, 'inventory/hosts'), INVENTORIES['big.yml'].replaceAll(',', '\n'))
  for (const [name, text] of Object.entries(PLAYBOOKS)) {
    for (const file of [name, join('project', name)]) writeFileSync(join(path, file), text)
  }
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}
