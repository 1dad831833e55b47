import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * A playbook that waits for the test: it says "part 1", waits for the file gate-1, says "part 2", waits for gate-2, says
 * "part 3". It notes each of its starts in a file, so that a second run cannot go unseen. Several hosts and a loop make
 * enough events for gaps and doubles to show.
 */
export const GATED_FORM = `name: gated
type: ansible
roles: [default]
playbook: gated.yml
inventory: one,two,three,
fields: []
`

export function gatedPlaybook(folder: string): string {
  const gate = (number: number) => `
    - name: wait for gate ${number}
      ansible.builtin.shell: until [ -e ${join(folder, `gate-${number}`)} ]; do sleep 0.02; done
      run_once: true`
  const part = (number: number) => `
    - name: part ${number}
      ansible.builtin.debug:
        msg: "part ${number} item {{ item }} on {{ inventory_hostname }} {{ 'äöü 漢字 ' * 20 }}"
      loop: "{{ range(0, 20) | list }}"`
  return `- name: gated play
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: note the start
      ansible.builtin.shell: echo started >> ${join(folder, 'starts')}
      run_once: true${part(1)}${gate(1)}${part(2)}${gate(2)}${part(3)}
`
}

export function openGate(folder: string, number: number): void {
  writeFileSync(join(folder, `gate-${number}`), '')
}

/** How often the playbook was started. */
export function countStarts(folder: string): number {
  return readFileSync(join(folder, 'starts'), 'utf8').trim().split('\n').length
}
