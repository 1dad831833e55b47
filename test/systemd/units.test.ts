import { spawnSync } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.js'
import { BASH, bootMachine, INSTALLED, type Machine, type Reboot, whyNoMachine } from './machine.js'
import { FORM, PASSWORD, PLAYBOOK, productOn } from './product-on-machine.js'

const CLIENT = `${INSTALLED}/node_modules/.bin/holdfast`
const reason = whyNoMachine()
if (reason !== null) console.warn(`the units are not tried with a real systemd: ${reason}`)

/** What a job says that ran when its host was restarted. At an orderly restart systemd ends the playbook by its signal. */
const REASONS: Readonly<Record<Reboot, RegExp>> = {
  orderly: /^ansible-playbook was ended by SIG(TERM|KILL)$|^the host was restarted while the playbook ran/,
  'power failure': /^the host was restarted while the playbook ran/,
}

const memoryReason = reason ?? whyNoMemoryLimit()
if (reason === null && memoryReason !== null) console.warn(`want of memory is not played: ${memoryReason}`)

/** Why no group of processes can be given less memory here, in the way that this test does it; null: it can. */
function whyNoMemoryLimit(): string | null {
  const probe = `set -e; folder=$(mktemp -d); trap 'umount -l "$folder"; rmdir "$folder"' EXIT
    mount -t cgroup -o memory memory "$folder"; mkdir "$folder/holdfast-test-$$"; rmdir "$folder/holdfast-test-$$"`
  const { status, stderr } = spawnSync('unshare', ['--mount', ...BASH, probe], { encoding: 'utf8' })
  return status === 0 ? null : `the memory controller of cgroup version 1 cannot be had: ${stderr.trim()}`
}

/** The units that docs/install.md tells people to copy, under a real systemd as the first process. */
describe.skipIf(reason !== null)('the units under a real systemd', () => {
  let machine: Machine
  let hands: ReturnType<typeof productOn>

  beforeAll(async () => {
    machine = await bootMachine()
    hands = productOn(machine, CLIENT)
    await machine.get(`
      useradd --system --home-dir /var/lib/holdfast holdfast
      useradd --system --create-home holdfast-runner
      install -d -m 0700 -o holdfast -g holdfast /var/lib/holdfast
      mkdir -p /var/lib/holdfast/forms /var/lib/holdfast/playbooks /etc/holdfast
      cat >/var/lib/holdfast/forms/gate.yaml <<'END'\n${FORM}END
      cat >/var/lib/holdfast/playbooks/gate.yml <<'END'\n${PLAYBOOK}END
      chown -R holdfast: /var/lib/holdfast
      ln -s ${INSTALLED} /opt/holdfast-runner
      echo ADMIN_PASSWORD='${PASSWORD}' >/etc/holdfast/control-plane.env
      echo APP_URL=http://127.0.0.1:8000 >/etc/holdfast/runner.env
      echo RTE_DRAIN_SECONDS=1 >>/etc/holdfast/runner.env
      cp ${INSTALLED}/docs/systemd/*.service /etc/systemd/system/
      systemctl daemon-reload
      systemctl enable --now holdfast holdfast-runner`)
    await hands.signIn(PASSWORD)
    await hands.approve()
  })
  afterAll(() => machine?.close())

  it('run a job, which goes on while both services are restarted', async () => {
    const id = await hands.launch('restart')
    await hands.waitForOutput(id, 'runs as <holdfast-runner>')
    await machine.get('systemctl restart holdfast-runner')
    await machine.get('systemctl restart holdfast')
    await hands.waitForRunner({ online: true })
    await hands.openGate('restart')
    const { output } = await hands.waitForSuccess(id)
    expect(output.match(/runs as </g)).toHaveLength(1)
    expect(output).toContain('the gate <restart> is open')
  })

  it('run a job with the stricter drop-in, which takes the rights of the host from its playbook', async () => {
    await machine.get(`mkdir -p /etc/systemd/system/holdfast-runner.service.d
      cp ${INSTALLED}/docs/systemd/holdfast-runner-strict.conf /etc/systemd/system/holdfast-runner.service.d/00-strict.conf
      systemctl daemon-reload && systemctl restart holdfast-runner`)
    await hands.waitForRunner({ online: true, isolation: 'none' })
    const id = await hands.launch('strict')
    await hands.waitForOutput(id, 'runs as <holdfast-runner>')
    const [pid] = (await machine.get('pgrep -f ansible-playbook')).split('\n')
    expect(await machine.get(`grep -E 'NoNewPrivs|CapBnd' /proc/${pid}/status`)).toMatch(
      /CapBnd:\s+0{16}\s+NoNewPrivs:\s+1/,
    )
    await hands.openGate('strict')
    await hands.waitForSuccess(id)
  })

  it('run each job as a user of its own with the drop-in for isolation beside it', async () => {
    await machine.get(`cd ${INSTALLED}/docs/systemd
      install -D -m 0644 holdfast-jobs.sysusers.conf /etc/sysusers.d/holdfast-jobs.conf && systemd-sysusers
      cp holdfast-runner-isolation.conf /etc/systemd/system/holdfast-runner.service.d/isolation.conf
      systemctl daemon-reload && systemctl restart holdfast-runner`)
    await hands.waitForRunner({ online: true, isolation: 'user' })
    const [one, two] = [await hands.launch('one'), await hands.launch('two')]
    const users = await Promise.all(
      [one, two].map(async (id) => {
        await hands.waitForOutput(id, 'runs as <holdfast-job-')
        return /runs as <([^>]+)>/.exec((await hands.job(id)).output)?.[1]
      }),
    )
    expect(new Set(users).size).toBe(2)
    // They go on without the agent, too.
    await machine.get('systemctl restart holdfast-runner')
    await hands.openGate('one')
    await hands.openGate('two')
    await hands.waitForSuccess(one)
    await hands.waitForSuccess(two)
  })

  it('tell systemd how they are, and what modules got is not in the journal', async () => {
    const statusOf = (unit: string): Promise<string> => machine.get(`systemctl show -p StatusText --value ${unit}`)
    expect(await statusOf('holdfast')).toBe('listens at http://127.0.0.1:8000\n')
    await waitFor(
      'the words of the runner',
      async () => (await statusOf('holdfast-runner')) === 'takes jobs; 0 jobs run\n',
    )
    const said = await machine.get('journalctl --no-pager --boot')
    expect(said).toContain('agent starts')
    expect(said).not.toContain('-canary')
    expect(said).not.toContain('Invoked with')
  })

  it('reload without an end', async () => {
    const pid = await machine.get('systemctl show -p MainPID --value holdfast')
    await machine.get('systemctl reload holdfast')
    await machine.get('systemctl kill --kill-whom=main --signal=HUP holdfast-runner')
    await hands.holdfast('runner list')
    await machine.get('echo LOG_LEVEL=debug >> /etc/holdfast/control-plane.env && systemctl reload holdfast')
    await waitFor('the new level', async () =>
      (await machine.get('journalctl --no-pager --boot -u holdfast')).includes('the log gets another level'),
    )
    await machine.get("sed -i '/^LOG_LEVEL=/d' /etc/holdfast/control-plane.env && systemctl reload holdfast")
    expect(await machine.get('systemctl show -p MainPID --value holdfast')).toBe(pid)
    expect(await machine.get('systemctl is-active holdfast holdfast-runner')).toBe('active\nactive\n')
  })

  it('stay up: systemd had to start none of them again', async () => {
    expect(await machine.get('systemctl is-active holdfast holdfast-runner')).toBe('active\nactive\n')
    const restarts = await machine.get('systemctl show -p NRestarts --value holdfast holdfast-runner')
    expect(restarts.match(/\d+/g)).toEqual(['0', '0'])
  })

  it('are started again when they do nothing any more, and the job goes on', async () => {
    await machine.get(`for unit in holdfast holdfast-runner; do
        mkdir -p /etc/systemd/system/$unit.service.d
        printf '[Service]\\nWatchdogSec=30\\n' >/etc/systemd/system/$unit.service.d/watchdog.conf
      done
      systemctl daemon-reload && systemctl restart holdfast holdfast-runner`)
    await hands.waitForRunner({ online: true })
    const id = await hands.launch('watchdog')
    await hands.waitForOutput(id, 'runs as <')
    for (const unit of ['holdfast', 'holdfast-runner']) {
      await machine.get(`systemctl kill --kill-whom=main --signal=STOP ${unit}`)
      await waitFor(`${unit} to be started again`, async () => {
        const restarts = await machine.get(`systemctl show -p NRestarts --value ${unit}`)
        const { stdout } = await machine.run(`systemctl is-active ${unit}`)
        return Number(restarts) >= 1 && stdout === 'active\n'
      })
    }
    await hands.waitForRunner({ online: true })
    await hands.openGate('watchdog')
    const { output } = await hands.waitForSuccess(id)
    expect(output.match(/runs as </g)).toHaveLength(1)
  })

  it.skipIf(memoryReason !== null)(
    'go on when the kernel ends a program of a playbook for want of memory',
    async () => {
      const id = await hands.launch('hungry')
      await hands.waitForOutput(id, 'runs as <')
      const before = await machine.get('systemctl show -p MainPID --value holdfast-runner')
      // These groups are the kernel's own, and no namespace keeps them apart.
      const group = `/run/memory/holdfast-test-${randomUUID()}`
      await machine.get(`mkdir /run/memory && mount -t cgroup -o memory memory /run/memory && mkdir ${group}
      echo 300M >${group}/memory.limit_in_bytes
      for pid in $(pgrep -f ansible-playbook); do echo $pid >${group}/cgroup.procs; done`)
      await hands.openGate('hungry')
      const { output } = await hands.waitForEnd(id, 'failed')
      expect(await machine.get(`cat ${group}/memory.oom_control`)).toMatch(/^oom_kill [1-9]/m)
      await waitFor('the group to be left', async () => (await machine.run(`rmdir ${group}`)).status === 0)
      expect(output).toMatch(/"rc": -9\b/)
      expect(output).not.toContain('the gate <hungry> is open')
      expect(await machine.get('systemctl show -p MainPID --value holdfast-runner')).toBe(before)
      const next = await hands.launch('after-hungry')
      await hands.openGate('after-hungry')
      await hands.waitForSuccess(next)
    },
  )

  it('run without drop-ins again', async () => {
    // What protects settings of the kernel takes the id of the boot away that this machine has instead of the kernel's.
    await machine.get(`rm -r /etc/systemd/system/holdfast-runner.service.d
      systemctl daemon-reload && systemctl restart holdfast-runner`)
    await hands.waitForRunner({ online: true, isolation: 'none' })
  })

  it.each(['orderly', 'power failure'] as const)(
    'start again with the machine (%s): the job that ran ends with the truth, and others run',
    async (how) => {
      const name = how.replace(' ', '-')
      const id = await hands.launch(name)
      await hands.waitForOutput(id, 'runs as <')
      await machine.reboot(how)
      await hands.waitForRunner({ online: true })
      const { output, status_reason: reason } = await hands.waitForEnd(id, 'failed')
      expect(reason).toMatch(REASONS[how])
      expect(output.match(/runs as </g)).toHaveLength(1)
      const next = await hands.launch(`${name}-next`)
      await hands.openGate(`${name}-next`)
      await hands.waitForSuccess(next)
    },
  )
})
