import { waitFor } from '../support/wait.js'
import type { Machine } from './machine.js'

export const PASSWORD = 'correct horse battery'

export const FORM = `name: Gate
type: ansible
playbook: gate.yml
fields:
  - { type: text, name: name, label: Name }
`
/** Says as which user it runs, waits for a file of its name, and ends; by the name `hungry` it wants a gigabyte first. */
export const PLAYBOOK = `- hosts: localhost
  connection: local
  gather_facts: false
  tasks:
    - ansible.builtin.command: id -un
      register: me
    - ansible.builtin.command: { cmd: "true {{ name }}-canary" }
    - ansible.builtin.debug: { msg: "runs as <{{ me.stdout }}>" }
    - ansible.builtin.wait_for: { path: "/var/tmp/gate-{{ name }}", sleep: 1, timeout: 300 }
    - ansible.builtin.command: { argv: [python3, -c, "len(b'x' * 10**9)"] }
      when: name == 'hungry'
    - ansible.builtin.debug: { msg: "the gate <{{ name }}> is open" }
`

/** What is looked at of a job. */
export interface Job {
  readonly id: number
  readonly status: string
  readonly status_reason: string | null
  readonly output: string
}

/** A person's hands on a machine that has both services; `client` is the command line there. */
export function productOn(machine: Machine, client: string) {
  /** A command of the client, as the admin. @returns its answer */
  const holdfast = async (words: string): Promise<unknown> =>
    JSON.parse(await machine.get(`HOME=/root ${client} ${words} --json`))

  const launch = async (name: string): Promise<number> =>
    ((await holdfast(`job launch Gate -e name=${name} --no-follow`)) as { id: number }).id
  const job = async (id: number): Promise<Job> => (await holdfast(`job show ${id}`)) as Job
  const waitForOutput = (id: number, text: string): Promise<true> =>
    waitFor(`job ${id} to say "${text}"`, async () => {
      const { output, status } = await job(id)
      if (!output.includes(text)) throw new Error(`${status}: ${output}`)
      return true
    })
  const openGate = (name: string): Promise<string> => machine.get(`touch /var/tmp/gate-${name}`)
  const waitForEnd = (id: number, status: string): Promise<Job> =>
    waitFor(`job ${id} to be ${status}`, async () => {
      const shown = await job(id)
      if (shown.status !== status) throw new Error(`${shown.status} (${shown.status_reason}): ${shown.output}`)
      return shown
    })
  const waitForSuccess = (id: number): Promise<Job> => waitForEnd(id, 'success')
  const waitForRunner = (what: Readonly<Record<string, unknown>>): Promise<true> =>
    waitFor(`the runner to be ${JSON.stringify(what)}`, async () => {
      const { records } = (await holdfast('runner list')) as { records: Record<string, unknown>[] }
      const [runner] = records
      for (const [name, value] of Object.entries(what)) {
        if (runner?.[name] !== value) throw new Error(`${JSON.stringify(runner)}; ${await journal()}`)
      }
      return true
    })
  const journal = async (): Promise<string> =>
    (await machine.run('journalctl --no-pager -n 40 -u holdfast-runner')).stdout

  const signIn = (password: string): Promise<true> =>
    waitFor('the control plane to answer', async () => {
      const words = `${client} login --server http://127.0.0.1:8000 --username admin --password-stdin`
      const { status, stderr } = await machine.run(`HOME=/root ${words}`, password)
      if (status !== 0) throw new Error(`${stderr}; ${await journal()}`)
      return true
    })
  /** Approves the runner of the machine, with its fingerprint as its journal has it, like an admin compares it. */
  const approve = async (): Promise<void> => {
    await waitForRunner({ state: 'waiting' })
    const fingerprint = /SHA256:[\w+/]+/.exec(
      await machine.get('journalctl --no-pager -u holdfast-runner | grep "agent starts"'),
    )
    await holdfast(`runner approve 1 --fingerprint ${String(fingerprint)}`)
    await waitForRunner({ state: 'approved', online: true })
  }
  return { holdfast, launch, job, waitForOutput, openGate, waitForEnd, waitForSuccess, waitForRunner, signIn, approve }
}
