import { mkdirSync, readFileSync, readdirSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type FakeService, PASSWORD, startFakeService } from './fake-service.js'
import { type Person, newPerson, newQuickPerson } from './run-cli.js'

let service: FakeService
let person: Person

beforeEach(async () => {
  service = await startFakeService()
  onTestFinished(() => service.stop())
  person = newQuickPerson()
})

const sessionPath = () => join(person.home, 'holdfast/session.json')
const savedSession = () => JSON.parse(readFileSync(sessionPath(), 'utf8')) as Record<string, string>

function logIn() {
  return person.run(['login', '--server', service.address, '-u', 'admin', '--password-stdin'], {
    input: `${PASSWORD}\n`,
  })
}

describe('login', () => {
  it('takes the password from standard input and stores the session for this user only', async () => {
    const { code, stdout } = await logIn()
    expect({ code, stdout }).toEqual({ code: 0, stdout: `Signed in at ${service.address} as admin.\n` })
    expect(statSync(sessionPath()).mode & 0o777).toBe(0o600)
    expect(savedSession()).toMatchObject({ server: service.address, username: 'admin', token: 'access-1' })
    expect((await person.run(['job', 'list'])).code).toBe(0)
  })

  it('asks for both on a terminal and does not show the password', async () => {
    const cli = person.start(['login', '--server', service.address], { terminal: true })
    await cli.shows('Username: ')
    cli.process.stdin.write('admin\r')
    await cli.shows('Password of admin')
    cli.process.stdin.write(`${PASSWORD}\r`)
    const { code, stdout } = await cli.ended
    expect(code).toBe(0)
    expect(stdout).toContain('Signed in')
    expect(stdout).not.toContain(PASSWORD)
  })

  it('is stopped by Ctrl-C at the question', async () => {
    const cli = person.start(['login', '--server', service.address, '-u', 'admin'], { terminal: true })
    await cli.shows('Password of admin')
    cli.process.stdin.write('\u0003')
    expect((await cli.ended).code).toBe(130)
  })

  it('ends with exit code 5 after too many tries, and says when to try again', async () => {
    service.override = () => ({
      status: 429,
      body: { error: 'Too many failed sign-ins', code: 'locked' },
      headers: { 'retry-after': '60' },
    })
    const { code, stderr } = await logIn()
    expect(code).toBe(5)
    expect(stderr).toBe('holdfast: Too many failed sign-ins. Try again in 60 s.\n')
  })
})

describe('the access token', () => {
  it('is renewed when it has expired, and the new pair is stored', async () => {
    await logIn()
    service.expireTokens()
    expect((await person.run(['job', 'list'])).code).toBe(0)
    expect(savedSession()).toMatchObject({ token: 'access-2', refreshtoken: 'refresh-2' })
    expect(statSync(sessionPath()).mode & 0o777).toBe(0o600)
  })

  it('is renewed by only one of many commands, because a refresh token works only once', async () => {
    await logIn()
    service.expireTokens()
    const commands = newPerson({ XDG_CONFIG_HOME: person.home })
    const results = await Promise.all(Array.from({ length: 6 }, () => commands.run(['job', 'list'])))
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0])
    expect(service.usedTwice).toEqual([])
    expect(service.seen.filter(({ path }) => path === '/token')).toHaveLength(1)
  })

  it('is renewed although a command that was killed has left its lock behind', async () => {
    await logIn()
    service.expireTokens()
    const lock = `${sessionPath()}.locked`
    mkdirSync(lock, { recursive: true })
    const [holder, longAgo] = [join(lock, 'somebody'), Date.now() / 1000 - 3600]
    writeFileSync(holder, '')
    utimesSync(holder, longAgo, longAgo)
    expect((await person.run(['job', 'list'])).code).toBe(0)
    expect(readdirSync(lock)).toEqual([])
  })

  it('cannot be renewed when the session is over: exit code 4', async () => {
    await logIn()
    writeFileSync(sessionPath(), JSON.stringify({ ...savedSession(), refreshtoken: 'refresh-of-old' }))
    service.expireTokens()
    const { code, stderr } = await person.run(['job', 'list'])
    expect(code).toBe(4)
    expect(stderr).toContain(`The session of admin at ${service.address} is over.`)
  })

  it.each([
    [503, 3],
    [429, 5],
  ])('is kept when the server answers %i while it is renewed', async (status, expected) => {
    await logIn()
    service.expireTokens()
    service.override = ({ path }) => (path === '/token' ? { status, body: { error: 'Not now', code: 'x' } } : null)
    expect((await person.run(['job', 'list'])).code).toBe(expected)
    service.override = null
    expect((await person.run(['job', 'list'])).code).toBe(0)
  })
})

describe('logout', () => {
  it('forgets the session also when the server is away', async () => {
    await logIn()
    await service.stop()
    const { code, stderr } = await person.run(['logout'])
    expect(code).toBe(0)
    expect(stderr).toContain('did not hear of it')
    expect(() => savedSession()).toThrow('ENOENT')
  })
})

it('a damaged session file is no session', async () => {
  await logIn()
  writeFileSync(sessionPath(), '{"server": ')
  expect((await person.run(['job', 'list', '--server', service.address])).code).toBe(4)
})
