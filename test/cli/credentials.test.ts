import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { type FakeService, startFakeService } from './fake-service.js'
import { type Person, newQuickPerson } from './run-cli.js'

let service: FakeService
let person: Person

const SECRET = 'a secret with  spaces'
const stored = {
  id: 4,
  name: 'database login',
  type: 'userpass',
  user: 'app',
  password: '********',
  host: 'db.example.com',
  port: 5432,
  description: 'for the demo',
  source: 'database',
  overridden: false,
}
const ofFile = { ...stored, id: null, name: 'of the file', host: null, port: null, source: 'file' }
const error = { file: '/etc/credentials.yaml', line: 7, reason: 'name is missing' }

beforeEach(async () => {
  service = await startFakeService()
  onTestFinished(() => service.stop())
  service.override = ({ method, path, token }) => {
    if (token !== 'script-token' || !path.startsWith('/credential')) return null
    if (method === 'GET') return { status: 200, body: { count: 2, records: [stored, ofFile], errors: [error] } }
    if (method === 'DELETE') return { status: 200, body: { message: 'The credential was deleted' } }
    return { status: 200, body: stored }
  }
  person = newQuickPerson({ HOLDFAST_TOKEN: 'script-token', HOLDFAST_SERVER: service.address })
})

const sent = () => service.seen.at(-1)

describe('credentials', () => {
  it('are listed with their source and without secrets, and entries that were left out are named', async () => {
    const { stdout, stderr } = await person.run(['credential', 'list'])
    expect(stdout).toMatch(
      /^ 4 {2}database login {2}userpass {2}app +db\.example\.com:5432 {2}database +for the demo$/m,
    )
    expect(stdout).toMatch(/^ - {2}of the file +userpass {2}app +- +file/m)
    expect(stdout).not.toContain('****')
    expect(stderr).toBe('left out: /etc/credentials.yaml, line 7: name is missing\n')
    expect(JSON.parse((await person.run(['credential', 'list', '--json'])).stdout)).toMatchObject({ count: 2 })
  })

  it('are created with a secret from standard input', async () => {
    const args = ['credential', 'create', 'database login', '--user', 'app', '--host', 'h', '--port', '5432']
    const { code, stdout } = await person.run([...args, '--password-stdin'], { input: `${SECRET}\n` })
    expect({ code, stdout }).toEqual({ code: 0, stdout: 'Added the credential database login.\n' })
    expect(sent()).toMatchObject({ method: 'POST', path: '/credential' })
    expect(sent()?.body).toEqual({ name: 'database login', user: 'app', host: 'h', port: 5432, password: SECRET })
  })

  it('are created with a secret from a file, such as a private key', async () => {
    const path = join(person.home, 'key')
    writeFileSync(path, 'line 1\nline 2\n')
    const args = ['credential', 'create', 'key', '--type', 'ssh', '--password-file', path]
    expect((await person.run(args)).code).toBe(0)
    expect(sent()?.body).toEqual({ name: 'key', type: 'ssh', password: 'line 1\nline 2' })
    const missing = await person.run([...args.slice(0, -1), join(person.home, 'none')])
    expect(missing.code).toBe(2)
    expect(missing.stderr).toContain('cannot be read')
  })

  it('are created with a secret that is asked for twice and not shown', async () => {
    const running = person.start(['credential', 'create', 'x'], { terminal: true })
    await running.shows('Secret of x: ')
    running.process.stdin.write(`${SECRET}\r`)
    await running.shows('Once more: ')
    running.process.stdin.write(`${SECRET}\r`)
    const { code, stdout } = await running.ended
    expect(code).toBe(0)
    expect(stdout).not.toContain(SECRET)
    expect(sent()?.body).toEqual({ name: 'x', password: SECRET })
  })

  it('take no secret as an argument, and no empty or missing one: exit code 2, and nothing is sent', async () => {
    const create = ['credential', 'create', 'x']
    const empty = join(person.home, 'empty')
    writeFileSync(empty, '\n')
    const wrong = [
      await person.run([...create, '--password', SECRET]),
      await person.run([...create, '--password-stdin'], { input: '\n' }),
      await person.run(create, { input: '' }),
      await person.run([...create, '--password-stdin', '--password-file', '/x'], { input: SECRET }),
      await person.run([...create, '--password-file', empty]),
      await person.run([...create, '--password-file', '/nowhere']),
      await person.run([...create, '--port', 'http', '--password-stdin'], { input: SECRET }),
      await person.run(['credential', 'update', '4']),
    ]
    expect(wrong.map(({ code }) => code)).toEqual([2, 2, 2, 2, 2, 2, 2, 2])
    expect(wrong.slice(4, 6).map(({ stderr }) => stderr)).toEqual([
      'holdfast: The secret is empty; nothing was changed.\n',
      expect.stringMatching(/--password-file \/nowhere: cannot be read: ENOENT/),
    ])
    expect(service.seen.filter(({ method }) => method !== 'GET')).toEqual([])
    for (const { stderr } of wrong) expect(stderr).not.toContain(SECRET)
  })

  it('are changed by id or name, and no secret is sent unless a new one is given', async () => {
    for (const which of ['4', 'database login']) {
      const { code, stdout } = await person.run(['credential', 'update', which, '--user', 'other'])
      expect({ code, stdout }).toEqual({ code: 0, stdout: 'Changed the credential database login.\n' })
      expect(sent()).toMatchObject({ method: 'PUT', path: '/credential/4', body: { user: 'other' } })
      expect(sent()?.body).not.toHaveProperty('password')
    }
    await person.run(['credential', 'update', '4', '--name', 'new', '--password-stdin'], { input: SECRET })
    expect(sent()?.body).toEqual({ name: 'new', password: SECRET })
  })

  it('are deleted by id or name', async () => {
    const { stdout } = await person.run(['credential', 'delete', 'database login'])
    expect(stdout).toBe('The credential was deleted (database login)\n')
    expect(sent()).toMatchObject({ method: 'DELETE', path: '/credential/4' })
  })

  it('of credentials.yaml, and unknown ones, are not changed: exit code 5', async () => {
    const ofTheFile = await person.run(['credential', 'delete', 'of the file'])
    expect(ofTheFile.code).toBe(5)
    expect(ofTheFile.stderr).toContain('is in credentials.yaml')
    expect((await person.run(['credential', 'delete', 'none'])).code).toBe(5)
    expect(service.seen.every(({ method }) => method === 'GET')).toBe(true)
  })

  it('are named for a launch', async () => {
    await person.run(['job', 'launch', 'Hello', '--credential', 'db=database login', '--credential', 'k=x=y'])
    expect(sent()?.body).toMatchObject({ formName: 'Hello', credentials: { db: 'database login', k: 'x=y' } })
    expect((await person.run(['job', 'launch', 'Hello', '--credential', 'db'])).code).toBe(2)
  })
})
