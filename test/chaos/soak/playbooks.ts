import { join } from 'node:path'

/** A real playbook of the soak, and how it must end when nobody aborts it and nothing of it is killed. */
export interface SoakPlaybook {
  readonly form: string
  readonly status: 'success' | 'failed'
  readonly playbook: string
}

const NOTE_START = `
    - name: note the start
      ansible.builtin.raw: echo started >> {{ starts }}
      run_once: true`

const HEAD = `- name: soak
  hosts: all
  gather_facts: false
  connection: local
  tasks:${NOTE_START}`

const COUNT = `
    - name: count
      ansible.builtin.debug:
        msg: "item {{ item }} on {{ inventory_hostname }} {{ 'äöü 漢字 ' * 10 }}"
      loop: "{{ range(0, rounds | int) | list }}"`

const PAUSE = `
    - name: take a while
      ansible.builtin.raw: sleep {{ seconds }}
      run_once: true`

const RESCUED = `
    - name: a block that is rescued
      block:
        - name: fail
          ansible.builtin.command: "false"
      rescue:
        - name: rescue
          ansible.builtin.debug:
            msg: rescued`

const FAILING = `
    - name: fail for real
      ansible.builtin.command: "false"
      when: inventory_hostname == 'two'`

export const SOAK_PLAYBOOKS: readonly SoakPlaybook[] = [
  { form: 'counting', status: 'success', playbook: `${HEAD}${COUNT}${PAUSE}${COUNT}\n` },
  { form: 'rescued', status: 'success', playbook: `${HEAD}${RESCUED}${PAUSE}${COUNT}\n` },
  { form: 'failing', status: 'failed', playbook: `${HEAD}${COUNT}${PAUSE}${FAILING}\n` },
]

/** Forms and playbook files of the soak, by file name. */
export function soakFiles(): { forms: Record<string, string>; playbooks: Record<string, string> } {
  const forms: Record<string, string> = {}
  const playbooks: Record<string, string> = {}
  for (const { form, playbook } of SOAK_PLAYBOOKS) {
    forms[`${form}.yml`] =
      `name: ${form}\ntype: ansible\nroles: [default]\nplaybook: ${form}.yml\ninventory: one,two,three,\nfields: [{name: soak, type: text}, {name: starts, type: text}, {name: rounds, type: number}, {name: seconds, type: number}]\n`
    playbooks[`${form}.yml`] = playbook
  }
  return { forms, playbooks }
}

/** Where a real playbook notes its starts. */
export function startsPath(truthFolder: string, name: string): string {
  return join(truthFolder, `${name}.starts`)
}
