import { once } from 'node:events'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import files from 'node:fs/promises'
import { createServer } from 'node:http'
import { syncBuiltinESMExports } from 'node:module'
import type { AddressInfo } from 'node:net'
import { tmpdir, userInfo } from 'node:os'
import { join } from 'node:path'
import { beforeEach, describe, expect, onTestFinished, test, vi } from 'vitest'
import { checkRunner } from '../../../runner-agent/src/check/check.js'
import { checkHost } from '../../../runner-agent/src/check/host.js'
import { readSettings } from '../../../runner-agent/src/settings.js'

/** What `holdfast-runner check` says of its host. */
const MEBIBYTE = 1024 * 1024
const isRoot = process.getuid?.() === 0
const me = userInfo().username
let folder: string
let state: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-check-host-'))
  state = join(folder, 'state')
  mkdirSync(state, { mode: 0o700 })
  mkdirSync(join(folder, 'bin'))
  onTestFinished(() => {
    rmSync(folder, { recursive: true })
  })
})

/** From now on a disk has so many bytes free, until the test is finished. */
function diskWith(free: number): void {
  const { statfs } = files
  const asking = vi.spyOn(files, 'statfs').mockImplementation((async (path: string) => {
    const found = await statfs(path)
    return { ...found, bsize: 1, bavail: free }
  }) as typeof statfs)
  syncBuiltinESMExports()
  onTestFinished(() => {
    asking.mockRestore()
    syncBuiltinESMExports()
  })
}

const program = (name: string, says: string): void =>
  writeFileSync(join(folder, 'bin', name), `#!/bin/sh\n${says}\n`, { mode: 0o755 })
function python(version = [3, 12, 0], encoding = 'UTF-8'): void {
  program('python3', `echo '${JSON.stringify(['/real/python3', version, encoding, 'UTF-8'])}'`)
}
const ansible = (says = "echo 'ansible-playbook [core 2.17.1]'"): void => program('ansible-playbook', says)

const settingsOf = (more: Record<string, string> = {}) =>
  readSettings(
    { environment: { APP_URL: 'http://127.0.0.1:1', RTE_STATE_PATH: state, ...more }, flags: {}, readFile: () => '' },
    folder,
  )
const check = (more: Record<string, string> = {}) => checkHost(settingsOf(more), { PATH: join(folder, 'bin') })
const about = async (subject: string, more: Record<string, string> = {}) =>
  (await check(more)).find((finding) => finding.subject === subject)

test('a host with everything is well, in the order of what is needed first', async () => {
  python()
  ansible()
  diskWith(2048 * MEBIBYTE)
  expect(await check()).toEqual([
    { subject: 'Python', state: 'ok', words: '/real/python3', advice: null },
    { subject: 'ansible', state: 'ok', words: `2.17.1 at ${folder}/bin/ansible-playbook`, advice: null },
    { subject: 'state folder', state: 'ok', words: state, advice: null },
    { subject: 'disk', state: 'ok', words: '2048 MiB free for output that is not fetched yet', advice: null },
  ])
})

describe('Python', () => {
  test('that is not there is a problem', async () => {
    const found = await about('Python')
    expect(found?.state).toBe('problem')
    expect(found?.words).toContain('playbooks need Python 3.8 or later on this host')
    expect(found?.advice).toBe('apt-get install python3, or name one with RTE_PYTHON')
  })

  test('that is too old for playbooks is one, too', async () => {
    python([3, 6, 1])
    const found = await about('Python')
    expect(found?.state).toBe('problem')
    expect(found?.words).toContain('python3 is Python 3.6.1')
  })

  test('that the settings name is the one', async () => {
    python()
    expect(await about('Python', { RTE_PYTHON: join(folder, 'bin/none') })).toMatchObject({ state: 'problem' })
  })

  test('in a locale without UTF-8 is a doubt, and in one of UTF-8 none', async () => {
    python([3, 12, 0], 'ISO8859-1')
    expect(await about('locale')).toMatchObject({ state: 'warning', advice: 'install C.UTF-8' })
    python()
    expect(await about('locale')).toBeUndefined()
  })
})

describe('ansible', () => {
  test('that is not in PATH is a problem', async () => {
    expect(await about('ansible')).toEqual({
      subject: 'ansible',
      state: 'problem',
      words: `no ansible-playbook in ${join(folder, 'bin')}`,
      advice: 'apt-get install ansible-core',
    })
  })

  test('that does not say its version is one, too', async () => {
    ansible('exit 1')
    const path = join(folder, 'bin/ansible-playbook')
    expect(await about('ansible')).toEqual({
      subject: 'ansible',
      state: 'problem',
      words: `${path} does not say its version`,
      advice: `run it: ${path} --version`,
    })
  })
})

describe('the state folder', () => {
  test.each([
    [0o700, 'ok'],
    [0o710, 'warning'],
    [0o740, 'warning'],
    [0o701, 'warning'],
    [0o704, 'warning'],
  ])('of mode %o: %s', async (mode, expected) => {
    chmodSync(state, mode)
    const found = await about('state folder')
    expect(found?.state).toBe(expected)
    if (expected === 'ok') expect(found?.words).toBe(state)
    else expect(found?.advice).toBe(`chmod 0700 ${state}`)
    expect(await about('disk')).toBeDefined()
  })

  test('that is not there is made at the start', async () => {
    expect(await about('state folder', { RTE_STATE_PATH: join(folder, 'later') })).toEqual({
      subject: 'state folder',
      state: 'ok',
      words: `${folder}/later is made at the first start`,
      advice: null,
    })
    expect(await about('disk', { RTE_STATE_PATH: join(folder, 'later') })).toBeUndefined()
  })

  test('that cannot be made is a problem', async () => {
    const path = join(folder, 'nowhere/later')
    const found = await about('state folder', { RTE_STATE_PATH: path })
    expect(found?.state).toBe('problem')
    expect(found?.words).toContain(`${path} is not there and cannot be made: `)
    expect(found?.advice).toBe(`make it: install -d -m 0700 -o ${me} ${path}`)
  })

  test('that cannot be looked at is a problem', async () => {
    writeFileSync(join(folder, 'file'), '')
    const path = join(folder, 'file/state')
    const found = await about('state folder', { RTE_STATE_PATH: path })
    expect(found).toMatchObject({ state: 'problem', advice: `make ${path} readable and writable for ${me}` })
    expect(found?.words).toContain('ENOTDIR')
  })

  test('that the user of the agent may not use is a problem', async () => {
    const { access } = files
    const asking = vi.spyOn(files, 'access').mockImplementation(async (path, mode) => {
      // Tests may run as root, who may use every folder.
      if (path === state && mode === 7) throw new Error('EACCES: permission denied')
      return access(path, mode)
    })
    syncBuiltinESMExports()
    onTestFinished(() => {
      asking.mockRestore()
      syncBuiltinESMExports()
    })
    const words = { words: 'EACCES: permission denied', advice: `make ${state} readable and writable for ${me}` }
    expect(await about('state folder')).toMatchObject({ state: 'problem', ...words })
  })

  test.runIf(isRoot)('of another user is a problem', async () => {
    chownSync(state, 12_345, 12_345)
    const found = await about('state folder')
    expect(found).toMatchObject({ state: 'problem', words: `${state} belongs to user 12345, and this is ${me}` })
    expect(found?.advice).toContain('runuser -u holdfast-runner -- holdfast-runner check')
  })
})

describe('the disk', () => {
  test.each([
    [0, '2048', 'problem'],
    [1, '2048', 'warning'],
    [1024 * MEBIBYTE - 1, '2048', 'warning'],
    [1024 * MEBIBYTE, '2048', 'ok'],
    [10 * MEBIBYTE - 1, '10', 'warning'],
    [10 * MEBIBYTE, '10', 'ok'],
  ])('with %d bytes free for a spool of %s MiB: %s', async (free, spool, expected) => {
    diskWith(free)
    const found = await about('disk', { RTE_SPOOL_MAX_MB: spool })
    expect(found?.state).toBe(expected)
    const words = `${Math.floor(free / MEBIBYTE)} MiB free for output that is not fetched yet`
    expect(found?.words).toBe(free === 0 ? 'full: no job is taken' : words)
    expect(found?.advice).toBe(expected === 'ok' ? null : `make room below ${state}`)
  })
})

describe('isolation', () => {
  const asked = { RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: 'job-1..2' }
  /** A Python that tells of itself, and then answers as the helper of isolation does. */
  function helper(answer: object): void {
    const itself = JSON.stringify([join(folder, 'bin/python3'), [3, 12, 0], 'UTF-8', 'UTF-8'])
    program('python3', `case "$*" in *isolation.py*) echo '${JSON.stringify(answer)}';; *) echo '${itself}';; esac`)
  }

  test('that works here is well', async () => {
    const user = { uid: 1, gid: 1, name: 'job', groups: [] }
    helper({ users: [user, user], private: ['/tmp'], warnings: [] })
    const words = '2 users for jobs'
    expect(await about('isolation', asked)).toEqual({ subject: 'isolation', state: 'ok', words, advice: null })
    expect(await about('isolation')).toBeUndefined()
  })

  test('that does not is a problem', async () => {
    helper({ problem: 'there is no user job-1' })
    expect(await about('isolation', asked)).toEqual({
      subject: 'isolation',
      state: 'problem',
      words: 'there is no user job-1',
      advice: 'docs/isolation.md says what it needs; or RTE_ISOLATION=none',
    })
  })

  test('is not tried where the state folder is wrong, or where no Python runs', async () => {
    expect(await about('isolation', asked)).toBeUndefined()
    helper({ problem: 'it was tried' })
    expect(await about('isolation', { ...asked, RTE_STATE_PATH: join(folder, 'no/state') })).toBeUndefined()
    // What is wrong elsewhere hides nothing: ansible is missing here. Nor does a doubt about the folder.
    chmodSync(state, 0o755)
    expect(await about('isolation', asked)).toMatchObject({ words: 'it was tried' })
  })
})

describe('the whole check', () => {
  async function runnerCheck(more: Record<string, string> = {}) {
    const server = createServer((_request, response) => {
      response.end()
    })
    await once(server.listen(0, '127.0.0.1'), 'listening')
    onTestFinished(() => void server.close())
    const url = `http://localhost:${(server.address() as AddressInfo).port}`
    const lines: string[] = []
    const environment = { PATH: join(folder, 'bin'), ...more }
    const settings = settingsOf({ APP_URL: url })
    return { isFit: await checkRunner(settings, environment, (line) => lines.push(line)), lines }
  }

  test('says one line for each finding, and that jobs can run', async () => {
    python()
    ansible()
    diskWith(2048 * MEBIBYTE)
    const { isFit, lines } = await runnerCheck({ RTE_MAXJOBS: '3', RTE_COLOUR: 'red' })
    expect(lines.map((line) => /^(\S+ +[^:]*):/.exec(line)?.[1] ?? line)).toEqual([
      'warning  settings',
      '         -> is RTE_MAX_JOBS meant?',
      'warning  settings',
      '         -> see holdfast-runner run --help',
      'ok       Python',
      'ok       ansible',
      'ok       state folder',
      'ok       disk',
      'ok       control plane',
      'ok       clock',
      'This host can run jobs.',
    ])
    expect(lines[0]).toBe('warning  settings: there is no setting RTE_MAXJOBS')
    expect(isFit).toBe(true)
  })

  test('counts the problems, and says that jobs cannot run', async () => {
    const { isFit, lines } = await runnerCheck()
    expect(lines.at(-1)).toBe('Jobs cannot run here: 2 problem(s), see above.')
    expect(isFit).toBe(false)
  })
})
