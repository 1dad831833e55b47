import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { fingerprintOf, type JobOrder, sealSecrets } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { killOne, playbookPid, supervisorsOf } from './agent-process.js'
import type { StoredJob } from './fake-control-plane.js'
import { createIsolatedSetting, type IsolatedSetting, nothingRunsOf, processesOfUsers } from './isolated-setting.js'
import { unprivilegedAgent } from './isolated-setting.js'
import { orderOf, play, publish, say, waitFor } from './playbooks.js'
import { createSetting, exactEnd } from './setting.js'
import { waitUntil } from './waiting.js'

/** Tasks that show who a playbook is. */
const WHO = [
  { name: 'who', shell: 'echo "$(id -u):$(id -G):$HOME:$TMPDIR:$LOGNAME:$(umask)"', register: 'who' },
  { debug: { msg: 'I am <{{ who.stdout }}>' } },
]

/** Leaves a process that nothing of the job leads to: another session, no parent, no environment. */
const DAEMON = {
  name: 'daemon',
  shell: '(setsid env -i /bin/sleep 611 >/dev/null 2>&1 </dev/null &) ; sleep 0.1',
}

function offer({ controlPlane }: IsolatedSetting, tasks: object[], change: Partial<JobOrder> = {}): StoredJob {
  return controlPlane.offer(orderOf(publish(controlPlane, { 'site.yml': play(...tasks) }), change))
}

const printed = async ({ controlPlane }: IsolatedSetting, job: StoredJob, text: string): Promise<void> => {
  await waitUntil(`the job prints ${text}`, () => controlPlane.stored(job, 'output').includes(text))
}

describe('jobs with users of their own', () => {
  test('output, events and secrets are exact, also when supervisor and agent are killed in the middle', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 8)
    // As a unit with UMask=0077 starts it. Playbooks have the usual one.
    const agent = await setting.joinIsolated({}, ['sh', '-c', 'umask 077; exec "$@"', 'sh'])
    expect(await agent.logged('each playbook runs as a user of its own')).toMatchObject({ users: 2 })
    const said = setting.controlPlane.hellos.at(-1)
    expect(said).toMatchObject({ isolation: 'user', max_jobs: 2 })
    expect(JSON.parse((await agent.probe('/ready')).body)).toMatchObject({ isolation: 'user' })

    const gate = join(setting.folder, 'gate')
    const key = { shell: 'cat {{ key }} {{ key }}; stat -L -c %a:%u {{ key }}', register: 'key_said' }
    const tasks = [...WHO, key, say('{{ key_said.stdout }} {{ s | reverse }} {{ s }}'), waitFor(gate), say('after')]
    const order = orderOf(publish(setting.controlPlane, { 'site.yml': play(...tasks) }))
    const secrets = {
      variables: {},
      extravars: { s: 'a-canary-of-isolation', key: null },
      key_files: [{ at: ['key'], content: 'the content of a key\n' }],
      vault_password: 'a vault password',
      vaults: [],
      hidden: ['a-canary-of-isolation'],
      origins: ['the job'],
    }
    const binding = { jobId: order.job_id, runId: order.run_id, fingerprint: fingerprintOf(said?.identity_key ?? '') }
    const sealed = sealSecrets(JSON.stringify(secrets), said?.sealing_key ?? '', binding)
    const job = setting.controlPlane.offer({ ...order, sealed })
    await printed(setting, job, 'TASK [wait]')
    await waitUntil('its events come while it runs', () =>
      setting.controlPlane.stored(job, 'events').includes(`I am <${FIRST_JOB_USER + 8}:`),
    )
    // The next supervisor numbers the events that follow.
    killOne(setting.statePath, 'supervisor')
    await agent.kill()
    const second = await setting.joinIsolated({ RTE_DRAIN_SECONDS: '0' })
    second.signal('SIGTERM')
    expect(await second.exited()).toMatchObject({ code: 0 })
    await setting.joinIsolated()
    writeFileSync(gate, '')
    const end = await exactEnd(setting.controlPlane, job)
    expect(end, end.text).toMatchObject({ cause: 'exited', exit_code: 0, message: null })
    const [uid] = setting.uids
    const [home, tmp] = [setting.ownFolder(uid ?? 0, 'home'), setting.ownFolder(uid ?? 0, 'tmp')]
    expect(end.text).toContain(`I am <${uid}:${uid}:${home}:${tmp}:${uid}:0022>`)
    expect(end.text).toContain(`the content of a key\\nthe content of a key\\n600:${FIRST_JOB_USER + 8}`)
    expect(end.text).toContain(`${[...'a-canary-of-isolation'].reverse().join('')} ********`)
    expect(end.text).toContain('after')
    expect(end.events).toMatchObject({ plugin_seen: true, dropped: 0, errors: 0 })
    expect(end.lines.map((event) => event.order)).toEqual(end.lines.map((_, index) => index + 1))
    expect(end.lines.at(-1)).toMatchObject({ type: 'playbook_on_stats' })
    await nothingRunsOf(setting.uids)
  })

  test('two at once are two users; a third waits for one of them', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 10)
    const { controlPlane } = setting
    await setting.joinIsolated()
    const gate = join(setting.folder, 'gate')
    const jobs = [offer(setting, [...WHO, waitFor(gate)]), offer(setting, [...WHO, waitFor(gate)])]
    for (const job of jobs) await printed(setting, job, 'TASK [wait]')
    const third = offer(setting, WHO)
    expect(await waitUntil('the third is refused', () => third.refusals[0])).toMatchObject({ code: 'busy' })
    writeFileSync(gate, '')
    const users: unknown[] = []
    for (const job of jobs) users.push(/I am <(\d+)/.exec((await exactEnd(controlPlane, job)).text)?.[1])
    expect(users.toSorted()).toEqual(setting.uids.map(String))
  })

  test('an abort ends all of it, a daemon that has left everything behind too', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 12, 1)
    await setting.joinIsolated()
    const job = offer(setting, [DAEMON, waitFor(join(setting.folder, 'never'))])
    await printed(setting, job, 'TASK [wait]')
    await waitUntil('the daemon, the playbook and its task run', () => processesOfUsers(setting.uids).length > 2)
    setting.controlPlane.send({ type: 'abort', job_id: job.order.job_id, run_id: job.order.run_id })
    expect(await exactEnd(setting.controlPlane, job)).toMatchObject({ cause: 'aborted', aborted: true, message: null })
    expect(processesOfUsers(setting.uids)).toEqual([])
  })

  test('what a lost supervisor and its playbook leave is ended by its user', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 13, 1)
    const agent = await setting.joinIsolated()
    const job = offer(setting, [DAEMON, waitFor(join(setting.folder, 'never'))])
    await printed(setting, job, 'TASK [wait]')
    await agent.kill()
    for (const pid of [...supervisorsOf(setting.statePath), playbookPid(setting.statePath)])
      process.kill(pid, 'SIGKILL')
    await setting.joinIsolated()
    const end = await exactEnd(setting.controlPlane, job)
    expect(end).toMatchObject({ cause: 'supervisor_lost', message: 'the supervisor of the playbook was ended' })
    expect(processesOfUsers(setting.uids)).toEqual([])
    expect(readdirSync(setting.ownFolder(FIRST_JOB_USER + 13, ''))).toEqual(['lock'])
    // The user is good for the next job.
    expect(await exactEnd(setting.controlPlane, offer(setting, WHO))).toMatchObject({ exit_code: 0 })
  })

  test('nothing of a job is there for the next one, whatever it leaves', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 14, 1)
    await setting.joinIsolated()
    const name = `holdfast-left-${process.pid}`
    const leave = [
      `mkdir -p ~/a/b ~/.ansible && touch ~/a/b/c ~/.bashrc && chmod 000 ~/a/b ~/a`,
      // Deeper than any path may be long.
      `python3 -c 'import os\nos.chdir(os.environ["TMPDIR"])\nfor i in range(300): os.mkdir("d" * 100); os.chdir("d" * 100)'`,
      `mkdir -m 777 /tmp/${name} && touch /tmp/${name}/x && ln -s /etc/passwd /tmp/${name}/link && ipcmk -M 64`,
    ]
    const jobs = [0, 1].map(() => () => {
      const look = { shell: 'ls -A ~ $TMPDIR $XDG_RUNTIME_DIR', register: 'it' }
      return offer(setting, [look, say('found <{{ it.stdout }}>'), ...leave.map((shell) => ({ shell }))])
    })
    for (const start of jobs) {
      const end = await exactEnd(setting.controlPlane, start())
      expect(end, end.text).toMatchObject({ exit_code: 0, message: null })
      const found = /found <([^>]*)>/.exec(end.text)?.[1]
      expect(found).toContain('/home:')
      for (const left of ['bashrc', 'dddd', '\na\n']) expect(found).not.toContain(left)
      expect(existsSync(`/tmp/${name}`)).toBe(false)
      expect(readdirSync(setting.ownFolder(FIRST_JOB_USER + 14, ''))).toEqual(['lock'])
    }
  })

  test('folders such as /var/tmp are its own, and programs gain no rights', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 15, 1)
    // What sudo is to a playbook: a program that its owner lets run as root.
    copyFileSync('/usr/bin/id', join(setting.folder, 'id'))
    chmodSync(join(setting.folder, 'id'), 0o4755)
    const own = `/var/tmp/holdfast-own-${process.pid}`
    const gate = join(setting.folder, 'gate')
    const tasks = [
      { shell: `touch ${own}; ${join(setting.folder, 'id')} -u`, register: 'it' },
      say('as <{{ it.stdout }}>'),
    ]
    const agent = await setting.joinIsolated()
    const shut = offer(setting, [...tasks, waitFor(gate)])
    await printed(setting, shut, 'TASK [wait]')
    expect(existsSync(own)).toBe(false)
    writeFileSync(gate, '')
    expect((await exactEnd(setting.controlPlane, shut)).text).toContain(`as <${FIRST_JOB_USER + 15}>`)
    await agent.kill()
    await setting.joinIsolated({ RTE_ISOLATION_SUDO: '1' })
    expect((await exactEnd(setting.controlPlane, offer(setting, tasks))).text).toContain('as <0>')
  })

  test('each home begins with what the operator has put together', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 16, 1)
    const home = join(setting.folder, 'home')
    mkdirSync(join(home, '.ssh'), { recursive: true })
    chmodSync(home, 0o700)
    writeFileSync(join(home, '.ssh/id_ed25519'), 'a key\n', { mode: 0o600 })
    writeFileSync(join(home, '.ssh/known_hosts'), 'a host\n')
    writeFileSync(join(home, '.ansible.cfg'), '[defaults]\nstdout_callback = minimal\n')
    await setting.joinIsolated({ RTE_ISOLATION_HOME: home })
    const look = { shell: 'cd ~/.ssh && cat * && stat -c %a:%u * . && echo changed > id_ed25519', register: 'it' }
    const end = await exactEnd(setting.controlPlane, offer(setting, [look, say('{{ it.stdout_lines | join(",") }}')]))
    expect(end.text).toContain(
      `a key,a host,600:${FIRST_JOB_USER + 16},600:${FIRST_JOB_USER + 16},700:${FIRST_JOB_USER + 16}`,
    )
    // Its callback is the one of the .ansible.cfg that was put there.
    expect(end.text).not.toContain('TASK [')
    expect(statSync(join(home, '.ssh/id_ed25519')).size).toBe(6)
  })

  test('users of the host: ssh and facts know them, roles of the host can be read', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 24, 1)
    const home = join(setting.statePath, 'users/holdfast-job-1/home')
    const users = join(setting.folder, 'passwd')
    writeFileSync(
      users,
      `root:x:0:0::/root:/bin/sh\nholdfast-job-1:x:${FIRST_JOB_USER + 24}:${FIRST_JOB_USER + 24}::${home}:/usr/sbin/nologin\n`,
    )
    mkdirSync(join(setting.folder, 'roles/here/tasks'), { recursive: true })
    writeFileSync(join(setting.folder, 'roles/here/tasks/main.yml'), '[{debug: {msg: "a role of the host"}}]')
    // A list of users that only this agent and its jobs see.
    const script = 'mount --bind "$0" /etc/passwd && exec setpriv --groups 4711 "$@"'
    const through = ['unshare', '-m', 'sh', '-c', script, users]
    const agent = await setting.joinIsolated(
      {
        RTE_ISOLATION_USERS: 'holdfast-job-1..1',
        ANSIBLE_ROLES_PATH: join(setting.folder, 'roles'),
        SSH_AUTH_SOCK: '/of/the/agent',
      },
      through,
    )
    const ssh = { shell: "ssh -G host.example | grep -i '^userknownhostsfile'", register: 'ssh' }
    const facts = { setup: { gather_subset: ['!all', 'user'] } }
    const keys = say("keys of the agent: {{ lookup('env', 'SSH_AUTH_SOCK') | length }}")
    const id = { shell: 'id -G', register: 'id' }
    const said = [say('{{ ansible_user_id }} at {{ ssh.stdout }}'), keys, say('its groups: {{ id.stdout }}')]
    const tasks = [facts, ssh, id, ...said, { include_role: { name: 'here' } }]
    const end = await exactEnd(setting.controlPlane, offer(setting, tasks))
    expect(end, end.text).toMatchObject({ exit_code: 0, message: null })
    expect(end.text).toContain('a role of the host')
    expect(end.text).toContain('keys of the agent: 0')
    expect(end.text).toContain(`its groups: ${FIRST_JOB_USER + 24}"`)
    expect(end.text).toContain(`holdfast-job-1 at userknownhostsfile ${home}/.ssh/known_hosts`)
    const isAboutUsers = (line: string): boolean => line.includes('list of users')
    expect(agent.log.filter(({ msg }) => isAboutUsers(msg))).toEqual([])
  })

  test('an agent that is not root does it with four rights, and leaves nothing behind', async () => {
    const setting = await createIsolatedSetting(FIRST_JOB_USER + 18, 1)
    const through = unprivilegedAgent(setting, FIRST_JOB_USER + 20)
    const agent = await setting.joinIsolated({ HOME: setting.statePath }, through)
    const job = offer(setting, [...WHO, DAEMON, { shell: 'touch made; mkdir -m 000 ~/shut' }])
    const end = await exactEnd(setting.controlPlane, job)
    expect(end, end.text).toMatchObject({ exit_code: 0, message: null })
    expect(end.text).toContain(`I am <${FIRST_JOB_USER + 18}:${FIRST_JOB_USER + 18}:`)
    expect(processesOfUsers(setting.uids)).toEqual([])
    const stopped = offer(setting, [waitFor(join(setting.folder, 'never'))])
    await printed(setting, stopped, 'TASK [wait]')
    setting.controlPlane.send({ type: 'abort', job_id: stopped.order.job_id, run_id: stopped.order.run_id })
    expect(await exactEnd(setting.controlPlane, stopped)).toMatchObject({ cause: 'aborted', message: null })
    await waitUntil('the spool is empty', () => readdirSync(join(setting.statePath, 'spool/jobs')).length === 0)
    await waitUntil('the trash is empty', () => readdirSync(join(setting.statePath, 'spool/trash')).length === 0)
    expect(agent.log.filter(({ level }) => level === 'error')).toEqual([])
  })
})

describe('what cannot be had', () => {
  test.each<[string, Record<string, string>, string, boolean]>([
    ['a user that is not there', { RTE_ISOLATION_USERS: 'nobody-has-this' }, 'there is no user nobody-has-this', false],
    ['a user that can log in', { RTE_ISOLATION_USERS: 'root' }, 'root can log in', false],
    ['a folder they cannot read', { RTE_FILES: 'local', ANSIBLE_PATH: '/root' }, '/root cannot be read by it', false],
    [
      'a Python that installs requirements and that they cannot run',
      { RTE_GALAXY: 'on', RTE_PYTHON: 'own' },
      '/python cannot be run by it',
      false,
    ],
    ['no rights', { RTE_ISOLATION_USERS: String(FIRST_JOB_USER + 22) }, 'this agent may not act for other users', true],
  ])('%s: no job is taken, and everybody is told why', async (_, environment, why, withoutRights) => {
    const setting = await createSetting()
    chmodSync(setting.folder, 0o711)
    const through = withoutRights ? unprivilegedAgent(setting, FIRST_JOB_USER + 23).slice(0, 6) : []
    // A link in a folder that lets nobody pass, as a home does.
    const home = join(setting.folder, 'home')
    mkdirSync(home, { mode: 0o700 })
    symlinkSync(execFileSync('sh', ['-c', 'command -v python3'], { encoding: 'utf8' }).trim(), join(home, 'python'))
    const own: Record<string, string> = 'RTE_PYTHON' in environment ? { RTE_PYTHON: join(home, 'python') } : {}
    const users = String(FIRST_JOB_USER + 26)
    const asked = { RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: users, ...environment, ...own }
    const agent = await setting.join(asked, through)
    expect((await agent.logged('no job is taken')).problem).toContain(why)
    const { status, body } = await agent.probe('/ready')
    expect({ status, ...(JSON.parse(body) as object) }).toMatchObject({
      status: 'not ready',
      isolation: 'user (not available)',
    })
    expect(body).toContain(why)
    expect(setting.controlPlane.hellos.at(-1)).toMatchObject({ isolation: 'user (not available)' })
    const job = setting.controlPlane.offer(orderOf(publish(setting.controlPlane, { 'site.yml': play(say('x')) })))
    expect((await waitUntil('the job is refused', () => job.refusals[0])).message).toContain(why)
  })
})
