import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Server, type TLSSocket, createServer } from 'node:tls'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Product, startProduct } from '../support/product.js'
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
