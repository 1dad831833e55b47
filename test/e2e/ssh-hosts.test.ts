import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
import { type Sshd, startSshd, whyNoSshd } from '../support/sshd.js'
import { waitFor } from '../support/wait.js'

const JOBS_AT_ONCE = 8
const reason = whyNoSshd()
if (reason !== null) console.warn(`managed hosts are not tried over ssh: ${reason}`)

/** Command lines of this machine's processes that have a text in them. */
function processesOf(text: string): string {
  return execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(text) || line.includes('[mux]'))
    .join('\n')
}

/**
 * It changes something on the host, waits for a file of its name, and goes on over the connection that it has. `raw` takes the
 * same way to the host as a module and computes a tenth of it; modules and another user are for the jobs that ask for them.
 */
const PLAYBOOK = `- hosts: 127.0.0.1
  gather_facts: false
  vars:
    ansible_user: root
    # The one that is found on the host may be a wrapper that runs nothing. The host is this machine.
    ansible_python_interpreter: "{{ ansible_playbook_python }}"
    ansible_ssh_private_key_file: "{{ key }}"
    ansible_ssh_common_args: "-F none -o UserKnownHostsFile={{ known }} -o IdentitiesOnly=yes {{ more | default('') }}"
  tasks:
    - { name: before, ansible.builtin.raw: "echo before {{ gate }}" }
    - { name: arrived, ansible.builtin.raw: "touch {{ gate }}.arrived" }
    - name: modules
      when: modules | default(false)
      block:
        - { name: a file, ansible.builtin.file: { path: "{{ gate }}.file", state: touch, mode: "0600" } }
        - name: another user
          ansible.builtin.command: id -un
          become: true
          become_user: nobody
          become_method: ansible.builtin.su
          become_flags: -s /bin/sh
          vars: { ansible_remote_tmp: /tmp }
    - { name: wait, ansible.builtin.raw: "until [ -e {{ gate }} ]; do sleep 0.1; done" }
    - { name: after, ansible.builtin.raw: "echo after {{ gate }}" }
`
const FORM = `name: ssh
type: ansible
roles: [default]
playbook: ssh.yml
inventory: "127.0.0.1,"
fields:
  - {name: gate, type: text}
  - {name: key, type: text}
  - {name: known, type: text}
  - {name: ansible_port, type: number}
  - {name: modules, type: checkbox}
  - {name: more, type: text}
`

describe.skipIf(reason !== null)('jobs on a host over ssh', () => {
  let sshd: Sshd
  let product: Product
  let gates: string

  beforeAll(async () => {
    sshd = await startSshd()
    gates = mkdtempSync(join(tmpdir(), 'holdfast-ssh-'))
    product = await startProduct({ forms: { 'ssh.yml': FORM }, playbooks: { 'ssh.yml': PLAYBOOK } })
    await product.waitForRunner()
  })
  afterAll(async () => {
    await product.close()
    await sshd.close()
    rmSync(gates, { recursive: true })
  })

  const gateOf = (name: string): string => join(gates, name)
  const launch = (name: string, more: Record<string, unknown> = {}): Promise<number> =>
    product.launch('ssh', {
      ...{ gate: gateOf(name), key: sshd.key, known: sshd.knownHosts, ansible_port: sshd.port },
      ...more,
    })
  const open = (name: string): void => {
    writeFileSync(gateOf(name), '')
  }
  const waitUntilConnected = (name: string): Promise<unknown> =>
    waitFor(`${name} to be on the host`, () => existsSync(`${gateOf(name)}.arrived`))
  const endOf = async (job: number): Promise<{ status: string; output: string }> =>
    (await product.waitForEnd(job)) as { status: string; output: string }

  test('many at once to one host: none loses its connection when another one ends or is aborted', async () => {
    const names = Array.from({ length: JOBS_AT_ONCE }, (_, number) => `job-${number}`)
    const jobs = await Promise.all(names.map((name) => launch(name)))
    await Promise.all(names.map(waitUntilConnected))
    // One after the other ends or is aborted while all later ones are in the middle of a task.
    for (const [number, job] of jobs.entries()) {
      const isAborted = number % 3 === 1
      if (isAborted) expect((await product.admin.request('POST', `/job/${job}/abort`)).status).toBe(200)
      else open(`job-${number}`)
      const { status, output } = await endOf(job)
      expect(output).not.toContain('UNREACHABLE')
      expect(status).toBe(isAborted ? 'aborted' : 'success')
    }
    // Eight real playbooks at once, each of seven steps over ssh: most of it is computing, for which a busy machine has no time.
  }, 400_000)

  test('a key that the host refuses stays refused while another job is connected', async () => {
    const connected = await launch('connected', { modules: true })
    await waitUntilConnected('connected')
    open('stranger')
    const stranger = await endOf(await launch('stranger', { key: sshd.strangersKey }))
    expect(stranger.status).toBe('failed')
    expect(stranger.output).toContain('Permission denied')
    expect(existsSync(`${gateOf('stranger')}.arrived`)).toBe(false)
    open('connected')
    const { status, output } = await endOf(connected)
    expect(status, output).toBe('success')
    expect(output).toContain('changed: [127.0.0.1]')
  })

  test('a host with another key than the known one is refused', async () => {
    open('unknown')
    const { status, output } = await endOf(await launch('unknown', { known: '/dev/null' }))
    expect(status).toBe('failed')
    expect(output).toContain('Host key verification failed')
  })

  test('a host behind a jump host is reached, and nothing of the connections is left', async () => {
    open('jump')
    const proxy = `ssh -F none -i ${sshd.key} -o UserKnownHostsFile=${sshd.knownHosts} -p ${sshd.port} -W %h:%p root@127.0.0.1`
    const { status, output } = await endOf(await launch('jump', { modules: true, more: `-o ProxyCommand='${proxy}'` }))
    expect(status, output).toBe('success')
    await waitFor('no connection to be left', () => !processesOf(sshd.key).includes('[mux]'))
    expect(readdirSync(join(product.folder, 'rte-state/sockets'))).toEqual([])
  })
})
