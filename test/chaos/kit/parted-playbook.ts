import { existsSync } from 'node:fs'
import { join } from 'node:path'

export const PARTED_FORM = `name: parted
type: ansible
roles: [default]
playbook: parted.yml
inventory: one,two,
fields: []
`

/**
 * A real playbook like that of test/support/gated-playbook.ts, which also tells without printing anything that it has come
 * to a gate: for the times when what it prints goes nowhere.
 */
export function partedPlaybook(folder: string): string {
  const gate = (number: number) => `
    - name: wait for gate ${number}
      ansible.builtin.shell: >-
        echo > ${join(folder, `at-${number}`)}; until [ -e ${join(folder, `gate-${number}`)} ]; do sleep 0.02; done
      run_once: true`
  const part = (number: number) => `
    - name: part ${number}
      ansible.builtin.debug:
        msg: "part ${number} item {{ item }} on {{ inventory_hostname }} {{ 'äöü 漢字 ' * 20 }}"
      loop: "{{ range(0, 10) | list }}"`
  return `- name: parted play
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: note the start
      ansible.builtin.shell: echo started >> ${join(folder, 'starts')}
      run_once: true${part(1)}${gate(1)}${part(2)}${gate(2)}${part(3)}
`
}

/** True when everything before that gate has run. */
export function isAtGate(folder: string, number: number): boolean {
  return existsSync(join(folder, `at-${number}`))
}
