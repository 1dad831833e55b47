import { describe, expect, test } from 'vitest'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import {
  type SealedColumn,
  credentialSecrets,
  jobSecrets,
  ownerOfTarget,
  serviceKeys,
  targetSecrets,
} from '../../../control-plane/src/store/service/sealed-columns.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

/** Puts a row with this sealed value and this owner. @returns its key */
type Put = (queries: Queries, sealed: Buffer, owner: string) => Promise<number>

const putCredential: Put = async (queries, secret, name) =>
  (
    await queries
      .insertInto('credential')
      .values({
        name,
        type: 'ssh',
        user_name: null,
        host: null,
        port: null,
        description: '',
        secret,
        created_at: 1,
        updated_at: 1,
      } as never)
      .returning('id')
      .executeTakeFirstOrThrow()
  ).id
const putJobSecret: Put = async (queries, sealed, run) => {
  const id = await insertJob(queries, queuedJob(1, run))
  await queries.insertInto('job_secret').values({ job_id: id, sealed, names: '[]' }).execute()
  return id
}
const putServiceKey: Put = async (queries, sealed, key) =>
  (
    await queries
      .insertInto('service_key')
      .values({ public_key: key, private_key: sealed, signature: null, created_at: 1 })
      .returning('id')
      .executeTakeFirstOrThrow()
  ).id
const putTarget: Put = async (queries, secret, name) =>
  (
    await queries
      .insertInto('notification_target')
      .values({
        name,
        kind: 'webhook',
        url: 'https://x',
        secret,
        events: '[]',
        enabled: 1,
        created_at: 1,
        created_by: 'ann',
      })
      .returning('id')
      .executeTakeFirstOrThrow()
  ).id

const read = async (column: SealedColumn, queries: Queries, after = 0, most = 10) =>
  (await column.read(queries, after, most)).map(({ key, sealed, owner }) => [key, sealed.toString(), owner])

describe.each<[string, SealedColumn, Put]>([
  ['credentials', credentialSecrets, putCredential],
  ['passwords of jobs', jobSecrets, putJobSecret],
  ['key of the service', serviceKeys, putServiceKey],
  ['secrets of notification targets', targetSecrets, putTarget],
])('the encrypted values of %s', (_what, column, put) => {
  test('are read by their keys, with their owners, some at a time', async () => {
    const queries = await memoryDatabase()
    const keys: number[] = []
    for (const owner of ['one', 'two', 'three']) keys.push(await put(queries, Buffer.from(`of ${owner}`), owner))
    expect(await read(column, queries)).toEqual([
      [keys[0], 'of one', 'one'],
      [keys[1], 'of two', 'two'],
      [keys[2], 'of three', 'three'],
    ])
    expect((await read(column, queries, 0, 2)).map(([key]) => key)).toEqual(keys.slice(0, 2))
    expect((await read(column, queries, keys[0])).map(([key]) => key)).toEqual(keys.slice(1))
    expect(await read(column, queries, keys[2])).toEqual([])
  })

  test('are replaced if they are still stored, and no other with them', async () => {
    const queries = await memoryDatabase()
    const [key, other] = [
      await put(queries, Buffer.from('before'), 'one'),
      await put(queries, Buffer.from('before'), 'two'),
    ]
    const row = { key, sealed: Buffer.from('before'), owner: 'one' }
    expect(await column.replace(queries, { ...row, sealed: Buffer.from('older') }, Buffer.from('after'))).toBe(false)
    expect(await column.replace(queries, { ...row, key: other + 1 }, Buffer.from('after'))).toBe(false)
    expect((await read(column, queries)).map(([, sealed]) => sealed)).toEqual(['before', 'before'])
    expect(await column.replace(queries, row, Buffer.from('after'))).toBe(true)
    expect(await column.replace(queries, row, Buffer.from('again'))).toBe(false)
    expect((await read(column, queries)).map(([, sealed]) => sealed)).toEqual(['after', 'before'])
  })
})

test('the secret of a credential is not replaced when another one has its row now', async () => {
  const queries = await memoryDatabase()
  const key = await putCredential(queries, Buffer.from('before'), 'new name')
  const row = { key, sealed: Buffer.from('before'), owner: 'old name' }
  expect(await credentialSecrets.replace(queries, row, Buffer.from('after'))).toBe(false)
})

test('a key of the service that was replaced has no private half to read or to replace', async () => {
  const queries = await memoryDatabase()
  const key = await putServiceKey(queries, Buffer.from('x'), 'old')
  await queries.updateTable('service_key').set({ private_key: null }).execute()
  expect(await read(serviceKeys, queries)).toEqual([])
  expect(await serviceKeys.replace(queries, { key, sealed: Buffer.from('x'), owner: 'old' }, Buffer.from('y'))).toBe(
    false,
  )
})

test('a target and a credential of the same name are different owners', () => {
  expect(ownerOfTarget('one')).not.toBe('one')
  expect(ownerOfTarget('one')).not.toBe(ownerOfTarget('other'))
})
