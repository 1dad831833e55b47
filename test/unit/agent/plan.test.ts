import fs, { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { JobOrder, JobSecrets } from '@holdfast/protocol'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { limitMarkOf } from '../../../runner-agent/src/playbook/process-tree.js'
import {
  extravarsText,
  findProgram,
  type PlaybookSettings,
  writePlan,
} from '../../../runner-agent/src/playbook/plan.js'
import { createJobFolder, type JobFolder } from '../../../runner-agent/src/spool/job-folder.js'
import { orderOf } from '../../agent/playbooks.js'

/** What the supervisor is told about the start of a playbook. */
const RUN_ID = '0123456789abcdef'.repeat(2)
const NO_SECRETS: JobSecrets = {
  variables: {},
  extravars: {},
  key_files: [],
  vault_password: null,
  vaults: [],
  hidden: [],
  origins: [],
}

let base: string
let bin: string
let local: string
let folder: JobFolder

beforeEach(() => {
  base = mkdtempSync(join(tmpdir(), 'holdfast-plan-'))
  onTestFinished(() => {
    rmSync(base, { recursive: true })
  })
  bin = join(base, 'bin')
  local = join(base, 'playbooks')
  folder = createJobFolder(join(base, 'job'), { jobId: 7, runId: RUN_ID })
  for (const path of [bin, local, folder.path, folder.file('work')]) mkdirSync(path)
  for (const name of ['ansible-playbook', 'ansible-galaxy', 'podman']) program(join(bin, name))
  for (const path of [local, folder.file('work')]) writeFileSync(join(path, 'site.yml'), '')
})

function program(path: string, mode = 0o755): void {
  writeFileSync(path, '#!/bin/sh\n')
  chmodSync(path, mode)
}

function settingsOf(change: Partial<PlaybookSettings>): PlaybookSettings {
  return {
    localFolder: local,
    environment: { PATH: bin, HOME: base },
    passEnvironment: [],
    pythonProblem: null,
    callbackFolder: '/agent/ansible/callback',
    isolation: { kind: 'none' },
    container: null,
    sockets: { folderOf: (runId) => `/sockets/${runId}`, remove: () => Promise.resolve() },
    galaxy: null,
    python: '/opt/python',
    ...change,
  }
}

interface Plan {
  readonly argv: string[]
  readonly cwd: string
  readonly env: Record<string, string>
}

/** What is written for the supervisor. */
async function planOf(
  change: Partial<PlaybookSettings> = {},
  ofOrder: Partial<JobOrder> = {},
  secrets: JobSecrets | null = null,
): Promise<Plan> {
  await writePlan(orderOf('0'.repeat(64), { run_id: RUN_ID, ...ofOrder }), folder, settingsOf(change), secrets)
  return JSON.parse(readFileSync(folder.file('supervisor.json'), 'utf8')) as Plan
}

const isolated = (...folders: string[]): PlaybookSettings['isolation'] => ({
  kind: 'user',
  orders: { users: [], private: folders, folder: '/users', sudo: false, home: null },
})

describe('the plan of a playbook', () => {
  test('of this host has all that the supervisor needs', async () => {
    expect(await planOf({}, { output_limit_bytes: 1000 })).toEqual({
      run_id: RUN_ID,
      argv: [
        join(bin, 'ansible-playbook'),
        '-e',
        `@${folder.file('extravars.yml')}`,
        '--inventory=localhost,',
        'site.yml',
      ],
      cwd: local,
      env: expect.objectContaining({
        HOME: base,
        PATH: bin,
        HOLDFAST_JOB_MARKER: RUN_ID,
        HOLDFAST_EVENTS_FILE: folder.file('events.jsonl'),
        HOLDFAST_CALLBACK_FILE: folder.file('callback.json'),
        ANSIBLE_SSH_CONTROL_PATH_DIR: `/sockets/${RUN_ID}`,
      }) as object,
      container: false,
      marker: RUN_ID,
      limit_mark: limitMarkOf(RUN_ID),
      output_limit_bytes: 1000,
      abort_ladder_seconds: { interrupt: 10, terminate: 5 },
      drain_seconds: { quiet: 1, total: 5 },
      isolation: null,
    })
  })

  test('runs in the folder of the job when the control plane sends the files, and no link leads out of that', async () => {
    writeFileSync(join(base, 'outside.yml'), '')
    for (const path of [local, folder.file('work')]) symlinkSync(join(base, 'outside.yml'), join(path, 'link.yml'))
    expect((await planOf({ localFolder: null })).cwd).toBe(folder.file('work'))
    await expect(planOf({ localFolder: null }, { playbook: 'link.yml' })).rejects.toThrow('lies outside')
    expect((await planOf({}, { playbook: 'link.yml' })).argv.at(-1)).toBe('link.yml')
  })

  test('is refused where no Python can start a playbook, and where users of jobs are asked for in vain', async () => {
    await expect(planOf({ pythonProblem: 'there is no Python' })).rejects.toThrow('there is no Python')
    const isolation = { kind: 'unavailable', problem: 'there are no users' } as const
    await expect(planOf({ isolation })).rejects.toThrow('there are no users')
  })
})

describe('a playbook that runs as a user of its own', () => {
  test.each(['XDG_RUNTIME_DIR', 'SSH_AUTH_SOCK', 'SSH_AGENT_PID', 'TMP', 'TEMP', 'TMPDIR', 'SHELL'])(
    'does not get %s of the agent, which another job gets',
    async (name) => {
      const environment = { PATH: bin, HOME: base, LANG: 'C', [name]: '/of/agent' }
      expect((await planOf({ environment })).env).toMatchObject({ HOME: base, [name]: '/of/agent' })
      const { env } = await planOf({ environment, isolation: isolated() })
      expect(env).toMatchObject({ HOME: '/nonexistent', LANG: 'C' })
      expect(env).not.toHaveProperty(name)
    },
  )

  test('is told its users, and has its sockets in a /tmp of its own where there is one', async () => {
    expect(await planOf({ isolation: isolated('/tmp') })).toMatchObject({
      isolation: { users: [], private: ['/tmp'], folder: '/users', sudo: false, home: null },
      env: { ANSIBLE_SSH_CONTROL_PATH_DIR: '/tmp/ansible' },
    })
    expect((await planOf({ isolation: isolated('/dev/shm') })).env).not.toHaveProperty('ANSIBLE_SSH_CONTROL_PATH_DIR')
  })
})

describe('secrets of a playbook', () => {
  const file = (): string => `@${folder.file('secret-vars')}`

  test('come over pipes, which only a job with secrets has', async () => {
    const { argv, env } = await planOf({}, {}, NO_SECRETS)
    expect(argv.slice(3, 6)).toEqual(['-e', file(), '--inventory=localhost,'])
    expect(env).toMatchObject({ HOLDFAST_SECRETS_FILE: folder.file('secret-values') })
    expect((await planOf()).env).not.toHaveProperty('HOLDFAST_SECRETS_FILE')
  })

  test('of the launch come before those of credentials, and vaults after them', async () => {
    const vaults = [
      { id: 'one', password: 'a' },
      { id: 'two', password: 'b' },
    ]
    const secrets = { ...NO_SECRETS, variables: { key: 'value' }, vault_password: 'c', vaults }
    expect((await planOf({}, {}, secrets)).argv.slice(3, -2)).toEqual([
      '-e',
      `@${folder.file('launch-vars')}`,
      '-e',
      file(),
      `--vault-password-file=${folder.file('vault-password')}`,
      `--vault-id=one@${folder.file('vault-password')}-0`,
      `--vault-id=two@${folder.file('vault-password')}-1`,
    ])
  })
})

describe('a playbook in a container', () => {
  const container = { image: 'usual/image', options: [] }

  test('has the image of its form, else that of the runner, and is refused without one', async () => {
    expect((await planOf({ container })).argv).toContain('usual/image')
    const { argv } = await planOf({ container }, { image: 'team/image' })
    expect(argv).toContain('team/image')
    expect(argv).not.toContain('usual/image')
    await expect(planOf({ container: { image: null, options: [] } })).rejects.toThrow('RTE_EXECUTION_IMAGE is not set')
    await expect(planOf({}, { image: 'team/image' })).rejects.toThrow('this runner has not RTE_EXECUTION=podman')
  })

  test('is run by podman, with the folders that it needs and the keys of its secrets', async () => {
    const secrets = { ...NO_SECRETS, key_files: [{ at: ['key'], content: 'a key' }] }
    const own = await planOf({ container }, {}, secrets)
    expect(own).toMatchObject({ container: true, cwd: local })
    expect(own.argv.slice(0, 2)).toEqual([join(bin, 'podman'), 'run'])
    expect(own.argv.filter((word) => word.startsWith('--volume='))).toEqual([
      `--volume=${folder.path}:${folder.path}`,
      `--volume=/sockets/${RUN_ID}:/sockets/${RUN_ID}`,
      `--volume=${local}:${local}`,
      '--volume=/agent/ansible:/agent/ansible:ro',
    ])
    expect(own.argv).toContain('--preserve-fds=1')
    expect(own.argv).not.toContain(join(bin, 'ansible-playbook'))
    // Podman gets what it needs of the host; the container gets what the playbook needs.
    expect(own.env).toMatchObject({ PATH: bin, HOME: base, HOLDFAST_JOB_MARKER: RUN_ID, LC_ALL: 'C.UTF-8' })
    const sent = await planOf({ container, localFolder: null })
    expect(sent.argv.filter((word) => word.startsWith('--volume='))).toHaveLength(3)
    expect(sent.argv.some((word) => word.startsWith('--preserve-fds'))).toBe(false)
  })
})

describe('what a playbook folder requires', () => {
  const galaxy = { cache: '/cache/galaxy', seconds: 60, script: '/agent/requirements.py' }

  test('is installed first, by the Python of the host alone, where the operator wants that', async () => {
    expect((await planOf({ galaxy })).argv[0]).toBe(join(bin, 'ansible-playbook'))
    writeFileSync(join(local, 'requirements.yml'), '')
    expect((await planOf()).argv[0]).toBe(join(bin, 'ansible-playbook'))
    const { argv } = await planOf({ galaxy })
    expect(argv.slice(0, 4)).toEqual(['/opt/python', '-I', '-S', '/agent/requirements.py'])
    expect(JSON.parse(argv[4] ?? '')).toMatchObject({
      files: [join(local, 'requirements.yml')],
      program: join(bin, 'ansible-galaxy'),
      seconds: 60,
      cache: '/cache/galaxy',
    })
    expect(argv[5]).toBe(join(bin, 'ansible-playbook'))
  })

  test('is shared with no job of another user', async () => {
    writeFileSync(join(local, 'requirements.yml'), '')
    const { argv } = await planOf({ galaxy, isolation: isolated() })
    expect(JSON.parse(argv[4] ?? '')).toMatchObject({ cache: null })
  })
})

describe('a program', () => {
  test('is the first file of that name in PATH that can be run', () => {
    const other = join(base, 'other')
    mkdirSync(join(other, 'ansible'), { recursive: true })
    program(join(other, 'plain'), 0o644)
    for (const name of ['ansible', 'plain']) program(join(bin, name))
    const path = `relative:${join(base, 'nowhere')}:${other}:${bin}`
    expect(findProgram('ansible', path)).toBe(join(bin, 'ansible'))
    expect(findProgram('plain', path)).toBe(join(bin, 'plain'))
  })

  test('is not looked for in folders that depend on the place of the agent', () => {
    expect(() => findProgram('sh', '../../../../../../bin:')).toThrow('sh was not found on this runner')
    expect(() => findProgram('sh')).toThrow('sh was not found on this runner')
    expect(findProgram('sh', '/bin')).toBe('/bin/sh')
  })
})

test.each([
  // The next folder may have it.
  ['EACCES', true],
  ['ENOENT', true],
  // It is not known whether there is one.
  ['EIO', false],
  ['EMFILE', false],
])('a program in a folder that cannot be looked into (%s) may be found in the next: %s', (code, isPassedOver) => {
  const looking = vi.spyOn(fs, 'accessSync').mockImplementationOnce(() => {
    throw Object.assign(new Error(code), { code })
  })
  syncBuiltinESMExports()
  onTestFinished(() => {
    looking.mockRestore()
    syncBuiltinESMExports()
  })
  const find = (): string => findProgram('podman', `/first:${bin}`)
  if (isPassedOver) expect(find()).toBe(join(bin, 'podman'))
  else expect(find).toThrow(code)
})

describe('extra variables', () => {
  test('that are nested too deeply are refused in words', () => {
    let deep: unknown = 1
    for (let depth = 0; depth < 100_000; depth += 1) deep = [deep]
    for (const allowJinja of [true, false]) {
      expect(() => extravarsText({ deep }, allowJinja)).toThrow(
        'the extra variables cannot be written: they are nested deeper than 500 levels',
      )
    }
  })

  test('may be empty, and a place in a list is no name', () => {
    const value = { none: null, list: ['{{ a }}', 1, { b: null }] }
    expect(extravarsText(value, false)).toContain('? !unsafe "none" : null')
    expect(() => extravarsText({ none: null, list: [[], { '{{ b }}': null }] }, false)).toThrow('the name "{{ b }}"')
  })
})
