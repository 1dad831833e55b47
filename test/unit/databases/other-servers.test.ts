import fc from 'fast-check'
import { BSON } from 'mongodb'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import { createDatabases } from '../../../control-plane/src/databases/databases.js'
import { createCallers } from '../../../control-plane/src/time/callers.js'
import { mongodbConfiguration } from '../../../control-plane/src/databases/mongodb.js'
import type { Databases } from '../../../control-plane/src/databases/query-type.js'
import { EVIL_PAYLOADS, evilText } from '../../support/evil-texts.js'
import { type MongodbStandIn, startMongodbStandIn } from '../../support/mongodb-stand-in.js'

let mongodb: MongodbStandIn
let databases: Databases
const known = new Map<string, OpenCredential>()

beforeAll(async () => {
  mongodb = await startMongodbStandIn()
  add('mongo', { db_type: 'mongodb' }, mongodb.port)
  for (const db_type of ['mssql', 'oracle', 'mongodb'] as const) add(`no ${db_type}`, { db_type, db_name: 'cmdb' }, 1)
  databases = databasesThatWait(60_000)
})

afterAll(async () => {
  await databases.close()
  await mongodb.close()
})

/** @param connectMs how long a connection may take */
const databasesThatWait = (connectMs: number): Databases =>
  createDatabases({
    credentials: { open: (name) => Promise.resolve(known.get(name) ?? null) },
    log: { warn: () => undefined },
    limits: { connectMs, statementMs: 60_000, rows: 50, bytes: 100_000, connections: 2, idleMs: 30_000 },
  })

function add(name: string, options: OpenCredential['options'], port: number): void {
  const login = { host: '127.0.0.1', port, user: name === 'mongo' ? null : 'forms', password: 'canary-password' }
  known.set(name, { id: 1, name, type: 'database', description: '', ...login, options })
}

const ask = (config: unknown, text: string, values: Record<string, unknown> = {}, asked = databases) =>
  asked.ask({
    config,
    text,
    value: (name) => values[name],
    callers: createCallers('ann'),
    signal: new AbortController().signal,
  })

describe('MongoDB', () => {
  test('documents become rows', async () => {
    mongodb.documents.set('cmdb.vm', [
      {
        _id: new BSON.ObjectId('65a000000000000000000001'),
        name: 'web',
        big: BSON.Long.fromString('9007199254740993'),
        price: BSON.Decimal128.fromString('1.10'),
        made: new Date('2026-01-02T03:04:05Z'),
        raw: new BSON.Binary(Buffer.from('abc')),
        disks: [{ size: 4 }],
      },
    ])
    expect(await ask('mongo', 'cmdb~vm~{"name": "$(x)"}', { x: 'web' })).toEqual({
      rows: [
        {
          _id: '65a000000000000000000001',
          name: 'web',
          big: '9007199254740993',
          price: '1.10',
          made: '2026-01-02T03:04:05.000Z',
          raw: 'YWJj',
          disks: [{ size: 4 }],
        },
      ],
      truncated: false,
    })
    expect(mongodb.finds.at(-1)).toMatchObject({ find: 'vm', $db: 'cmdb', filter: { name: 'web' }, maxTimeMS: 60_000 })
  })

  test('an answer ends at the limit of rows', async () => {
    mongodb.documents.set(
      'cmdb.many',
      Array.from({ length: 500 }, (_, n) => ({ n })),
    )
    const { rows, truncated } = await ask('mongo', 'cmdb~many~{}')
    expect([rows.length, truncated]).toEqual([50, true])
  })

  test('a value in a filter stays a value', async () => {
    const text = 'cmdb~vm~{"name": $(x), "note": "a $(x)\\"z", "$expr": {"$eq": ["$name", "$(x)"]}, "tag.$(key)": 1}'
    await fc.assert(
      fc.asyncProperty(evilText, async (x) => {
        await ask('mongo', text, { x, key: 'k' })
        expect(mongodb.finds.at(-1)?.filter).toEqual({
          name: x,
          note: `a ${x}"z`,
          $expr: { $eq: ['$name', { $literal: x }] },
          'tag.k': 1,
        })
      }),
      { numRuns: 40, examples: [...EVIL_PAYLOADS, '", "$where": "1', '$name', '~'].map((payload) => [payload]) },
    )
  })

  test('lists and objects are values, too', async () => {
    await ask('mongo', 'cmdb~vm~{"name": {"$in": $(x)}, "size": $(n), "disk": $(d)}', {
      x: ['a', 'b'],
      n: 4,
      d: { size: 1 },
    })
    expect(mongodb.finds.at(-1)?.filter).toEqual({ name: { $in: ['a', 'b'] }, size: 4, disk: { size: 1 } })
  })
})

test.each(['mssql', 'oracle', 'mongodb'])(
  'a server of kind %s that is away is named, without a password',
  async (kind) => {
    const text = kind === 'mongodb' ? 'a~b~{}' : 'select 1 from dual'
    // Some drivers try again until the time is over.
    const impatient = databasesThatWait(2000)
    onTestFinished(() => impatient.close())
    await expect(ask(`no ${kind}`, text, {}, impatient)).rejects.toThrow(
      new RegExp(
        `the database 'no ${kind}' cannot be asked: (?!.*canary).*(ECONNREFUSED|port 1 could not|Could not connect)`,
        'i',
      ),
    )
  },
)

test('the driver of MongoDB checks certificates when TLS is asked for, and logs in where the user is', () => {
  const limits = { connectMs: 5000, statementMs: 30_000, rows: 9, bytes: 9, connections: 4, idleMs: 1500 }
  const target = { host: 'db', port: null, database: null, user: 'forms', password: 'p', tls: { ca: 'CA' } }
  const auth = { username: 'forms', password: 'p' }
  expect(mongodbConfiguration(target, limits)).toMatchObject({ auth, authSource: 'admin', tls: true, ca: 'CA' })
  expect(mongodbConfiguration({ ...target, database: 'cmdb', tls: null }, limits)).toMatchObject({
    authSource: 'cmdb',
    tls: false,
    directConnection: true,
  })
})
