import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type FakeService, PASSWORD, startFakeService } from './fake-service.js'
import { type Person, newPerson } from './run-cli.js'

let service: FakeService
let person: Person

beforeEach(async () => {
  service = await startFakeService()
  onTestFinished(() => service.stop())
  person = newPerson()
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

  it('takes name and password from the environment', async () => {
    const environment = { HOLDFAST_SERVER: service.address, HOLDFAST_USERNAME: 'admin', HOLDFAST_PASSWORD: PASSWORD }
    const { code, stdout } = await person.run(['login', '--json'], { environment })
    expect(code).toBe(0)
    expect(JSON.parse(stdout)).toEqual({ server: service.address, username: 'admin' })
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

  it('does not wait without a terminal', async () => {
    const { code, stderr } = await person.run(['login', '--server', service.address, '-u', 'admin'], { input: '' })
    expect(code).toBe(2)
    expect(stderr).toContain('--password-stdin or HOLDFAST_PASSWORD')
  })

  it('ends with exit code 4 and no session when it is refused', async () => {
    const { code, stderr } = await person.run(
      ['login', '--server', service.address, '-u', 'admin', '--password-stdin'],
      { input: 'wrong' },
    )
    expect(code).toBe(4)
    expect(stderr).toBe(`holdfast: ${service.address} does not know a user admin with that password.\n`)
    expect(() => savedSession()).toThrow('ENOENT')
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
    const results = await Promise.all(Array.from({ length: 6 }, () => person.run(['job', 'list'])))
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 0, 0, 0])
    expect(service.usedTwice).toEqual([])
    expect(service.seen.filter(({ path }) => path === '/token')).toHaveLength(1)
  })

  it('cannot be renewed when the session is over: exit code 4', async () => {
    await logIn()
    writeFileSync(sessionPath(), JSON.stringify({ ...savedSession(), refreshtoken: 'refresh-of-old' }))
    service.expireTokens()
    const { code, stderr } = await person.run(['job', 'list'])
    expect(code).toBe(4)
    expect(stderr).toContain(`The session of admin at ${service.address} is over.`)
  })

  it('is kept when the server cannot answer while it is renewed', async () => {
    await logIn()
    service.expireTokens()
    service.override = ({ path }) =>
      path === '/token' ? { status: 503, body: { error: 'The service is stopping', code: 'stopping' } } : null
    expect((await person.run(['job', 'list'])).code).toBe(3)
    service.override = null
    expect((await person.run(['job', 'list'])).code).toBe(0)
  })

  it('from HOLDFAST_TOKEN is used as it is', async () => {
    const environment = { HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address }
    expect((await person.run(['job', 'list'], { environment })).code).toBe(0)
    const refused = await person.run(['job', 'list'], { environment: { ...environment, HOLDFAST_TOKEN: 'old' } })
    expect(refused.code).toBe(4)
    expect(refused.stderr).toContain('HOLDFAST_TOKEN')
    expect(service.seen.every(({ path }) => path === '/job')).toBe(true)
  })

  it('is sent to the server that gave it and to no other', async () => {
    await logIn()
    const other = await startFakeService()
    onTestFinished(() => other.stop())
    expect((await person.run(['job', 'list', '--server', other.address])).code).toBe(4)
    expect(other.seen).toEqual([])
  })
})

describe('logout', () => {
  it('ends the session at the server and forgets it', async () => {
    await logIn()
    expect((await person.run(['logout'])).code).toBe(0)
    expect(service.seen.at(-1)).toMatchObject({ path: '/auth/logout', token: 'access-1' })
    expect(() => savedSession()).toThrow('ENOENT')
    expect((await person.run(['logout'])).code).toBe(4)
  })

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
