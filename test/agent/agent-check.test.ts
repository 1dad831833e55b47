import { execFileSync, spawn, spawnSync } from 'node:child_process'
import { chmodSync, chownSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { cleanEnvironment, startProgram } from '../support/process.js'
import { AGENT } from '../support/product.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'
import { waitFor } from '../support/wait.js'

/** `holdfast-runner check`, as an admin types it before anything else. */
let folder: string
let address: string
/** How far the clock of the control plane is ahead, in milliseconds. */
let ahead = 0
const server = createServer(TEST_CERTIFICATE, (request, response) => {
  const isLive = request.url === '/jobs/api/v2/live'
  response.writeHead(isLive ? 200 : 404, { date: new Date(Date.now() + ahead).toUTCString() }).end()
})

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-check-'))
  writeFileSync(join(folder, 'ca.pem'), TEST_CERTIFICATE.cert)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  address = `https://localhost:${(server.address() as AddressInfo).port}/jobs`
})
afterAll(() => {
  server.closeAllConnections()
  server.close()
  rmSync(folder, { recursive: true, force: true })
})

function check(
  environment: Record<string, string> = {},
  words: string[] = [],
): Promise<{ code: number; said: string }> {
  const given = {
    APP_URL: address,
    RTE_STATE_PATH: join(folder, 'state'),
    NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem'),
    ...environment,
  }
  const child = spawn(process.execPath, [AGENT, 'check', ...words], { env: cleanEnvironment(given) })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => (said += text))
  }
  return new Promise((resolve) => child.on('close', (code) => resolve({ code: code ?? -1, said })))
}

test('says of each thing that jobs need that it is there', async () => {
  const { code, said } = await check()
  expect(said.replaceAll(/^ok +(\S.*?): .*$/gm, '$1')).toBe(
    'Python\nansible\nstate folder\ncontrol plane\nclock\nThis host can run jobs.\n',
  )
  expect(code).toBe(0)
})

test('names what is missing, and how to get it', async () => {
  const parent = join(folder, 'closed')
  const noAnsible = await check({ PATH: join(folder, 'nothing'), RTE_PYTHON: '/usr/bin/python3' })
  expect(noAnsible.said).toMatch(/^PROBLEM {2}ansible: no ansible-playbook in .*\n +-> apt-get install ansible-core$/m)
  expect(noAnsible.said).toContain('Jobs cannot run here: 1 problem(s), see above.')
  expect(noAnsible.code).toBe(1)

  const noParent = await check({ RTE_STATE_PATH: join(parent, 'state') })
  expect(noParent.said).toMatch(
    /^PROBLEM {2}state folder: .* is not there and cannot be made: .*\n +-> make it: install -d/m,
  )

  const noName = await check({ APP_URL: 'https://nowhere.invalid' })
  expect(noName.said).toMatch(/^PROBLEM {2}control plane: .* cannot be reached.*\n +-> .*DNS of this host$/m)

  const wrongPath = await check({ APP_URL: address.replace('/jobs', '') })
  expect(wrongPath.said).toMatch(/^PROBLEM {2}control plane: .* answers 404\n +-> look at APP_URL/m)
})

test('a certificate that is not trusted: the check and the log of the agent say what to do', async () => {
  const { code, said } = await check({ NODE_EXTRA_CA_CERTS: '' })
  expect(said).toMatch(/^PROBLEM {2}control plane: .*\n +-> .*NODE_EXTRA_CA_CERTS/m)
  expect(code).toBe(1)
  const settings = { APP_URL: address, RTE_STATE_PATH: join(folder, 'running'), PORT: '0', LOG_FORMAT: 'json' }
  const agent = startProgram(AGENT, ['run'], settings)
  try {
    await waitFor('the reason', () => /cannot join the control plane: .*NODE_EXTRA_CA_CERTS/.test(agent.said()))
  } finally {
    await agent.stop()
  }
})

test('a clock that differs is said, and is no reason against jobs', async () => {
  ahead = 3_600_000
  const { code, said } = await check()
  ahead = 0
  expect(said).toMatch(/^warning {2}clock: 3(599|600|601) s behind the control plane$/m)
  expect(code).toBe(0)
})

test.runIf(process.getuid?.() === 0)(
  'the state folder of another user, and one that others can look into',
  async () => {
    const state = join(folder, 'of-somebody')
    mkdirSync(state)
    chmodSync(state, 0o755)
    expect((await check({ RTE_STATE_PATH: state })).said).toMatch(/^warning {2}state folder: .*\n +-> chmod 0700/m)
    chownSync(state, 12345, 12345)
    const { code, said } = await check({ RTE_STATE_PATH: state })
    expect(said).toMatch(
      /^PROBLEM {2}state folder: .* belongs to user 12345, and this is root\n +-> run this as the user/m,
    )
    expect(code).toBe(1)
  },
)

test.runIf(process.getuid?.() === 0)('jobs that cannot have users of their own', async () => {
  const { code, said } = await check({ RTE_ISOLATION: 'user', RTE_ISOLATION_USERS: 'nobody-has-this' })
  expect(said).toMatch(/^PROBLEM {2}isolation: .*there is no user nobody-has-this.*\n +-> docs\/isolation\.md/m)
  expect(code).toBe(1)
})

const noDisk = process.getuid?.() === 0 ? whyNoDisk() : 'only root mounts a disk'
test.skipIf(noDisk !== null)('a disk with little room, and a full one', async () => {
  const state = join(folder, 'on-a-disk')
  mkdirSync(state)
  execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=1m,mode=700', 'tmpfs', state])
  onTestFinished(() => void execFileSync('umount', [state]))
  const little = await check({ RTE_STATE_PATH: state })
  expect(little.said).toMatch(/^warning {2}disk: \d MiB free for output .*\n +-> make room below /m)
  expect(little.code).toBe(0)
  expect(spawnSync('dd', ['if=/dev/zero', `of=${join(state, 'full')}`, 'bs=64k']).status).toBe(1)
  const full = await check({ RTE_STATE_PATH: state })
  expect(full.said).toMatch(/^PROBLEM {2}disk: full: no job is taken\n +-> make room below /m)
  expect(full.code).toBe(1)
})

/** Why no disk can be mounted here; null: one can. */
function whyNoDisk(): string | null {
  const words = ['--mount', 'mount', '-t', 'tmpfs', '-o', 'size=1m', 'tmpfs', '/mnt']
  return spawnSync('unshare', words).status === 0 ? null : 'this machine does not let root mount'
}

test('a setting that does not exist is said, by the check and in the log of the agent', async () => {
  const { code, said } = await check({ RTE_MAXJOBS: '3', RTE_JOIN_TOKEN_FILE: '', RTE_COLOUR: 'red' })
  expect(said).toContain('warning  settings: there is no setting RTE_MAXJOBS\n         -> is RTE_MAX_JOBS meant?\n')
  expect(said).toContain('there is no setting RTE_COLOUR\n         -> see holdfast-runner run --help\n')
  expect(said).not.toContain('RTE_JOIN_TOKEN_FILE')
  expect(code).toBe(0)
  const settings = { APP_URL: 'http://127.0.0.1:9', RTE_STATE_PATH: join(folder, 'typo'), PORT: '0', RTE_MAXJOBS: '3' }
  const agent = startProgram(AGENT, ['run'], settings)
  try {
    await waitFor('the warning', () => agent.said().includes('no such setting'))
    expect(agent.said()).toContain('is RTE_MAX_JOBS meant?')
  } finally {
    await agent.stop()
  }
})

test('takes settings from a file as systemd reads it; the environment wins', async () => {
  const file = join(folder, 'runner.env')
  writeFileSync(file, `# comment\nAPP_URL=https://nowhere.invalid\nRTE_NAME="from-file"\n`)
  const { said } = await check({ APP_URL: '' }, ['--settings-file', file])
  expect(said).toContain('https://nowhere.invalid/ cannot be reached')
  expect((await check({}, ['--settings-file', file])).code).toBe(0)
  const missing = await check({}, ['--settings-file', join(folder, 'none.env')])
  expect([missing.code, missing.said]).toEqual([2, expect.stringContaining('--settings-file: ENOENT')])
})

test('trusts the authority that only the file with the settings names, as the agent will', async () => {
  const file = join(folder, 'authority.env')
  const settings = `APP_URL=${address}\nNODE_EXTRA_CA_CERTS=${join(folder, 'ca.pem')}\n`
  writeFileSync(file, settings)
  const named = { APP_URL: '', NODE_EXTRA_CA_CERTS: '' }
  const { code, said } = await check(named, ['--settings-file', file])
  expect(said).toContain('This host can run jobs.')
  expect(code).toBe(0)
  writeFileSync(file, settings.replace('ca.pem', 'none.pem'))
  expect((await check(named, ['--settings-file', file])).said).toMatch(/^PROBLEM {2}control plane: .*none\.pem/m)
})
