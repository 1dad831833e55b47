import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

/** A form for `gatedPlaybook`. @param name also that of the playbook's file */
export const gatedForm = (name: string): string => `name: ${name}
type: ansible
roles: [default]
playbook: ${name}.yml
inventory: one,two,
fields: [{name: truth, type: text}, {name: fails, type: checkbox}]
`

export const GATED_FORM = gatedForm('gated')

/**
 * A playbook that waits for the test: it says "part 1", waits at gate 1, says "part 2" and so on. It notes each of its
 * starts in a file, so that a second run cannot go unseen, and tells by a file that it has come to a gate, for the times
 * when what it prints goes nowhere. Several hosts and a loop make enough events for gaps and doubles to show. With the
 * extra variable `fails` it fails at its end. Its commands are `raw`: a module of Python would compute as much as the whole
 * start of ansible.
 * @param folder where its files are; an expression of ansible gives each job a folder of its own
 */
export function gatedPlaybook(folder: string, gates = 2): string {
  const gate = (number: number) => `
    - name: wait for gate ${number}
      ansible.builtin.raw: >-
        touch ${folder}/at-${number}; until [ -e ${folder}/gate-${number} ]; do sleep 0.05; done
      run_once: true`
  const part = (number: number) => `
    - name: part ${number}
      ansible.builtin.debug:
        msg: "part ${number} item {{ item }} on {{ inventory_hostname }} {{ 'äöü 漢字 ' * 20 }}"
      loop: "{{ range(0, 10) | list }}"`
  const parts = Array.from({ length: gates }, (_, index) => gate(index + 1) + part(index + 2)).join('')
  return `- name: gated play
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: note the start
      ansible.builtin.raw: echo started >> ${folder}/starts
      run_once: true${part(1)}${parts}
    - name: end as asked
      ansible.builtin.fail:
        msg: on purpose
      when: fails | default(false)
`
}

/** The gates of one job, by the folder that its playbook knows. */
export interface Gates {
  open(number?: number): void
  /** True when everything before that gate has run. */
  isReached(number?: number): boolean
  /** How often the playbook was started. */
  starts(): number
}

export function gatesIn(folder: string): Gates {
  return {
    open(number = 1) {
      writeFileSync(join(folder, `gate-${number}`), '')
    },
    isReached: (number = 1) => existsSync(join(folder, `at-${number}`)),
    starts: () => countLines(join(folder, 'starts')),
  }
}

/** Lines of a file, 0 when it is not there. */
export function countLines(path: string): number {
  if (!existsSync(path)) return 0
  return readFileSync(path, 'utf8').split('\n').length - 1
}
