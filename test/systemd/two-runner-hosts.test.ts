import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Block, readPages } from '../docs/pages.js'
import { waitFor } from '../support/wait.js'
import { type BuiltPackages, builtPackages, whyNoPackages } from './built-packages.js'
import { bootMachine, type Machine, type Ran } from './machine.js'
import { makeNetwork, type Network, whyNoNetwork } from './network.js'
import { PASSWORD } from './product-on-machine.js'

const CONTROL_PLANE = 'jobs.example.com'
const RUNNERS = ['web-1', 'web-2'] as const
const HOSTS = [CONTROL_PLANE, ...RUNNERS]

const reason = whyNoPackages() ?? whyNoNetwork()
if (reason !== null) console.warn(`the first installation is not played: ${reason}`)

/** The blocks of the page with their hosts, in their order: what a new user copies from it. */
const steps = readPages()
  .filter(({ path }) => path === 'docs/install.md')
  .flatMap(({ blocks }) => blocks)
  .filter(({ notes }) => notes.host !== undefined)

/** The commands of docs/install.md, from the packages to a job on two runner hosts, each host a machine of its own. */
describe.skipIf(reason !== null)('a first installation by docs/install.md', () => {
  const machines = new Map<string, Machine>()
  const fingerprints = new Map<string, string>()
  let network: Network
  let packages: BuiltPackages
  let played = 0

  beforeAll(async () => {
    packages = await builtPackages()
    network = await makeNetwork(HOSTS)
    const boots = HOSTS.map(async (host) => {
      const machine = await bootMachine()
      machines.set(host, machine)
      await network.connect(machine, host)
      // Nothing can be fetched: what the page installs beside the packages is installed already.
      await machine.get('rm -rf /etc/apt/sources.list /etc/apt/sources.list.d/*')
    })
    // All of them have ended before the first failure is told, so that what has booted is closed.
    const failure = (await Promise.allSettled(boots)).find((boot) => boot.status === 'rejected')
    if (failure) throw failure.reason
  }, 600_000)
  afterAll(async () => {
    await Promise.all([...machines.values()].map((machine) => machine.close()))
    await network?.close()
  })

  const machineOf = (host: string): Machine => {
    const machine = machines.get(host)
    if (!machine) throw new Error(`the page names a host ${host}, which is not here`)
    return machine
  }
  /** The next block of the page, which has to contain these words. */
  const nextStep = (words: string): Block => {
    const step = steps[played++]
    expect(step?.text, step?.place).toContain(words)
    return step as Block
  }
  /** Commands as somebody types them who keeps a shell of root open on that host. */
  const inShell = (text: string): string =>
    `cd /root; export HOME=/root; [ ! -e /run/shell ] || . /run/shell; set -e\n${text}export -p >/run/shell`
  const play = async (step: Block, host: string): Promise<string> => {
    try {
      return await machineOf(host).get(inShell(step.text))
    } catch (error) {
      throw new Error(`${step.place} on ${host}`, { cause: error })
    }
  }
  /** Plays `scp FILE root@HOST:`, because the machines have no ssh. */
  const copy = async (step: Block): Promise<void> => {
    const lines = step.text.trimEnd().split('\n')
    for (const line of lines) {
      const [, file = '', to = ''] = /^scp (\S+) root@(\S+):$/.exec(line) ?? []
      expect(to, `${step.place}: ${line}`).not.toBe('')
      if (step.notes.host === 'clone') await machineOf(to).get(`cp ${join(packages.onMachine, file)} /root/`)
      else {
        const content = await machineOf(String(step.notes.host)).get(`base64 ${file}`)
        const { status } = await machineOf(to).run(`base64 -d >/root/$(basename ${file})`, content)
        expect(status).toBe(0)
      }
    }
  }
  const journalOf = async (host: string): Promise<Ran> => machineOf(host).run('journalctl --no-pager -n 40')

  it('has its machines reach each other by their names only', async () => {
    for (const host of HOSTS) {
      expect(await machineOf(host).get('uname -n')).toBe(`${host}\n`)
      for (const other of HOSTS) {
        const { status } = await machineOf(host).run(`timeout 5 bash -c '</dev/tcp/${other}/1' 2>&1 | grep refused`)
        expect(status, `${host} to ${other}`).toBe(0)
      }
    }
  })

  it('installs the control plane, which does TLS', async () => {
    await copy(nextStep('scp holdfast_*.deb'))
    const said = await play(nextStep('apt-get install --yes ./holdfast_*.deb'), CONTROL_PLANE)
    expect(said).toContain('A control plane can run here')
    expect(await machineOf(CONTROL_PLANE).get('systemctl is-active holdfast')).toBe('active\n')
  })

  it('signs in, and gives the admin another password', async () => {
    const machine = machineOf(CONTROL_PLANE)
    const first = (await machine.get('cat /var/lib/holdfast/initial-admin-password')).trim()
    const { status, stdout } = await machine.type(inShell(nextStep('holdfast login').text), [
      ['Password of admin', first],
      ['New password', PASSWORD],
      ['Once more', PASSWORD],
    ])
    expect(status, stdout).toBe(0)
    expect(stdout).toContain(first)
    expect(stdout).not.toContain(PASSWORD)
    await play(nextStep('rm /var/lib'), CONTROL_PLANE)
  })

  it('installs the runners, which can run jobs, and show their fingerprints', async () => {
    await copy(nextStep('scp /etc/holdfast/cert.pem'))
    const step = nextStep('apt-get install --yes ./holdfast-runner_*.deb')
    expect(step.notes.host?.split(' ')).toEqual(RUNNERS)
    await Promise.all(
      RUNNERS.map(async (host) => {
        const said = await play(step, host)
        expect(said).toContain('This host can run jobs.')
        fingerprints.set(host, /(SHA256:[\w+/]+).*agent starts/.exec(said)?.[1] ?? '')
      }),
    )
    expect(new Set(fingerprints.values()).size).toBe(2)
  })

  it('approves the runners by the fingerprints that their hosts showed', async () => {
    const step = nextStep('holdfast runner approve')
    await waitFor('both runners to ask', async () => {
      const listed = await machineOf(CONTROL_PLANE).get(inShell('holdfast runner list\n'))
      if (RUNNERS.every((host) => listed.includes(String(fingerprints.get(host))))) return true
      throw new Error(`${listed}${(await Promise.all(RUNNERS.map(journalOf))).map(({ stdout }) => stdout).join('')}`)
    })
    const text = step.text.replace(
      /(approve (\S+) --fingerprint) SHA256:…/g,
      (_, words: string, host: string) => `${words} ${fingerprints.get(host)}`,
    )
    const said = await play({ ...step, text }, CONTROL_PLANE)
    for (const host of RUNNERS) expect(said).toContain(host)
  })

  it('runs a job on each runner host', async () => {
    const said = await play(nextStep('holdfast job launch'), CONTROL_PLANE)
    expect(said.match(/This ran on [\w-]+/g)).toEqual(RUNNERS.map((host) => `This ran on ${host}`))
    const machine = machineOf(CONTROL_PLANE)
    for (const host of RUNNERS) {
      const { records } = JSON.parse(await machine.get(inShell(`holdfast job list --runner ${host} --json\n`))) as {
        records: { form: string; status: string }[]
      }
      expect(records).toEqual([expect.objectContaining({ form: `Hello ${host}`, status: 'success' })])
    }
    expect(steps.slice(played).map(({ place }) => place)).toEqual([])
  })
})
