import { type Socket, createSocket } from 'node:dgram'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { parseHostRules } from '../../../control-plane/src/sources/address-rules.js'
import { ALL_TYPED } from '../../../control-plane/src/sources/origins.js'
import { createFunctions } from '../../../control-plane/src/sources/functions.js'
import { createCallers } from '../../../control-plane/src/time/callers.js'

const TYPES = { A: 1, NS: 2, CNAME: 5, PTR: 12, MX: 15, TXT: 16, AAAA: 28, SRV: 33 }
/** Records of web.example.com by type, as they stand in an answer. */
const RECORDS = new Map([
  [TYPES.A, [Buffer.from([192, 0, 2, 7]), Buffer.from([192, 0, 2, 8])]],
  [TYPES.MX, [Buffer.concat([Buffer.from([0, 10]), wireName('mail.example.com')])]],
  [TYPES.TXT, [Buffer.concat([Buffer.from([5]), Buffer.from('hello')])]],
  [TYPES.NS, [wireName('ns1.example.com')]],
  [TYPES.CNAME, [wireName('www.example.com')]],
  [TYPES.PTR, [wireName('host.example.com')]],
  [TYPES.AAAA, [Buffer.from('20010db8000000000000000000000007', 'hex')]],
  // Priority, weight and port.
  [TYPES.SRV, [Buffer.concat([Buffer.from([0, 1, 0, 2, 1, 187]), wireName('srv.example.com')])]],
])

let server: Socket
let servers: string[]

beforeAll(async () => {
  server = createSocket('udp4', (query, { port, address }) => server.send(answerTo(query), port, address))
  await new Promise<void>((resolve) => server.bind(0, '127.0.0.1', resolve))
  servers = [`127.0.0.1:${server.address().port}`]
})
afterAll(() => new Promise<void>((resolve) => server.close(() => resolve())))

function wireName(name: string): Buffer {
  const labels = name.split('.').map((label) => Buffer.concat([Buffer.from([label.length]), Buffer.from(label)]))
  return Buffer.concat([...labels, Buffer.from([0])])
}

/** The question comes back, then what is known of it; a name that is not known is an error of its own. */
function answerTo(query: Buffer): Buffer {
  const name = wireName('web.example.com')
  const question = query.subarray(12, query.indexOf(0, 12) + 5)
  const isKnown = question.subarray(0, name.length).toString('latin1').toLowerCase() === name.toString('latin1')
  const type = question.readUInt16BE(question.length - 4)
  const records = isKnown ? (RECORDS.get(type) ?? []) : []
  const head = Buffer.alloc(12)
  query.copy(head, 0, 0, 2)
  head.writeUInt16BE(isKnown ? 0x8180 : 0x8183, 2)
  head.writeUInt16BE(1, 4)
  head.writeUInt16BE(records.length, 6)
  const answers = records.map((data) => {
    // The name is that of the question; class IN; kept for a minute.
    const record = Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 60, 0, data.length])
    return Buffer.concat([record, data])
  })
  return Buffer.concat([head, question, ...answers])
}

function resolve(...given: unknown[]): Promise<unknown> {
  const unused = () => Promise.reject(new Error('not asked here'))
  const functions = createFunctions({
    credentials: { open: unused, list: unused },
    files: { readYaml: unused, readJson: unused, list: unused },
    jq: { run: unused, close: () => Promise.resolve() },
    send: unused,
    ssh: { hosts: parseHostRules(''), credential: null, knownHosts: '/nowhere' },
    nameServers: servers,
  })
  const question = { kind: 'function', name: 'fnDnsResolve', given, origins: ALL_TYPED } as const
  return functions.call(question, {
    mayUse: () => true,
    callers: createCallers('ann'),
    signal: new AbortController().signal,
  })
}

test.each<[type: string | undefined, records: unknown[]]>([
  [undefined, ['192.0.2.7', '192.0.2.8']],
  ['AAAA', ['2001:db8::7']],
  ['MX', [{ exchange: 'mail.example.com', priority: 10 }]],
  ['TXT', [['hello']]],
  ['NS', ['ns1.example.com']],
  ['CNAME', ['www.example.com']],
  ['PTR', ['host.example.com']],
  ['SRV', [{ name: 'srv.example.com', port: 443, priority: 1, weight: 2 }]],
])('fn.fnDnsResolve gives the records of type %s', async (type, records) => {
  expect(await resolve('web.example.com', type)).toMatchObject(records)
})

test('fn.fnDnsResolve names a missing record, and the types that it knows', async () => {
  await expect(resolve('none.example.com')).rejects.toThrow('none.example.com has no record A')
  await expect(resolve('web.example.com', 'SOA')).rejects.toThrow('has no record SOA')
  await expect(resolve('web.example.com', 'ANY')).rejects.toThrow('must be one of A, AAAA')
})
