import { type ChildProcessWithoutNullStreams, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { ROOT } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { waitFor } from '../support/wait.js'
import { type RunningCli, newPerson, newQuickPerson } from './run-cli.js'

const settings = { PORT: '0', ADMIN_PASSWORD: 'correct horse battery', LOG_FORMAT: 'json' }

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-serve-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  return folder
}

const BROKEN = 'roles: [\n'

function brokenFolder(): string {
  const folder = newFolder()
  writeFileSync(join(folder, 'config.yaml'), BROKEN)
  return folder
}

async function startServing(
  folder: string,
  args: readonly string[] = [],
  environment: Readonly<Record<string, string>> = settings,
): Promise<RunningCli & { address: string; process: ChildProcessWithoutNullStreams }> {
  const cli = newPerson({ PERSISTENT_PATH: folder, ...environment }).start(['serve', ...args])
  const address = await waitFor('the control plane to listen', () => {
    if (cli.process.exitCode !== null) throw new Error(cli.stderr())
    return /"address":"([^"]+)"/.exec(cli.stdout())?.[1]
  })
  return { ...cli, address }
}

it.each(['SIGTERM', 'SIGINT'] as const)(
  '%s stops it in good order, also with an open live stream and a connection without a request',
  async (signal) => {
    const serving = await startServing(newFolder())
    const credentials = { username: 'admin', password: settings.ADMIN_PASSWORD }
    const signedIn = await signIn(serving.address, credentials.username, credentials.password)
    const headers = { authorization: `Bearer ${signedIn.token}` }
    expect((await fetch(`${serving.address}/api/v2/events`, { headers })).status).toBe(200)
    const { hostname, port } = new URL(serving.address)
    const socket = connect(Number(port), hostname)
    onTestFinished(() => void socket.destroy())
    await once(socket, 'connect')
    // Another one's answer tells that the server has taken this one, too.
    expect((await fetch(`${serving.address}/api/v2/ready`)).status).toBe(200)
    serving.process.kill(signal)
    const { code, stderr } = await serving.ended
    expect(code).toBe(0)
    expect(stderr).toContain(`is stopping (${signal})`)
    expect(stderr).not.toContain('still stopping')
  },
)

it('options win over the environment, and a server below a prefix is reached by its address', async () => {
  const serving = await startServing(newFolder(), ['--base-url', '/flag'], { ...settings, BASE_URL: '/environment' })
  expect(new URL(serving.address).pathname).toBe('/flag')
  const person = newQuickPerson({ HOLDFAST_PASSWORD: settings.ADMIN_PASSWORD })
  expect((await person.run(['login', '-u', 'admin', '--server', `${serving.address}/`])).code).toBe(0)
  expect(await person.run(['job', 'list'])).toMatchObject({ code: 0, stdout: 'No jobs.\n' })
})

it('SIGHUP reads the level of the log from LOG_LEVEL_FILE, which wins, and a wrong level changes nothing', async () => {
  const file = join(newFolder(), 'level')
  writeFileSync(file, 'info\n')
  const serving = await startServing(newFolder(), [], { ...settings, LOG_LEVEL: 'error', LOG_LEVEL_FILE: file })
  const reload = (level: string) => {
    writeFileSync(file, level)
    serving.process.kill('SIGHUP')
  }
  reload('loud\n')
  const wrong = `could not reload and goes on as before: LOG_LEVEL_FILE: ${file} must have one of trace, debug, info`
  await waitFor('the refusal', () => serving.stderr().includes(wrong))
  reload('debug\n')
  await waitFor('the new level', () => serving.stdout().includes('"before":"info"'))
  expect((await fetch(`${serving.address}/api/v2/ready`)).status).toBe(200)
  await waitFor('a line that only this level has', () => serving.stdout().includes('"path":"/api/v2/ready"'))
  // Without a level in the file, the one of LOG_LEVEL counts.
  reload('')
  await waitFor('the level of the setting', () => serving.stdout().includes('"level":"error","before":"debug"'))
  const lines = serving.stdout().split('\n').length
  expect((await fetch(`${serving.address}/api/v2/ready`)).status).toBe(200)
  serving.process.kill('SIGTERM')
  expect((await serving.ended).code).toBe(0)
  expect(serving.stdout().split('\n')).toHaveLength(lines)
})

it('stops in good order when nobody reads what it says any more', async () => {
  const serving = await startServing(newFolder())
  serving.process.stderr.destroy()
  serving.process.kill('SIGTERM')
  expect((await serving.ended).code).toBe(0)
})

it('with a broken config.yaml a start takes the last good one and says so, and a first start ends with exit code 2', async () => {
  const folder = newFolder()
  const config = join(folder, 'config.yaml')
  const first = await newPerson({ PERSISTENT_PATH: brokenFolder(), ...settings }).run(['serve'])
  expect([first.code, first.stderr]).toEqual([2, expect.stringMatching(/^holdfast: .*config\.yaml, line \d+: /m)])

  const serving = await startServing(folder)
  const lastGood = `${readFileSync(config, 'utf8')}constants: { place: here }\n`
  writeFileSync(config, lastGood)
  const asAdmin = { HOLDFAST_SERVER: serving.address, HOLDFAST_PASSWORD: settings.ADMIN_PASSWORD }
  // Whoever signs in makes the service look at the roles.
  expect((await newQuickPerson(asAdmin).run(['login', '-u', 'admin'])).code).toBe(0)
  serving.process.kill('SIGTERM')
  await serving.ended

  writeFileSync(config, BROKEN)
  const again = await startServing(folder)
  expect(again.stdout()).toMatch(/the file is wrong: the roles are those of .*config\.yaml\.last-good/)
  expect(readFileSync(`${config}.last-good`, 'utf8')).toBe(lastGood)
  expect(statSync(`${config}.last-good`).mode & 0o777).toBe(0o600)
  const person = newQuickPerson({ HOLDFAST_SERVER: again.address, HOLDFAST_PASSWORD: settings.ADMIN_PASSWORD })
  expect((await person.run(['login', '-u', 'admin'])).code).toBe(0)
  expect((await person.run(['user', 'list'])).code).toBe(0)
})

it('says that ADMIN_PASSWORD is not used when there are accounts already, and how to get a new password', async () => {
  const folder = newFolder()
  const { ADMIN_PASSWORD, ...without } = settings
  const starts: string[] = []
  for (const environment of [settings, { ...settings, ADMIN_PASSWORD: 'another password' }, without]) {
    const serving = await startServing(folder, [], environment)
    serving.process.kill('SIGTERM')
    starts.push((await serving.ended).stdout)
  }
  const words = /"ADMIN_PASSWORD counts at the first start only, and there are accounts: holdfast admin reset-password /
  expect(starts.map((said) => words.test(said))).toEqual([false, true, false])
  expect(starts.join('')).not.toContain(ADMIN_PASSWORD)
  expect(starts.join('')).not.toContain('another password')
})

const firstFreePort = Number(readFileSync('/proc/sys/net/ipv4/ip_unprivileged_port_start', 'utf8'))

it.skipIf(firstFreePort <= 79)('a port below 1024 without the right to it: 2, and the way out', async () => {
  const { code, stderr } = await newPerson({ PERSISTENT_PATH: newFolder(), ...settings }).run(
    ['serve', '--port', '79'],
    {
      withoutPortRight: true,
    },
  )
  expect(code).toBe(2)
  expect(stderr).toContain('holdfast: Not allowed to listen on port 79. Choose one from 1024 up with --port')
  expect(stderr).toContain('AmbientCapabilities=CAP_NET_BIND_SERVICE')
})

it.each([
  ['control-plane/bin/holdfast.js', 'holdfast'],
  ['runner-agent/bin/holdfast-runner.js', 'holdfast-runner'],
])('%s by an older Node.js ends with exit code 2 and one sentence', (program, name) => {
  const olderNode = `data:text/javascript,Object.defineProperty(process.versions,'node',{value:'18.20.8'})`
  const { status, stderr, stdout } = spawnSync(
    process.execPath,
    ['--import', olderNode, join(ROOT, program), '--help'],
    {
      encoding: 'utf8',
    },
  )
  expect([status, stdout]).toEqual([2, ''])
  expect(stderr).toMatch(new RegExp(`^${name}: Node.js [\\d.]+ or later is needed, this is 18\\.20\\.8\\.\n$`))
})

it('a port that is taken gives exit code 1 and one sentence', async () => {
  const serving = await startServing(newFolder())
  const port = new URL(serving.address).port
  const second = await newPerson({ PERSISTENT_PATH: newFolder(), ...settings }).run(['serve', '--port', port])
  expect(second.code).toBe(1)
  expect(second.stderr).toContain(`holdfast: Port ${port} at 127.0.0.1 is taken. Choose another one with --port.\n`)
})

it.each([
  [{ ADMIN_PASSWORD: 'short' }, /^holdfast: .*ADMIN_PASSWORD: /m],
  [{ ADMIN_USERNAME: 'a/b' }, /^holdfast: ADMIN_USERNAME/m],
])('a first admin with %j gives exit code 2', async (wrong, words) => {
  const { code, stderr } = await newPerson({ PERSISTENT_PATH: newFolder(), ...settings, ...wrong }).run(['serve'])
  expect(code).toBe(2)
  expect(stderr).toMatch(words)
})

it('only the admin can read a generated admin password; it is in no log and must be changed', async () => {
  const folder = newFolder()
  const environment = { PORT: '0', LOG_FORMAT: 'json' }
  const serving = await startServing(folder, [], environment)
  const path = join(folder, 'initial-admin-password')
  const password = readFileSync(path, 'utf8').trim()
  expect(statSync(path).mode & 0o777).toBe(0o600)
  expect(serving.stderr()).toContain(path)
  // Nobody sits at this terminal: what is said here is what a service manager keeps.
  expect(serving.stderr() + serving.stdout()).not.toContain(password)
  const person = newQuickPerson({ HOLDFAST_SERVER: serving.address, HOLDFAST_PASSWORD: password })
  const login = await person.run(['login', '-u', 'admin'])
  expect([login.code, login.stderr]).toEqual([0, expect.stringContaining('Change it with: holdfast password')])
  const refused = await person.run(['job', 'list'])
  expect([refused.code, refused.stderr]).toEqual([5, expect.stringContaining('has to be changed before anything else')])
  const next = 'a password that nobody printed'
  expect((await person.run(['password', '--password-stdin'], { input: `${password}\n${password}\n` })).code).not.toBe(0)
  expect((await person.run(['password', '--password-stdin'], { input: `${password}\n${next}\n` })).code).toBe(0)
  expect((await person.run(['job', 'list'])).code).toBe(0)
  serving.process.kill('SIGTERM')
  await serving.ended
  const again = await startServing(folder, [], environment)
  expect(again.stderr()).not.toContain(password)
})
