import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { keepWritten } from '../../support/exactness.js'
import type { Product } from '../../support/product.js'
import { type Truth, countLines } from './load.js'

/** A form and a playbook for real ansible; each of its jobs waits at gates of its own. */
export const REAL_FORM = `name: real
type: ansible
roles: [default]
playbook: real.yml
inventory: one,two,
fields: []
`

export const REAL_PLAYBOOK = `- name: real play
  hosts: all
  gather_facts: false
  connection: local
  tasks:
    - name: note the start
      ansible.builtin.shell: echo started >> {{ truth }}/starts
      run_once: true
    - name: before the gate
      ansible.builtin.debug:
        msg: "before {{ item }} on {{ inventory_hostname }} {{ 'äöü 漢字 ' * 20 }}"
      loop: "{{ range(0, 10) | list }}"
    - name: wait for the gate
      ansible.builtin.shell: touch {{ truth }}/waits; until [ -e {{ truth }}/gate ]; do sleep 0.02; done
      run_once: true
    - name: after the gate
      ansible.builtin.debug:
        msg: "after {{ item }} on {{ inventory_hostname }} {{ 'äöü 漢字 ' * 20 }}"
      loop: "{{ range(0, 10) | list }}"
    - name: end as asked
      ansible.builtin.fail:
        msg: on purpose
      when: fails | default(false)
`

/** The truth of a job that ansible runs: what its supervisor wrote, kept by `keep` when the agent removes it. */
export interface RealTruth extends Truth {
  /** True while it waits at its gate, and after that. */
  isAtGate(): boolean
  openGate(): void
  /** Waits for the streams and keeps hold of them. To be called before the gate is opened. */
  keep(): Promise<void>
}

/** Launches a job for real ansible. The product needs REAL_FORM as real.yml and REAL_PLAYBOOK as real.yml. */
export async function launchReal(
  product: Product,
  options: { readonly fails?: boolean } = {},
): Promise<{ readonly jobId: number; readonly truth: RealTruth }> {
  const folders = join(product.folder, 'truth')
  const folder = join(folders, `real-${readdirSync(folders).length + 1}`)
  mkdirSync(folder)
  const jobId = await product.launch('real', { truth: folder, fails: options.fails === true })
  return { jobId, truth: realTruthOf(product, jobId, folder) }
}

function realTruthOf(product: Product, jobId: number, folder: string): RealTruth {
  const kept = join(product.folder, `kept-${jobId}`)
  return {
    outputPath: join(kept, 'output.log'),
    eventsPath: join(kept, 'events.jsonl'),
    starts: () => countLines(join(folder, 'starts')),
    isAtGate: () => existsSync(join(folder, 'waits')),
    openGate() {
      writeFileSync(join(folder, 'gate'), '')
    },
    async keep() {
      if (!existsSync(kept)) await keepWritten(product, jobId)
    },
  }
}
