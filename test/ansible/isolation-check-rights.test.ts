import { chmodSync, chownSync, existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { execa } from 'execa'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { processesOfUsers } from '../agent/isolated-setting.js'
import { FIRST_JOB_USER } from '../support/job-users.js'
import { waitFor } from '../support/wait.js'
import { agentFolder, supervisorPython } from './job-folder.js'

/** The check of users of jobs as a program: what it needs to be allowed, what it leaves behind, and what it ends. */
const UID = FIRST_JOB_USER + 26
const AGENT_UID = FIRST_JOB_USER + 27
const NAME = String(UID)
let folder: string
let state: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-isolation-'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true, force: true })
  })
  chmodSync(folder, 0o755)
  state = join(folder, 'state')
  mkdirSync(join(state, 'spool/jobs'), { recursive: true })
})

const asked = (more: object = {}): object => ({
  users: [NAME],
  folder: join(state, 'users'),
  state,
  read: [],
  run: [],
  hidden: [],
  ...more,
})

/** Asks the program. @param through words before it, such as those that take its rights away */
async function ask(what: string, input: object, through: readonly string[] = []) {
  const [program = '', ...words] = [...through, supervisorPython, '-I', '-S', join(agentFolder, 'isolation.py'), what]
  const { stdout, exitCode } = await execa(program, words, { input: JSON.stringify(input), reject: false })
  return { exitCode, answer: stdout === '' ? null : (JSON.parse(stdout) as Record<string, unknown>) }
}

/** An agent that is not root, with these rights only. */
function agentWith(...rights: string[]): string[] {
  for (const path of [state, 'spool', 'spool/jobs'])
    chownSync(join(state, path === state ? '' : path), AGENT_UID, AGENT_UID)
  const words = ['setpriv', '--reuid', String(AGENT_UID), '--regid', String(AGENT_UID), '--clear-groups']
  const list = rights.map((right) => `+${right}`).join(',')
  return rights.length === 0 ? words : [...words, '--inh-caps', list, '--ambient-caps', list]
}

describe('an agent that is not root', () => {
  test('needs no more than four rights, and without that to mount each job shares the common folders', async () => {
    const { answer } = await ask('check', asked(), agentWith('setuid', 'setgid', 'chown', 'kill'))
    expect(answer).toMatchObject({ users: [{ uid: UID, gid: UID, name: NAME, groups: [] }], private: [] })
  })

  test.each([
    ['any', [], /\(PermissionError: .*\)/],
    ['that to be another user', ['setgid', 'chown', 'kill'], /\(PermissionError: .*\)/],
    ['that to be in another group', ['setuid', 'chown', 'kill'], /\(PermissionError: .*\)/],
    ['that to end processes', ['setuid', 'setgid', 'chown'], /\(ending a process: Operation not permitted\)/],
    ['that to give files away', ['setuid', 'setgid', 'kill'], /\(giving a file away: Operation not permitted\)/],
  ])('cannot do without %s', async (_, rights, words) => {
    const { answer } = await ask('check', asked(), agentWith(...rights))
    const problem = String(answer?.problem)
    expect(problem).toContain('this agent may not act for other users')
    expect(problem).toContain('CAP_SETUID CAP_SETGID CAP_CHOWN CAP_KILL')
    expect(problem).toMatch(words)
    await waitFor('nothing is left', () => processesOfUsers([UID]).length === 0)
  })
})

describe('the check', () => {
  test('leaves nothing in the folder of a user but its lock, and may be made again', async () => {
    for (const _time of [1, 2]) {
      expect((await ask('check', asked())).answer).toMatchObject({ users: [{ uid: UID }] })
      expect(readdirSync(join(state, 'users', NAME))).toEqual(['lock'])
    }
    expect(processesOfUsers([UID])).toEqual([])
  })

  test('takes what a job can read, run and cannot look into', async () => {
    const put = (name: string, mode: number): string => {
      writeFileSync(join(folder, name), '')
      chmodSync(join(folder, name), mode)
      return join(folder, name)
    }
    const [read, run, hidden] = [put('read', 0o644), put('run', 0o711), put('hidden', 0o600)]
    const open = join(folder, 'open')
    mkdirSync(open)
    expect((await ask('check', asked({ read: [read, open], run: [run], hidden: [hidden] }))).answer).toMatchObject({
      users: [{ uid: UID }],
    })
    // Names can be listed, and nothing behind them can be opened.
    chmodSync(open, 0o744)
    expect((await ask('check', asked({ read: [open] }))).answer).toEqual({
      problem: expect.stringContaining(`${open} cannot be read by it`) as string,
    })
  })

  test('finds a state folder that lies where no user of jobs may pass', async () => {
    chmodSync(folder, 0o700)
    expect((await ask('check', asked())).answer).toEqual({
      problem: expect.stringMatching(`^the user ${NAME}: PermissionError: .*${state}/users/${NAME}/home`) as string,
    })
  })

  test('names what cannot be made clean', async () => {
    const home = join(state, 'users', NAME, 'home')
    mkdirSync(join(home, '..'), { recursive: true })
    writeFileSync(home, 'a file in the place of a folder')
    const problem = `${NAME} cannot be made clean: ${home}: Not a directory`
    expect((await ask('check', asked())).answer).toEqual({ problem })
  })

  test('names the path that the system refuses', async () => {
    writeFileSync(join(folder, 'file'), '')
    const { answer } = await ask('check', asked({ folder: join(folder, 'file/users') }))
    expect(answer).toEqual({ problem: `${join(folder, 'file/users')}: Not a directory` })
  })
})

test('what is neither a check nor a release is refused, and nothing is done', async () => {
  expect(await ask('clean', asked())).toEqual({ exitCode: 2, answer: null })
  expect(existsSync(join(state, 'users'))).toBe(false)
})

describe('the release of a job', () => {
  const release = (job: string) => ask('release', { job, folder: join(state, 'users') })

  /** A job whose supervisor is gone: its user still runs something, and has files. */
  async function leftJob() {
    const job = join(state, 'spool/jobs/1-run')
    const own = join(state, 'users', NAME, 'home')
    for (const path of [own, join(job, 'work'), join(job, 'uploads')]) {
      mkdirSync(path, { recursive: true })
      writeFileSync(join(path, 'file'), '')
      for (const each of [path, join(path, 'file')]) chownSync(each, UID, UID)
    }
    writeFileSync(join(job, 'supervisor.json'), '{}')
    writeFileSync(join(job, 'isolation.json'), JSON.stringify({ uid: UID, gid: UID, name: NAME, groups: [] }))
    const left = execa('setpriv', ['--reuid', NAME, '--regid', NAME, '--clear-groups', 'sleep', '600'], {
      reject: false,
    })
    onTestFinished(() => void left.kill('SIGKILL'))
    await waitFor('it runs', () => processesOfUsers([UID]).length > 0)
    return { job, own }
  }

  test('ends what its user runs, and removes its files and no others', async () => {
    const { job, own } = await leftJob()
    expect(await release(job)).toEqual({ exitCode: 0, answer: { left: [] } })
    expect(processesOfUsers([UID])).toEqual([])
    expect(existsSync(own)).toBe(false)
    expect(readdirSync(job).toSorted()).toEqual(['isolation.json', 'supervisor.json'])
  })

  test('does nothing when another job has the user already', async () => {
    const { job, own } = await leftJob()
    const lock = join(state, 'users', NAME, 'lock')
    const holder = execa('flock', [lock, 'sh', '-c', 'echo held; exec sleep 600'], { reject: false, buffer: false })
    onTestFinished(() => void holder.kill('SIGKILL'))
    await new Promise((resolve) => holder.stdout.once('data', resolve))
    expect((await release(job)).answer).toEqual({ left: [] })
    expect(processesOfUsers([UID])).toHaveLength(1)
    expect(existsSync(join(own, 'file'))).toBe(true)
    // A check leaves the user of a running job alone, too.
    expect((await ask('check', asked())).answer).toMatchObject({ users: [{ uid: UID }] })
    expect(processesOfUsers([UID])).toHaveLength(1)
  })

  test.each([
    ['is not there', null],
    ['is cut off', '{"uid":'],
    ['names nobody', '{}'],
  ])('does nothing for a job whose note of its user %s', async (_, note) => {
    const job = join(state, 'spool/jobs/1-run')
    mkdirSync(job)
    if (note !== null) writeFileSync(join(job, 'isolation.json'), note)
    expect(await release(job)).toEqual({ exitCode: 0, answer: { left: [] } })
    expect(existsSync(join(state, 'users'))).toBe(false)
  })
})
