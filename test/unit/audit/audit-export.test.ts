import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { createSocket } from 'node:dgram'
import { once } from 'node:events'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { createAuditFile } from '../../../control-plane/src/audit/audit-file.js'
import { createAuditChain } from '../../../control-plane/src/audit/chain.js'
import { createAuditExport } from '../../../control-plane/src/audit/export.js'
import { createAuditRetention } from '../../../control-plane/src/audit/retention.js'
import { createSyslog } from '../../../control-plane/src/audit/syslog.js'
import { auditTargetsOf } from '../../../control-plane/src/audit/targets.js'
import { verifyChain } from '../../../control-plane/src/audit/verify-chain.js'
import { type AuditEntry, insertAudit } from '../../../control-plane/src/store/audit/audit.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { syncedFiles } from '../../support/synced-files.js'
import { openTestStore } from '../../support/test-database.js'

const START = 1_700_000_000_000
const MINUTE = 60_000
/** No sweep runs by itself. */
const timers = { after: () => () => undefined, every: () => () => undefined }
const clock = { now: () => now }

let folder: string
let store: Store
let now: number
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-audit-export-'))
  store = await openTestStore(folder)
  now = START
})
afterEach(async () => {
  await store.close()
  rmSync(folder, { recursive: true })
})

const add = (count: number, status: number | null = 200, time = START) =>
  store.write('test', async (queries) => {
    const entry: AuditEntry = {
      time,
      user: null,
      address: '127.0.0.1',
      action: 'job.launch',
      status,
      requestId: 'r',
      object: { kind: 'job', id: '1', name: null },
    }
    for (let number = 0; number < count; number += 1) await insertAudit(queries, entry)
  })

function chainOf(of: Store = store) {
  const chain = createAuditChain({ store: of, clock, timers, log: { warn: () => undefined } })
  onTestFinished(() => chain.close())
  return chain
}
const chained = async () =>
  (await store.read.selectFrom('audit').select('position').where('position', 'is not', null).execute()).length

describe('the chain', () => {
  test.each([199, 200, 201, 400])('has all of %i records after one sweep', async (count) => {
    await add(count)
    const chain = chainOf()
    await chain.sweep()
    expect(await chained()).toBe(count)
    expect(await chain.verify()).toMatchObject({
      isWhole: true,
      problem: null,
      first: 1,
      head: { position: count },
      unchained: 0,
    })
  })

  test('waits 15 minutes for the status of a record, and then takes it as it is', async () => {
    await add(1, null)
    const chain = chainOf()
    now = START + 15 * MINUTE
    await chain.sweep()
    expect([await chained(), (await chain.verify()).unchained]).toEqual([0, 1])
    now += 1
    await chain.sweep()
    expect([await chained(), (await chain.verify()).unchained]).toEqual([1, 0])
  })

  test('is verified against a head that was noted, if retention has left it', async () => {
    await add(3)
    const chain = chainOf()
    const { head } = await chain.verify()
    expect(await chain.verify(head)).toMatchObject({ isWhole: true })
    expect(await chain.verify({ ...head, hash: 'other' })).toMatchObject({
      isWhole: false,
      problem: `at position 3 the chain has ${head.hash}, and not the hash that was noted`,
    })
    expect(await chain.verify({ position: 4, hash: 'x' })).toMatchObject({
      isWhole: false,
      problem: 'at position 4 the chain has no record, and not the hash that was noted',
    })
    expect(await chain.verify({ position: 0, hash: 'x' })).toMatchObject({ isWhole: true })
    expect(await chain.verify({ position: 1, hash: 'x' })).toMatchObject({ isWhole: false })
  })

  test('is verified once for those who ask at the same time', async () => {
    await add(1)
    const chain = chainOf()
    const both = [chain.verify(), chain.verify()]
    const [one, other] = await Promise.all(both)
    expect(one).toBe(other)
    expect(await chain.verify()).not.toBe(one)
  })

  test('whose end does not fit is not whole', async () => {
    await add(2)
    await chainOf().sweep()
    await store.write('test', (queries) => queries.updateTable('audit_chain').set({ head_hash: 'x' }).execute())
    expect(await verifyChain(store.read)).toMatchObject({ problem: 'the end of the chain is not what it was' })
  })
})

describe('retention', () => {
  const retention = (keepMs: number | null) => {
    const log = { warn: () => undefined }
    const made = createAuditRetention({ store, clock, timers, log, chain: chainOf(), keepMs })
    onTestFinished(() => made.close())
    return made
  }

  test('removes what is older, and the rest can be verified', async () => {
    await add(1001, 200, START - 1001)
    await add(2, 200, START - 1000)
    await retention(null).sweep()
    expect(await chained()).toBe(0)
    await retention(1000).sweep()
    expect(await chained()).toBe(2)
    expect(await chainOf().verify()).toMatchObject({ isWhole: true, first: 1002 })
  })
})

describe('the export', () => {
  /** A place that takes lines as the test says, and what it has. */
  function place(name = 'file') {
    const lines: string[] = []
    const batches: number[] = []
    let isAway = false
    let asked = 0
    const target = {
      name,
      send(given: readonly string[]) {
        asked += 1
        if (isAway) return Promise.reject(new Error('it is away'))
        lines.push(...given)
        batches.push(given.length)
        return Promise.resolve()
      },
    }
    return { target, lines, batches, asked: () => asked, away: (is: boolean) => void (isAway = is) }
  }

  function exporting(targets: Parameters<typeof createAuditExport>[0]['targets'], holder = 'one') {
    const said: string[] = []
    const note = (_: object, text: string) => void said.push(text)
    const log = { warn: note, info: note }
    const made = createAuditExport({ store, clock, timers, log, holder, targets })
    onTestFinished(() => made.close())
    return { sweep: () => made.sweep(), said }
  }

  async function addChained(count: number): Promise<void> {
    await add(count)
    await chainOf().sweep()
  }
  const positionsIn = (lines: readonly string[]) =>
    lines.map((line) => (JSON.parse(line) as { position: number }).position)

  test('sends each record once and in order, 200 at a time', async () => {
    await addChained(401)
    const to = place()
    const { sweep, said } = exporting([to.target])
    await sweep()
    await sweep()
    expect(to.batches).toEqual([200, 200, 1])
    expect(positionsIn(to.lines)).toEqual(Array.from({ length: 401 }, (_, index) => index + 1))
    const records = to.lines.map((line) => JSON.parse(line) as { hash: string; previous: string })
    for (const [index, { previous }] of records.entries())
      if (index > 0) expect(previous).toBe(records[index - 1]?.hash)
    expect(said).toEqual([])
  })

  test('tries a place that fails less and less often, says so once, and says when it is back', async () => {
    await addChained(1)
    const [bad, good] = [place('file'), place('syslog')]
    const { sweep, said } = exporting([bad.target, good.target])
    bad.away(true)
    const tries: number[] = []
    for (let number = 0; number < 60; number += 1) {
      const before = bad.asked()
      await sweep()
      if (bad.asked() > before) tries.push(number)
    }
    // The first sweep begins by itself, so it comes before the first of these. Then there are pauses of 2, 4, 8, 16 and 16.
    expect(tries).toEqual([0, 2, 7, 16, 33, 50])
    expect(good.lines).toHaveLength(1)
    expect(said).toEqual(['the audit trail could not be sent; it is kept, and sent later'])
    bad.away(false)
    for (let number = 0; number < 17; number += 1) await sweep()
    expect(bad.lines).toHaveLength(1)
    expect(said.slice(1)).toEqual(['the audit trail can be sent again'])
  })

  test('leaves a place for 30 seconds to the node that sends to it', async () => {
    await addChained(1)
    const [one, other] = [place(), place()]
    one.away(true)
    await exporting([one.target], 'one').sweep()
    const second = exporting([other.target], 'other')
    now = START + 30_000
    await second.sweep()
    expect(other.lines).toEqual([])
    now += 1
    await second.sweep()
    expect(other.lines).toHaveLength(1)
  })

  test('says which records retention has removed before they were sent', async () => {
    await add(2, 200, START - 2000)
    await add(1)
    const retention = createAuditRetention({
      store,
      clock,
      timers,
      log: { warn: () => undefined },
      chain: chainOf(),
      keepMs: 1000,
    })
    onTestFinished(() => retention.close())
    await retention.sweep()
    const to = place()
    const { sweep, said } = exporting([to.target])
    await sweep()
    expect(positionsIn(to.lines)).toEqual([3])
    expect(said).toEqual(['records of the audit trail were removed by AUDIT_RETENTION_DAYS before they could be sent'])
    await addChained(1)
    await sweep()
    expect([positionsIn(to.lines), said.length]).toEqual([[3, 4], 1])
  })
})

describe('a file', () => {
  test('has one line for each record, is synchronised, and only its owner reads it', async () => {
    const path = join(folder, 'audit.jsonl')
    const synced = await syncedFiles()
    await createAuditFile(path).send(['{"a":1}', '{"a":2}'])
    await createAuditFile(path).send(['{"a":3}'])
    expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n{"a":2}\n{"a":3}\n')
    expect(statSync(path).mode & 0o777).toBe(0o600)
    expect(synced).toEqual([path, path])
  })

  test('whose last line was cut goes on in a new line', async () => {
    const path = join(folder, 'audit.jsonl')
    writeFileSync(path, '{"a":1}\n{"a"')
    await createAuditFile(path).send(['{"a":2}'])
    expect(readFileSync(path, 'utf8')).toBe('{"a":1}\n{"a"\n{"a":2}\n')
  })
})

describe('syslog', () => {
  const sender = { hostname: 'höst name', processId: 7, now: () => '2026-01-01T00:00:00Z' }
  const HEADER = '<110>1 2026-01-01T00:00:00Z hstname holdfast 7 audit - '

  test.each(['127.0.0.1', '::1'])('over UDP at %s has one message for each record', async (host) => {
    const receiver = createSocket(host === '::1' ? 'udp6' : 'udp4')
    onTestFinished(() => void receiver.close())
    const heard: string[] = []
    receiver.on('message', (message) => heard.push(message.toString()))
    receiver.bind(0, host)
    await once(receiver, 'listening')
    const { port } = receiver.address()
    await createSyslog({ protocol: 'udp', host, port }, sender).send(['one', 'two'])
    while (heard.length < 2) await once(receiver, 'message')
    expect(heard.sort()).toEqual([`${HEADER}one`, `${HEADER}two`])
  })

  test('over UDP takes any number of records without a warning of the process', async () => {
    const receiver = createSocket('udp4')
    onTestFinished(() => void receiver.close())
    receiver.bind(0, '127.0.0.1')
    await once(receiver, 'listening')
    const warned: string[] = []
    const note = ({ name }: Error) => void warned.push(name)
    process.on('warning', note)
    onTestFinished(() => void process.off('warning', note))
    const { port } = receiver.address()
    await createSyslog({ protocol: 'udp', host: '127.0.0.1', port }, sender).send(Array.from({ length: 30 }, String))
    await new Promise((resolve) => setImmediate(resolve))
    expect(warned).toEqual([])
  })

  test('over TCP frames each message by its length, and has arrived when the receiver ends the connection', async () => {
    let heard = ''
    const sockets: Socket[] = []
    const receiver = createServer((socket) => {
      sockets.push(socket)
      socket.on('data', (bytes) => (heard += bytes.toString()))
    })
    receiver.listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    onTestFinished(() => void receiver.close())
    const { port } = receiver.address() as AddressInfo
    await createSyslog({ protocol: 'tcp', host: '127.0.0.1', port }, sender).send(['one', 'zwei ä'])
    const messages = [`${HEADER}one`, `${HEADER}zwei ä`]
    expect(heard).toBe(messages.map((message) => `${Buffer.byteLength(message)} ${message}`).join(''))
    expect(sockets).toHaveLength(1)
  })

  test('over TCP has not arrived when the receiver breaks off, or is not there', async () => {
    const receiver = createServer((socket) => {
      socket.once('data', () => socket.resetAndDestroy())
    })
    receiver.listen(0, '127.0.0.1')
    await once(receiver, 'listening')
    const { port } = receiver.address() as AddressInfo
    const syslog = createSyslog({ protocol: 'tcp', host: '127.0.0.1', port }, sender)
    await expect(syslog.send(['one'])).rejects.toThrow(/ECONNRESET|EPIPE/)
    await new Promise((resolve) => receiver.close(resolve))
    await expect(syslog.send(['one'])).rejects.toThrow('ECONNREFUSED')
  })

  test('names a sender without a name of its own by a dash', async () => {
    const receiver = createSocket('udp4')
    onTestFinished(() => void receiver.close())
    receiver.bind(0, '127.0.0.1')
    await once(receiver, 'listening')
    const heard = once(receiver, 'message')
    const place = { protocol: 'udp', host: '127.0.0.1', port: receiver.address().port } as const
    await createSyslog(place, { ...sender, hostname: 'ä' }).send(['x'])
    expect(String((await heard)[0])).toBe('<110>1 2026-01-01T00:00:00Z - holdfast 7 audit - x')
  })
})

test('the trail is sent to the places that the settings name', () => {
  const syslog = { protocol: 'udp', host: 'a', port: 514 } as const
  const namesOf = (...settings: Parameters<typeof auditTargetsOf>) =>
    auditTargetsOf(...settings).map(({ name }) => name)
  expect(namesOf({ auditFile: null, auditSyslog: null })).toEqual([])
  expect(namesOf({ auditFile: '/a', auditSyslog: null })).toEqual(['file'])
  expect(namesOf({ auditFile: null, auditSyslog: syslog })).toEqual(['syslog'])
  expect(namesOf({ auditFile: '/a', auditSyslog: syslog })).toEqual(['file', 'syslog'])
})
