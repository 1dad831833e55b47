import { createHash } from 'node:crypto'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { type AddressInfo, type Socket, createServer } from 'node:net'
import { join } from 'node:path'
import { createServer as createTlsServer } from 'node:tls'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { createAuditChain } from '../../control-plane/src/audit/chain.js'
import { createAuditFile } from '../../control-plane/src/audit/audit-file.js'
import { type AuditTarget, createAuditExport } from '../../control-plane/src/audit/export.js'
import { createSyslog } from '../../control-plane/src/audit/syslog.js'
import { createAuditRetention } from '../../control-plane/src/audit/retention.js'
import { completeAudit, insertAudit } from '../../control-plane/src/store/audit/audit.js'
import { exportPosition } from '../../control-plane/src/store/audit/audit-export.js'
import { agesBy } from '../support/ages.js'
import { TEST_CERTIFICATE } from '../support/test-certificate.js'
import { waitFor } from '../support/wait.js'
import { heldTimers } from '../api/held-timers.js'
import { type TestServer, startServer } from '../api/server.js'

/** Whoever can write the database, or cuts the way to a receiver, cannot change the audit trail unseen. */
let server: TestServer
beforeEach(async () => {
  server = await startServer()
})
afterEach(() => server.close())

const ENTRY = { user: null, address: '', action: 'x.y', object: { kind: 'x', id: null, name: null }, requestId: '' }
const quiet = { warn: () => undefined, info: () => undefined }
const add = (count: number, time = 1, status: number | null = 200) =>
  server.store.write('test', async (queries) => {
    let id = 0
    for (let at = 0; at < count; at += 1) id = await insertAudit(queries, { ...ENTRY, time, status })
    return id
  })
interface Found {
  readonly ok: boolean
  readonly problem: string | null
  readonly first: number
  readonly head: { readonly position: number; readonly hash: string }
  readonly unchained: number
}
const verify = async (query = '') =>
  (await server.call('GET', `/audit/verify${query}`, { token: server.admin })).body as unknown as Found
const inDatabase = (change: (queries: TestServer['store']['read']) => Promise<unknown>) =>
  server.store.write('test.attack', change)
const anotherChain = () =>
  createAuditChain({ store: server.store, clock: server.clock, timers: heldTimers().timers, log: quiet })

describe('a trail that nobody touched is whole', () => {
  test('also with records of requests that had no answer yet, and of those that never will', async () => {
    await add(5)
    const open = await add(1, server.clock.now(), null)
    const before = await verify()
    expect(before).toMatchObject({ ok: true, problem: null, first: 1, unchained: 1 })
    server.clock.move(16 * 60_000)
    expect(await verify()).toMatchObject({ ok: true, head: { position: before.head.position + 1 }, unchained: 0 })
    // The answer comes after all: what is in the chain stays, and it gets a record of its own.
    await inDatabase((queries) => completeAudit(queries, open, { ...ENTRY, time: 2, status: 201 }))
    expect(await verify()).toMatchObject({ ok: true, head: { position: before.head.position + 2 } })
  })

  test('however many nodes chain at once', async () => {
    await add(450)
    const chains = [anotherChain(), anotherChain(), anotherChain()]
    await Promise.all(chains.map((chain) => chain.sweep().catch(() => undefined)))
    await add(20)
    await Promise.all(chains.map((chain) => chain.sweep().catch(() => undefined)))
    expect(await verify()).toMatchObject({ ok: true, unchained: 0 })
    await Promise.all(chains.map((chain) => chain.close()))
  })

  test('after old records were removed by retention', async () => {
    await add(30, server.clock.now())
    server.clock.move(10 * 86_400_000)
    await add(3, server.clock.now())
    const chain = anotherChain()
    const { store, clock } = server
    const deps = { store, clock, ages: agesBy(clock), timers: heldTimers().timers, log: quiet, chain }
    const retention = createAuditRetention({ ...deps, keepMs: 86_400_000 })
    await retention.sweep()
    await retention.close()
    await chain.close()
    server.clock.move(-10 * 86_400_000)
    const found = await verify()
    expect([found.ok, found.problem]).toEqual([true, null])
    expect(found.first).toBeGreaterThan(1)
  })
})

describe('who writes the database is found out', () => {
  const attacks: [string, (queries: TestServer['store']['read'], head: number) => Promise<unknown>, RegExp][] = [
    [
      'who changes a record',
      (queries, head) =>
        queries
          .updateTable('audit')
          .set({ user_name: 'eve' })
          .where('position', '=', head - 3)
          .execute(),
      /was changed/,
    ],
    [
      'who removes one from the middle',
      (queries, head) =>
        queries
          .deleteFrom('audit')
          .where('position', '=', head - 3)
          .execute(),
      /is missing/,
    ],
    [
      'who removes the newest ones',
      (queries, head) =>
        queries
          .deleteFrom('audit')
          .where('position', '>', head - 3)
          .execute(),
      /are missing/,
    ],
    [
      'who removes the oldest ones',
      (queries) => queries.deleteFrom('audit').where('position', '<', 4).execute(),
      /is missing/,
    ],
  ]
  test.each(attacks)('%s', async (_, attack, problem) => {
    await add(12)
    const { head } = await verify()
    await inDatabase((queries) => attack(queries, head.position))
    expect(await verify()).toMatchObject({ ok: false, problem: expect.stringMatching(problem) })
  })

  test('who removes the newest ones and makes the head fit, by the head that was kept elsewhere', async () => {
    await add(12)
    const { head } = await verify()
    await inDatabase(async (queries) => {
      await queries
        .deleteFrom('audit')
        .where('position', '>', head.position - 2)
        .execute()
      const last = await queries
        .selectFrom('audit')
        .select('hash')
        .where('position', '=', head.position - 2)
        .executeTakeFirstOrThrow()
      const end = { head_position: head.position - 2, head_hash: last.hash ?? '' }
      await queries.updateTable('audit_chain').set(end).execute()
    })
    expect(await verify()).toMatchObject({ ok: true })
    expect(await verify(`?position=${head.position}&hash=${head.hash}`)).toMatchObject({ ok: false })
    // What comes afterwards takes the same positions, with other hashes.
    await add(12)
    expect(await verify(`?position=${head.position}&hash=${head.hash}`)).toMatchObject({
      ok: false,
      problem: expect.stringContaining('not the hash that was noted'),
    })
  })

  test('only admins verify', async () => {
    const { token } = await server.addUser('eve')
    expect((await server.call('GET', '/audit/verify', { token })).status).toBe(403)
  })
})

const SENDER = { hostname: 'host\n<14>', processId: 7, now: () => '2026-01-01T00:00:00.000Z' }

describe('what is sent elsewhere', () => {
  /** Verifies lines without the database; control characters stand in none. */
  function verifyLines(lines: readonly string[]): number[] {
    let previous = ''
    return lines.map((line) => {
      const { position, previous: before, hash } = JSON.parse(line) as Record<string, string>
      expect(
        createHash('sha256')
          .update(line.replace(/,"hash":"[0-9a-f]{64}"\}$/, '}'))
          .digest('hex'),
      ).toBe(hash)
      if (previous !== '') expect(before).toBe(previous)
      previous = String(hash)
      expect(line).not.toMatch(/[\u0000-\u001f\u007f-\u009f\u202e]/)
      return Number(position)
    })
  }
  const exportTo = (target: AuditTarget) => {
    const { store, clock } = server
    return createAuditExport({
      store,
      clock,
      timers: heldTimers().timers,
      log: quiet,
      holder: 'one',
      targets: [target],
    })
  }
  const chainAll = async (count: number) => {
    await server.store.write('test', async (queries) => {
      const name = 'a\u001b]52;c;eA==\u0007\u009b2J\u202eb\nç'
      await insertAudit(queries, { ...ENTRY, object: { kind: 'x', id: null, name }, time: 1, status: 200 })
    })
    await add(count)
    return (await verify()).head.position
  }
  const upTo = (head: number) => Array.from({ length: head }, (_, index) => index + 1)

  test('to a file has every record once, can be verified by itself, and goes on after the file was moved away', async () => {
    const path = join(server.folder, 'audit.jsonl')
    const head = await chainAll(300)
    const sending = exportTo(createAuditFile(path))
    await sending.sweep()
    const linesOf = () => readFileSync(path, 'utf8').trimEnd().split('\n')
    expect(verifyLines(linesOf())).toEqual(upTo(head))
    writeFileSync(path, '{"torn')
    const next = await chainAll(2)
    await sending.sweep()
    await sending.close()
    const [torn, ...lines] = linesOf()
    expect([torn, verifyLines(lines)]).toEqual(['{"torn', upTo(next).slice(head)])
    expect(existsSync(path)).toBe(true)
  })

  test('over UDP comes in one datagram for each record', async () => {
    const received: string[] = []
    const receiver = createSocket('udp4').on('message', (bytes) => received.push(bytes.toString()))
    receiver.bind(0, '127.0.0.1')
    await once(receiver, 'listening')
    const head = await chainAll(20)
    const sending = exportTo(
      createSyslog({ protocol: 'udp', host: '127.0.0.1', port: receiver.address().port }, SENDER),
    )
    await sending.sweep()
    await waitFor('the datagrams', () => received.length >= head)
    await sending.close()
    receiver.close()
    expect(received.every((message) => message.startsWith('<110>1 2026-01-01T00:00:00.000Z host'))).toBe(true)
    expect(verifyLines(received.map((message) => message.slice(message.indexOf('{'))))).toEqual(upTo(head))
  })

  test('over TLS goes to nobody whose certificate is not trusted, and waits', async () => {
    const received: Buffer[] = []
    const stranger = createTlsServer(TEST_CERTIFICATE, (socket) => {
      socket.on('error', () => undefined).on('data', (bytes: Buffer) => received.push(bytes))
    })
    stranger.on('tlsClientError', () => undefined).listen(0, '127.0.0.1')
    await once(stranger, 'listening')
    const { port } = stranger.address() as AddressInfo
    await chainAll(20)
    const sending = exportTo(createSyslog({ protocol: 'tls', host: 'localhost', port }, SENDER))
    await sending.sweep()
    expect(await exportPosition(server.store.read, 'syslog')).toBe(0)
    await sending.close()
    stranger.close()
    expect(received).toEqual([])
  })

  test('over TCP loses nothing while the receiver is away or breaks off', async () => {
    const received: Buffer[] = []
    let isBreaking = true
    const receiver = createServer((socket: Socket) => {
      socket.on('error', () => undefined)
      if (isBreaking) return void socket.resetAndDestroy()
      socket.on('data', (bytes: Buffer) => received.push(bytes))
      socket.on('end', () => socket.end())
    })
    receiver.listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const { port } = receiver.address() as AddressInfo
    const syslog = createSyslog({ protocol: 'tcp', host: '127.0.0.1', port }, SENDER)
    const head = await chainAll(250)
    const sending = exportTo(syslog)
    await sending.sweep()
    expect(received).toEqual([])
    isBreaking = false
    // It tries more and more seldom.
    for (let sweeps = 0; sweeps < 8 && received.length === 0; sweeps += 1) await sending.sweep()
    await sending.close()
    receiver.close()
    await once(receiver, 'close')
    const lines: string[] = []
    for (let rest = Buffer.concat(received); rest.length > 0;) {
      const space = rest.indexOf(' ')
      const end = space + 1 + Number(rest.subarray(0, space).toString())
      const message = rest.subarray(space + 1, end).toString()
      expect(message).toMatch(/^<110>1 2026-01-01T00:00:00\.000Z host<14> holdfast 7 audit - \{/)
      lines.push(message.slice(message.indexOf('{')))
      rest = rest.subarray(end)
    }
    expect(verifyLines(lines)).toEqual(upTo(head))
  })
})
