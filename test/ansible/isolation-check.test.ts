import { chmodSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { expect, onTestFinished, test } from 'vitest'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { agentFolder, supervisorPython } from './job-folder.js'

/** What the agent is told when it asks whether jobs can have these users. */
function answerAbout(...users: string[]): Promise<Record<string, unknown>> {
  return answerTo({ users })
}

/** The same, with paths that a job must be able to reach, or must not. */
async function answerTo(more: Record<string, readonly string[]>): Promise<Record<string, unknown>> {
  const state = mkdtempSync(join(tmpdir(), 'holdfast-isolation-check-'))
  onTestFinished(() => {
    rmSync(state, { recursive: true })
  })
  await execa('mkdir', ['-p', join(state, 'spool/jobs')])
  const asked = { folder: join(state, 'users'), state, read: [], run: [], hidden: [], ...more }
  const program = join(agentFolder, 'isolation.py')
  const { stdout } = await execa(supervisorPython, ['-I', '-S', program, 'check'], { input: JSON.stringify(asked) })
  return JSON.parse(stdout) as Record<string, unknown>
}

/** Common folders that a job can have for itself here: none when this machine lets nobody mount anything. */
async function privateFolders(): Promise<string[]> {
  const trial = 'mount -t tmpfs tmpfs /dev/shm && mount --bind /dev/shm /var/tmp'
  const { exitCode } = await execa('unshare', ['--mount', '--ipc', 'sh', '-c', trial], { reject: false })
  // The state folder of these tests is in the temporary folder, which the agent therefore shares.
  return exitCode === 0 ? ['/tmp', '/var/tmp', '/dev/shm'].filter((place) => place !== realpathSync(tmpdir())) : []
}

test('a number that no list of users knows can be a user of jobs, with a warning', async () => {
  const name = String(FIRST_JOB_USER + 29)
  const answer = await answerAbout(name)
  expect(answer).toMatchObject({
    users: [{ uid: FIRST_JOB_USER + 29, gid: FIRST_JOB_USER + 29, name, groups: [] }],
    private: await privateFolders(),
    warnings: [`${name}: not in the list of users, so ssh and gathering facts of this host will fail`],
  })
})

test.each([
  ['a name that nobody has', ['no-such-user'], 'RTE_ISOLATION_USERS: there is no user no-such-user on this host'],
  ['one who can log in', ['0'], 'RTE_ISOLATION_USERS: 0 can log in'],
  ['one who is in the list twice', ['60700', '60700'], 'RTE_ISOLATION_USERS names a user twice'],
  ['nobody', ['65534'], 'is root, nobody, or the user of the agent'],
])('%s cannot', async (_, users, problem) => {
  expect(await answerAbout(...users)).toEqual({ problem: expect.stringContaining(problem) })
})

/** What is said about an account with this shell. The list of users of this machine has none of most of them. */
async function problemWithShell(shell: string): Promise<string> {
  const script = [
    'import pwd, sys',
    `sys.path.insert(0, ${JSON.stringify(agentFolder)})`,
    'from holdfast_job import isolation_check',
    'pwd.getpwnam = lambda name: pwd.struct_passwd((name, "x", 60700, 60700, "", "/", sys.argv[1]))',
    'try: isolation_check._entry_of("somebody")',
    'except isolation_check.Unfit as unfit: print(unfit)',
  ]
  const { stdout } = await execa(supervisorPython, ['-I', '-S', '-c', script.join('\n'), shell])
  return stdout
}

test('whoever has a shell can log in, also with none named, which is /bin/sh; false and nologin are no shells', async () => {
  const places = ['/bin', '/usr/bin']
  const closed = [...places, '/sbin', '/usr/sbin'].map((place) => `${place}/nologin`)
  for (const shell of [...closed, ...places.map((place) => `${place}/false`)]) {
    expect([shell, await problemWithShell(shell)]).toEqual([shell, ''])
  }
  for (const shell of ['', '/bin/sh', '/bin/bash', 'nologin', '/opt/nologin']) {
    expect(await problemWithShell(shell)).toContain(`somebody can log in (its shell is ${shell || '/bin/sh'})`)
  }
})

test.each([
  ['read what it needs', 'read', 0o600, 'cannot be read by it; the folders above must let others pass'],
  ['run what it needs', 'run', 0o644, 'cannot be run by it'],
  ['be kept from what is hidden', 'hidden', 0o644, 'can be read by it'],
])('a user of jobs must %s', async (_, what, mode, problem) => {
  const name = String(FIRST_JOB_USER + 29)
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-needed-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
  chmodSync(folder, 0o755)
  const path = join(folder, 'file')
  writeFileSync(path, '')
  chmodSync(path, mode)
  const answer = await answerTo({ users: [name], [what]: [path] })
  expect(answer).toEqual({ problem: `the user ${name}: PermissionError: [Errno 13] ${path} ${problem}` })
})
