import { execFileSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as pause } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { seeded } from '../chaos/kit/seed.js'
import { type Product, startProduct } from '../support/product.js'
import { type Sshd, startSshd, whyNoSshd } from '../support/sshd.js'
import { waitFor } from '../support/wait.js'

const JOBS_AT_ONCE = 8
const reason = whyNoSshd()
if (reason !== null) console.warn(`managed hosts are not tried over ssh: ${reason}`)

/** Command lines of the ssh processes that hold connections for jobs of a product. */
function connectionsOf(product: Product): string[] {
  return execFileSync('ps', ['-eo', 'args='], { encoding: 'utf8' })
    .split('\n')
    .filter((line) => line.includes(product.folder) && line.includes('[mux]'))
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

/** When a job is ended, and how: an abort, the end of its playbook, or both at once. */
interface Ending {
  readonly at: 'launched' | 'connecting' | 'connected'
  readonly deed: 'abort' | 'end' | 'both'
}
const MOMENTS = ['launched', 'connecting', 'connected'] as const
const DEEDS = ['abort', 'end', 'both'] as const
const ENDINGS: readonly Ending[] = MOMENTS.flatMap((at) => DEEDS.map((deed) => ({ at, deed })))
/** What is added to a moment by chance: some steps of a playbook. */
const MAX_PAUSE_MS = 1500

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
      gate: gateOf(name),
      key: sshd.key,
      known: sshd.knownHosts,
      ansible_port: sshd.port,
      ...more,
    })
  const open = (name: string): void => {
    writeFileSync(gateOf(name), '')
  }
  const waitUntilConnected = (name: string): Promise<unknown> =>
    waitFor(`${name} to be on the host`, () => existsSync(`${gateOf(name)}.arrived`))
  /** Waits for a moment in the life of a job. */
  const momentOf = async (at: Ending['at'], name: string, job: number): Promise<void> => {
    if (at === 'connected') await waitUntilConnected(name)
    if (at !== 'connecting') return
    const isOnItsWay = async (): Promise<boolean> =>
      ((await product.admin.get(`/job/${job}?text=true`)) as { output: string }).output.includes('TASK [before]')
    await waitFor(`${name} to connect`, isOnItsWay)
  }
  const endOf = async (job: number): Promise<{ status: string; output: string }> =>
    (await product.waitForEnd(job)) as { status: string; output: string }

  const NAME = 'many at once to one host: none loses its connection when another one ends or is aborted at any moment'
  test(
    NAME,
    // Real playbooks, each with several steps over ssh: most of it is computing, for which a busy machine has no time.
    seeded('test/e2e/ssh-hosts.test.ts', NAME, async (chance) => {
      const play = async ({ at, deed }: Ending, number: number): Promise<void> => {
        const name = `job-${number}`
        const job = await launch(name)
        await momentOf(at, name, job)
        await pause(chance.between(0, MAX_PAUSE_MS))
        if (deed !== 'abort') open(name)
        // Right after its gate opens it may have ended before the abort comes.
        const refusals = deed === 'both' ? [200, 409] : [200]
        if (deed !== 'end')
          expect(refusals).toContain((await product.admin.request('POST', `/job/${job}/abort`)).status)
        const { status, output } = await endOf(job)
        const expected = { end: ['success'], abort: ['aborted'], both: ['success', 'aborted'] }[deed]
        expect(expected, output).toContain(status)
      }
      // Those that stay connected from the first moment to the last see every end of the others.
      const steady = [launch('steady-1'), launch('steady-2')]
      const waiting = [...chance.shuffle(ENDINGS).entries()]
      const next = async (): Promise<void> => {
        for (let job = waiting.shift(); job; job = waiting.shift()) await play(job[1], job[0])
      }
      await Promise.all(Array.from({ length: JOBS_AT_ONCE - steady.length }, next))
      for (const [number, job] of steady.entries()) {
        open(`steady-${number + 1}`)
        const { status, output } = await endOf(await job)
        expect(status, output).toBe('success')
      }
    }),
    400_000,
  )

  test('a key that the host refuses stays refused while another job is connected', async () => {
    const connected = await launch('connected', { modules: true })
    await waitUntilConnected('connected')
    expect(connectionsOf(product)).toHaveLength(1)
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
    await waitFor('no connection to be left', () => connectionsOf(product).length === 0)
    expect(readdirSync(join(product.folder, 'rte-state/sockets'))).toEqual([])
  })
})
