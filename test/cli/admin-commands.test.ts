import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Server, type TLSSocket, createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ADMIN_PASSWORD, type Product, startProduct } from '../support/product.js'
import { signIn } from '../support/rest.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'
import { waitFor } from '../support/wait.js'
import { newQuickPerson } from './run-cli.js'

/** What admins do at the command line, against a real control plane whose audit trail goes to a receiver of syslog over TLS. */
let product: Product
let folder: string
let receiver: Server
const received: Buffer[] = []

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-syslog-'))
  const authority = join(folder, 'authority.pem')
  writeFileSync(authority, TEST_CERTIFICATE.cert)
  receiver = createServer(TEST_CERTIFICATE, (socket: TLSSocket) => {
    socket.on('error', () => undefined)
    socket.on('data', (bytes: Buffer) => received.push(bytes))
    socket.on('end', () => socket.end())
  })
  receiver.listen(0, '127.0.0.1')
  await once(receiver, 'listening')
  product = await startProduct({
    withAgent: false,
    database: 'sqlite',
    forms: { 'hello.yml': 'name: Hello\nplaybook: hello.yml\nroles: [public]\nfields: []\n' },
    controlPlane: {
      AUDIT_READS: '1',
      AUDIT_SYSLOG: `tls://localhost:${(receiver.address() as AddressInfo).port}`,
      NODE_EXTRA_CA_CERTS: authority,
    },
  })
})
afterAll(async () => {
  await product?.close()
  receiver?.close()
  rmSync(folder, { recursive: true, force: true })
})

const run = (...args: string[]) =>
  newQuickPerson({ HOLDFAST_SERVER: product.address, HOLDFAST_TOKEN: product.admin.token }).run(args)
const asJson = async (...args: string[]) => JSON.parse((await run(...args, '--json')).stdout) as Record<string, unknown>

describe('holdfast audit', () => {
  it('list shows who did what, and who read what when AUDIT_READS is set', async () => {
    expect((await product.admin.request('GET', '/job/4711/output')).status).toBe(404)
    const { code, stdout } = await run('audit', 'list', '--action', 'job.output.read')
    expect(code).toBe(0)
    expect(stdout).toMatch(/admin +127\.0\.0\.1 +job\.output\.read +job 4711 +404/)
    const { records } = (await asJson('audit', 'list', '--records', '1')) as { records: unknown[] }
    expect(records).toHaveLength(1)
  })

  it('verify says that nothing was changed and prints a head; exit code 1 when an older head is not found', async () => {
    const { code, stdout } = await run('audit', 'verify')
    expect(code).toBe(0)
    const [, position, hash] =
      /^The audit trail is whole .*\n(?:Not chained .*\n)?Head: (\d+):([0-9a-f]{64})\n$/.exec(stdout) ?? []
    expect((await run('audit', 'verify', '--head', `${position}:${hash}`)).code).toBe(0)
    const other = await run('audit', 'verify', '--head', `${position}:${'0'.repeat(64)}`)
    expect([other.code, other.stdout]).toEqual([1, expect.stringContaining('NOT WHOLE')])
    expect((await run('audit', 'verify', '--head', 'x')).code).toBe(2)
  })

  it('sends every record to the receiver over TLS, in order', async () => {
    const positions = () =>
      [
        ...Buffer.concat(received)
          .toString()
          .matchAll(/<110>1 [^{]* audit - \{"position":(\d+),/g),
      ].map(([, at]) => Number(at))
    const { head } = (await asJson('audit', 'verify')) as { head: { position: number } }
    await waitFor('the record to be there', () => positions().length >= head.position)
    expect(positions().slice(0, head.position)).toEqual(Array.from({ length: head.position }, (_, at) => at + 1))
  })
})

describe('holdfast user', () => {
  it('list and accept-name work for an account whose name a deleted one had', async () => {
    const add = () => product.admin.post<{ id: number }>('/user', { username: 'ann', password: ADMIN_PASSWORD })
    await product.admin.request('DELETE', `/user/${(await add()).id}`)
    const { id } = await add()
    expect((await run('user', 'list')).stdout).toMatch(new RegExp(`${id} +ann +- +enabled`))
    expect((await run('user', 'accept-name', String(id))).stdout).toBe(`Roles that name ann mean account ${id}.\n`)
    expect(await product.admin.get(`/user/${id}`)).toMatchObject({ name_had_by: null })
    expect((await run('user', 'accept-name', '987654')).code).toBe(5)
  })
})

describe('holdfast session', () => {
  it('list and end work for own sessions, and with --all for those of everybody', async () => {
    await product.admin.post('/user', { username: 'bob', password: ADMIN_PASSWORD })
    const bob = await signIn(product.address, 'bob', ADMIN_PASSWORD)
    expect((await run('session', 'list')).stdout).toContain('this one')
    const all = await run('session', 'list', '--all')
    const id = /^bob +(\S+)/m.exec(all.stdout)?.[1] ?? ''
    // A command line would take an id that begins with a dash for a flag.
    expect(id).toMatch(/^[0-9a-f]{24}$/)
    expect((await run('session', 'end', id)).code).toBe(0)
    expect((await bob.request('GET', '/profile')).status).toBe(401)
    expect((await run('session', 'end', id)).code).toBe(5)
  })
})

describe('holdfast service', () => {
  it('rotate-key replaces the key once, although the command is repeated with the old fingerprint', async () => {
    const before = (await run('service', 'fingerprint')).stdout
    expect(before).toMatch(/^SHA256:\S+\n$/)
    const { code, stdout: after } = await run('service', 'rotate-key', '--fingerprint', before.trim())
    expect(code).toBe(0)
    expect(after).not.toBe(before)
    expect((await run('service', 'rotate-key', '--fingerprint', before.trim())).code).toBe(5)
    expect((await run('service', 'fingerprint')).stdout).toBe(after)
  })
})

describe('holdfast secret', () => {
  it('rotate encrypts what is stored with the new secret, and issued tokens stay valid', async () => {
    await product.admin.post('/credential', {
      name: 'login',
      type: 'userpass',
      user: 'x',
      password: 'a stored password',
    })
    expect(await asJson('secret', 'rotate', 'encryption')).toMatchObject({ reencrypted: 1, unreadable: 0 })
    expect((await run('secret', 'rotate', 'access-token')).code).toBe(0)
    expect((await product.admin.request('GET', '/profile')).status).toBe(200)
    expect((await run('secret', 'rotate', 'another')).code).toBe(2)
  })
})

describe('holdfast notification', () => {
  it('adds, changes, tests and removes targets, and lists what was sent and whether it arrived', async () => {
    const made = await run('notification', 'add-target', 'chat', 'https://hooks.invalid/chat', '--event', 'job.ended')
    const id = /^The target (\d+) \(chat\) was made\.\nIts secret, which is shown only now: \S+\n$/.exec(
      made.stdout,
    )?.[1]
    expect(id, made.stdout + made.stderr).toBeDefined()
    expect((await run('notification', 'targets')).stdout).toMatch(
      /chat +webhook +https:\/\/hooks\.invalid\/chat +job\.ended +yes/,
    )
    const changed = await run(
      'notification',
      'change-target',
      String(id),
      '--event',
      'runner.lost',
      '--event',
      'runner.back',
    )
    expect(changed.stdout).toBe(`The target ${id} (chat) was changed.\n`)
    const renewed = await run('notification', 'change-target', String(id), '--new-secret')
    expect(renewed.stdout).toMatch(
      /^The target \d+ \(chat\) was changed\.\nIts secret, which is shown only now: [\w-]{43}\n$/,
    )
    const own = join(folder, 'secret-of-chat')
    writeFileSync(own, 'a secret of the receiver\n')
    const given = ['notification', 'change-target', String(id), '--password-file', own]
    expect((await run(...given)).stdout).toBe(`The target ${id} (chat) was changed.\n`)
    expect((await run(...given, '--new-secret')).code).toBe(2)
    const local = await run('notification', 'add-target', '--event', 'job.ended', 'own', 'http://127.0.0.1:1/hook')
    expect([local.code, local.stderr]).toEqual([5, expect.stringContaining('WEBHOOK_ALLOWED_HOSTS')])
    // A name that never leads anywhere (RFC 2606).
    const tested = await run('notification', 'test', String(id))
    expect(tested.stdout).toMatch(/^It did not arrive at chat: /)
    expect((await run('notification', 'list', '--state', 'failed')).stdout).toMatch(/test .*chat +failed +1/)
    const { records } = (await asJson('notification', 'list')) as { records: { id: number }[] }
    expect((await run('notification', 'retry', String(records[0]?.id))).stdout).toContain('It did not arrive at chat')
    expect((await run('notification', 'test-mail', 'ann@example.com')).stdout).toContain('SMTP_HOST is empty')
    expect((await run('notification', 'retry', 'one')).code).toBe(2)
    expect((await run('notification', 'remove-target', String(id))).code).toBe(0)
    expect((await run('notification', 'targets')).stdout).toBe('There is no target.\n')
  })
})

describe('holdfast schedule', () => {
  it('makes, shows, changes, pauses and deletes schedules', async () => {
    const made = await run('schedule', 'create', 'Hello', '--cron', '30 6 * * 1-5', '--time-zone', 'Europe/Berlin')
    expect(made).toMatchObject({ code: 0 })
    const id = /^The schedule (\d+) \(Hello\) was made\. Its next run: /.exec(made.stdout)?.[1] ?? made.stdout
    expect((await run('schedule', 'list')).stdout).toMatch(
      new RegExp(`${id} +Hello +Hello +30 6 \\* \\* 1-5 Europe/Berlin`),
    )
    expect((await run('schedule', 'next', id, '--count', '2')).stdout.trim().split('\n')).toHaveLength(2)
    expect((await run('schedule', 'change', id, '--at', '2100-01-01T06:00:00Z')).stdout).toContain('Its next run: 2100')
    expect((await run('schedule', 'pause', id)).stdout).toBe(`The schedule ${id} (Hello) starts no jobs now.\n`)
    expect(await asJson('schedule', 'show', id)).toMatchObject({
      cron: null,
      paused: true,
      next_run: null,
      user: 'admin',
    })
    expect((await run('schedule', 'resume', id)).code).toBe(0)
    expect((await run('schedule', 'delete', id)).stdout).toBe('The schedule was deleted\n')
    expect((await run('schedule', 'show', id)).code).toBe(5)
    expect((await run('schedule', 'create', 'Hello')).code).toBe(2)
  })
})
