import { spawnSync } from 'node:child_process'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { waitFor } from '../support/wait.js'
import { builtPackages, whyNoPackages } from './built-packages.js'
import { buildImage } from './image.js'
import { bootMachine, type Machine } from './machine.js'
import { FORM, PASSWORD, PLAYBOOK, productOn } from './product-on-machine.js'

const reason = whyNoPackages()
if (reason !== null) console.warn(`the packages are not tried with a real systemd: ${reason}`)

/** What `scripts/package` builds, under a real systemd, from the installation to the purge. */
describe.skipIf(reason !== null)('the packages', () => {
  let machine: Machine
  let hands: ReturnType<typeof productOn>
  let output: string
  /** The folder with the packages, as the machine sees it. */
  let packages: string

  beforeAll(async () => {
    ;({ folder: output, onMachine: packages } = await builtPackages())
    machine = await bootMachine()
    hands = productOn(machine, 'holdfast')
  }, 600_000)
  afterAll(() => machine?.close())

  it('come with sums that fit and lists of what they are made of', async () => {
    expect(readdirSync(output).filter((name) => name.endsWith('.deb'))).toHaveLength(3)
    await machine.get(`cd ${packages} && sha256sum --check --strict --quiet SHA256SUMS`)
    for (const [name, part] of [
      ['holdfast', 'fastify'],
      ['holdfast-runner', 'ws'],
      ['holdfast-client', 'yargs'],
    ]) {
      const { bomFormat, components } = JSON.parse(readFileSync(join(output, `${name}.cdx.json`), 'utf8')) as {
        bomFormat: string
        components: { name: string }[]
      }
      expect(bomFormat).toBe('CycloneDX')
      expect(components.map((each) => each.name)).toContain(part)
    }
  })

  it('name the libraries that the compiled parts need, no older than those of the machine that built them', () => {
    const [path = ''] = readdirSync(output).filter((name) => /^holdfast_.*\.deb$/.test(name))
    const { stdout } = spawnSync('dpkg-deb', ['--field', join(output, path), 'Depends'], { encoding: 'utf8' })
    expect(stdout).toMatch(/libstdc\+\+6 \(>= \d+(\.\d+)?\), libsqlite3-0 \(>= 3\.\d+\)/)
  })

  it('are installed, and a new user gets to a first job', async () => {
    const said = await machine.get(`dpkg -i ${packages}/holdfast_*.deb ${packages}/holdfast-runner_*.deb`)
    expect(said).toContain('set APP_URL in /etc/holdfast/runner.env')
    expect(await machine.get('systemctl is-active holdfast')).toBe('active\n')
    expect(await machine.get('curl -fsS http://127.0.0.1:8000/')).toContain('<title>')
    const first = (await machine.get('cat /var/lib/holdfast/initial-admin-password')).trim()
    expect(await machine.get('journalctl --no-pager --boot')).not.toContain(first)
    await hands.signIn(first)
    await machine.get(`printf '%s\\n%s\\n' '${first}' '${PASSWORD}' | HOME=/root holdfast password --password-stdin
      cat >/var/lib/holdfast/forms/gate.yaml <<'END'\n${FORM}END
      cat >/var/lib/holdfast/playbooks/gate.yml <<'END'\n${PLAYBOOK}END
      echo APP_URL=http://127.0.0.1:8000 >>/etc/holdfast/runner.env
      echo RTE_DRAIN_SECONDS=1 >>/etc/holdfast/runner.env
      systemctl start holdfast-runner`)
    await hands.approve()
    const checked = await machine.get('runuser -u holdfast-runner -- holdfast-runner check')
    expect(checked).toContain('This host can run jobs.')
    const id = await hands.launch('first')
    await hands.waitForOutput(id, 'runs as <holdfast-runner>')
    await hands.openGate('first')
    await hands.waitForSuccess(id)
  })

  it('bring a Node.js of their own, which the host need not have', async () => {
    const [, pid] = /(\d+)/.exec(await machine.get('systemctl show -p MainPID --value holdfast-runner')) ?? []
    expect(await machine.get(`readlink /proc/${pid}/exe`)).toBe('/usr/lib/holdfast-runner/node\n')
    expect(await machine.get('env -i PATH=/usr/bin:/bin /usr/bin/holdfast --version')).toMatch(/^\d/)
    for (const name of ['holdfast', 'holdfast-runner']) {
      expect(await machine.get(`cat /usr/share/doc/${name}/node-LICENSE`)).toContain('Node.js is licensed for use')
    }
  })

  it('bring the drivers of what forms ask', async () => {
    const script = `import { Connection } from 'tedious'
      import { MongoClient } from 'mongodb'
      import oracle from 'oracledb'
      import ssh from 'ssh2'
      console.log(typeof Connection, typeof MongoClient, typeof oracle.createPool, typeof ssh.Client)`
    const words = `cd /usr/lib/holdfast && env -i ./node --input-type=module -e "${script}"`
    expect(await machine.get(words)).toBe('function function function function\n')
  })

  it('are upgraded during a job, which goes on', async () => {
    const id = await hands.launch('upgrade')
    await hands.waitForOutput(id, 'runs as <')
    const before = await machine.get('systemctl show -p MainPID --value holdfast-runner')
    await machine.get(`dpkg -i ${packages}/holdfast_*.deb ${packages}/holdfast-runner_*.deb`)
    expect(await machine.get('systemctl show -p MainPID --value holdfast-runner')).not.toBe(before)
    await hands.waitForRunner({ online: true })
    await hands.openGate('upgrade')
    const { output } = await hands.waitForSuccess(id)
    expect(output.match(/runs as </g)).toHaveLength(1)
  })

  it('are not removed from under a running playbook, also in a slice that an admin chose', async () => {
    await machine.get(`mkdir /etc/systemd/system/holdfast-runner.service.d
      printf '[Service]\\nSlice=jobs.slice\\n' >/etc/systemd/system/holdfast-runner.service.d/slice.conf
      systemctl daemon-reload && systemctl restart holdfast-runner`)
    await hands.waitForRunner({ online: true })
    const id = await hands.launch('removal')
    await hands.waitForOutput(id, 'runs as <')
    const refused = await machine.run('dpkg --remove holdfast-runner')
    expect(refused.status).not.toBe(0)
    expect(refused.stderr).toContain('1 playbook(s) run on this host, so the package stays')
    expect(await machine.get('systemctl is-active holdfast-runner')).toBe('active\n')
    // What it says to do gives the runner no new jobs.
    const [, hint = ''] = /: holdfast (runner set NAME \S+)\)/.exec(refused.stderr) ?? []
    await hands.holdfast(hint.replace('NAME', '1'))
    await hands.waitForRunner({ enabled: false })
    await hands.openGate('removal')
    await hands.waitForSuccess(id)
  })

  it('are removed from under a running playbook when that is forced, which ends it', async () => {
    await hands.holdfast('runner set 1 --enabled')
    const id = await hands.launch('forced')
    await hands.waitForOutput(id, 'runs as <')
    await machine.get(`HOLDFAST_REMOVE=force dpkg --remove holdfast-runner
      rm -r /etc/systemd/system/holdfast-runner.service.d`)
    expect((await machine.run("pgrep -f 'supervisor[.]py|ansible-playbook'")).stdout).toBe('')
  })

  it('leave nothing after a purge', async () => {
    await machine.get('dpkg --purge holdfast-runner && dpkg --purge holdfast')
    const left = await machine.get(
      'ls -d /var/lib/holdfast* /etc/holdfast* /usr/lib/holdfast* /usr/bin/holdfast* || true',
    )
    expect(left).toBe('')
    for (const user of ['holdfast', 'holdfast-runner']) {
      expect((await machine.run(`getent passwd ${user}`)).status).not.toBe(0)
    }
    expect((await machine.run('pgrep -f lib/holdfast')).stdout).toBe('')
  })

  it('become images by the recipes beside them, in which a job runs, and is ended with its container', async () => {
    expect(readdirSync(output)).toContain('compose.yaml')
    const controlPlane = await buildImage(machine, 'control-plane.Containerfile', packages)
    const runner = await buildImage(machine, 'runner.Containerfile', packages)
    const [controlPlaneLog, runnerLog] = ['/var/tmp/control-plane.log', '/var/tmp/runner.log']
    await controlPlane.start({}, controlPlaneLog)
    await waitFor('the control plane to be healthy', async () => {
      if ((await controlPlane.health()) === 0) return true
      throw new Error(await machine.get(`cat ${controlPlaneLog}`))
    })
    const inContainer = async (words: string, input = ''): Promise<string> => {
      const script = input === '' ? words : `printf '%s\\n' ${input} | ${words}`
      const { status, stdout, stderr } = await controlPlane.run(['sh', '-c', `HOME=/tmp ${script}`])
      if (status !== 0) throw new Error(`${words} ended with ${status}: ${stdout}${stderr}`)
      return stdout
    }
    const first = (await inContainer('cat /var/lib/holdfast/initial-admin-password')).trim()
    await inContainer('id -un').then((name) => expect(name).toBe('holdfast\n'))
    await inContainer(
      `HOME=/tmp holdfast login --server http://127.0.0.1:8000 --username admin --password-stdin`,
      first,
    )
    await inContainer('HOME=/tmp holdfast password --password-stdin', `'${first}' '${PASSWORD}'`)
    await inContainer(`cat >/var/lib/holdfast/forms/gate.yaml <<'END'\n${FORM}END\n`)
    await inContainer(`cat >/var/lib/holdfast/playbooks/gate.yml <<'END'\n${PLAYBOOK}END\n`)

    const settings = { APP_URL: 'http://127.0.0.1:8000', RTE_NAME: 'runner-1', RTE_DRAIN_SECONDS: '1' }
    await runner.start(settings, runnerLog)
    const json = async (words: string): Promise<unknown> => JSON.parse(await inContainer(`holdfast ${words} --json`))
    await waitFor('the runner to ask', async () => {
      const { records } = (await json('runner list')) as { records: { state: string }[] }
      if (records[0]?.state === 'waiting') return true
      throw new Error(await machine.get(`cat ${runnerLog}`))
    })
    expect(await runner.health()).toBe(0)
    const fingerprint = /SHA256:[\w+/]+/.exec(await machine.get(`grep 'agent starts' ${runnerLog}`))?.[0]
    await inContainer(`holdfast runner approve 1 --fingerprint ${fingerprint}`)
    const { id } = (await json('job launch Gate -e name=container --no-follow')) as { id: number }
    const job = async () => (await json(`job show ${id}`)) as { status: string; output: string }
    await waitFor('the playbook to run', async () => {
      const { status, output } = await job()
      if (output.includes('runs as <holdfast-runner>')) return true
      throw new Error(`${status}: ${output} ${await machine.get(`tail -n 20 ${runnerLog}`)}`)
    })
    await runner.stop()
    await waitFor('its end', async () => (await job()).status === 'aborted')
    expect(await runner.health()).toBe(1)
    await controlPlane.stop()
    expect(await controlPlane.health()).toBe(1)
  }, 1_500_000)

  it('have the client alone, for Debian and for npm', async () => {
    const inFolder = `npm install --offline --no-audit --no-fund --prefix /root/client ${packages}/holdfast-*.tgz`
    await machine.get(`dpkg --unpack ${packages}/holdfast-client_*.deb && ${inFolder}`)
    for (const client of ['holdfast', '/root/client/node_modules/.bin/holdfast']) {
      const { status, stderr } = await machine.run(`HOME=/root ${client} --server http://127.0.0.1:9 job list`)
      expect([status, stderr]).toEqual([4, expect.stringContaining('Not signed in')])
      const served = await machine.run(`${client} serve --persistent-path /root/none`)
      expect([served.status, served.stderr]).toEqual([2, expect.stringContaining('This is the client alone')])
    }
  })
})
