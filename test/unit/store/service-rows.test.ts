import { beforeEach, describe, expect, test } from 'vitest'
import { changeAppearance, readAppearance } from '../../../control-plane/src/store/service/appearance.js'
import { knownDatabaseId, renewDatabaseId } from '../../../control-plane/src/store/service/database-id.js'
import {
  deleteLock,
  deleteSilentLock,
  findLock,
  hasSilentLock,
  putLock,
} from '../../../control-plane/src/store/service/locks.js'
import {
  beatNode,
  deleteNode,
  deleteNodesAt,
  insertNode,
  listNodes,
} from '../../../control-plane/src/store/service/nodes.js'
import { moveServiceTime, readServiceTime } from '../../../control-plane/src/store/service/service-clock.js'
import type { Queries, Store } from '../../../control-plane/src/store/store.js'
import {
  bytesToCome,
  changeUploadClaim,
  deleteOldUploadClaims,
  deleteUploadClaim,
  insertUploadClaim,
  uploadedBytes,
} from '../../../control-plane/src/store/uploads/upload-claims.js'
import {
  deleteUnusedUploads,
  findJobFiles,
  findStoredNames,
  findUpload,
  insertUpload,
  linkJobFiles,
} from '../../../control-plane/src/store/uploads/uploads.js'
import { insertJob } from '../../../control-plane/src/store/jobs/new-job.js'
import { queuedJob } from '../../runners/queued-job.js'
import { memoryDatabase } from '../../support/memory-database.js'

let queries: Queries

beforeEach(async () => {
  queries = await memoryDatabase()
})

describe('a lock', () => {
  const LOCK = { holder: 'local/ann', holderId: 7, takenAt: 5, touchedAt: 10 }

  test('is had until it was silent for too long', async () => {
    await putLock(queries, 'designer', LOCK)
    expect(await findLock(queries, 'designer', 9)).toEqual(LOCK)
    expect(await findLock(queries, 'designer', 10)).toBeNull()
    expect(await findLock(queries, 'other', 0)).toBeNull()
    expect([await hasSilentLock(queries, 'designer', 9), await hasSilentLock(queries, 'designer', 10)]).toEqual([
      false,
      true,
    ])
    expect(await hasSilentLock(queries, 'other', 10)).toBe(false)
  })

  test('is touched, taken over and given back', async () => {
    await putLock(queries, 'designer', LOCK)
    await putLock(queries, 'other', LOCK)
    const next = { holder: 'ldap/bob', holderId: null, takenAt: 20, touchedAt: 30 }
    await putLock(queries, 'designer', next)
    expect(await findLock(queries, 'designer', 0)).toEqual(next)
    await deleteLock(queries, 'designer')
    expect([await findLock(queries, 'designer', 0), await findLock(queries, 'other', 0)]).toEqual([null, LOCK])
    expect([await deleteSilentLock(queries, 'other', 9), await deleteSilentLock(queries, 'other', 10)]).toEqual([
      false,
      true,
    ])
    expect(await deleteSilentLock(queries, 'other', 10)).toBe(false)
  })
})

describe('the row of a node', () => {
  const NODE = { id: 'a', version: '1', address: 'host:1', started_at: 1, last_seen: 10 }

  test('moves as long as it is there', async () => {
    await insertNode(queries, { ...NODE, id: 'b', address: 'host:2' })
    await insertNode(queries, NODE)
    expect([await beatNode(queries, 'a', 20), await beatNode(queries, 'c', 20)]).toEqual([true, false])
    expect(await listNodes(queries)).toEqual([
      { ...NODE, last_seen: 20 },
      { ...NODE, id: 'b', address: 'host:2' },
    ])
  })

  test('goes with the node, or when it did not move, or for another node at its address', async () => {
    for (const id of ['a', 'b', 'c', 'd']) await insertNode(queries, { ...NODE, id, address: `host:${id}` })
    const left = async () => (await listNodes(queries)).map(({ id }) => id)
    await deleteNode(queries, 'a')
    expect(await left()).toEqual(['b', 'c', 'd'])
    await deleteNode(queries, 'b', 9)
    expect(await left()).toEqual(['b', 'c', 'd'])
    await deleteNode(queries, 'b', 10)
    expect(await left()).toEqual(['c', 'd'])
    await deleteNodesAt(queries, 'host:c')
    expect(await left()).toEqual(['d'])
  })
})

test('the appearance is as at first until it is changed, and only in what is changed', async () => {
  const first = { theme: 'light', name: 'Holdfast', announcement: '', environment: '' }
  expect(await readAppearance(queries)).toEqual(first)
  expect(await changeAppearance(queries, { name: 'Ours' })).toEqual({ ...first, name: 'Ours' })
  await changeAppearance(queries, { theme: 'dark', announcement: 'Hello', environment: 'test' })
  expect(await readAppearance(queries)).toEqual({
    theme: 'dark',
    name: 'Ours',
    announcement: 'Hello',
    environment: 'test',
  })
})

test('the service clock is moved turn by turn', async () => {
  const before = await readServiceTime(queries)
  expect(before).toEqual({ time: 1_000_000_000_000_000, turn: 0 })
  const after = await moveServiceTime(queries, before, 250)
  expect(after).toEqual({ time: before.time + 250, turn: 1 })
  expect(await readServiceTime(queries)).toEqual(after)
})

test('the id of a database is replaced only by who knows it, and says where it was given', async () => {
  const store = { read: queries, write: (_name, work) => work(queries) } as Pick<Store, 'read' | 'write'> as Store
  expect(await knownDatabaseId(queries)).toBeNull()
  const first = await renewDatabaseId(store, null)
  expect(first).toMatch(/^[0-9a-f-]{36}$/)
  expect(await renewDatabaseId(store, null)).toBe(first)
  expect(await renewDatabaseId(store, 'other')).toBe(first)
  const second = await renewDatabaseId(store, first, 'place')
  expect(second).toMatch(/^[0-9a-f-]{36}\.place$/)
  expect(second).not.toContain(first)
  expect(await knownDatabaseId(queries)).toBe(second)
})

describe('the space of uploads', () => {
  const claim = (ownerId: number, bytes: number, written = 0, now = 10) => ({ ownerId, bytes, written, now })
  const UPLOAD = {
    stored_name: 'a',
    owner_name: 'ann',
    owner_type: 'local' as const,
    owner_id: 1,
    size: 100,
    sha256: 'x',
    original_name: 'x',
    mime_type: 'x',
    encoding: 'x',
    created_at: 5,
    used: 0,
  }

  test('is what is stored and what comes, of one user or of all', async () => {
    expect([await uploadedBytes(queries, 1), await uploadedBytes(queries, null)]).toEqual([0, 0])
    await insertUpload(queries, UPLOAD)
    await insertUpload(queries, { ...UPLOAD, stored_name: 'b', owner_id: 2, size: 30 })
    await insertUploadClaim(queries, claim(1, 7))
    await insertUploadClaim(queries, claim(2, 4))
    expect([
      await uploadedBytes(queries, 1),
      await uploadedBytes(queries, 2),
      await uploadedBytes(queries, null),
    ]).toEqual([107, 34, 141])
  })

  test('that is to come is what is claimed and not written yet, of claims up to one', async () => {
    const [first, second, third] = [
      await insertUploadClaim(queries, claim(1, 100, 30)),
      await insertUploadClaim(queries, claim(2, 50, 50)),
      await insertUploadClaim(queries, claim(3, 10)),
    ]
    expect([
      await bytesToCome(queries, first),
      await bytesToCome(queries, third),
      await bytesToCome(queries, 0),
    ]).toEqual([70, 80, 0])
    await changeUploadClaim(queries, first, claim(1, 90, 80, 20))
    expect(await bytesToCome(queries, second)).toBe(10)
    await deleteUploadClaim(queries, second)
    await deleteOldUploadClaims(queries, 10)
    expect(await uploadedBytes(queries, null)).toBe(100)
    await deleteOldUploadClaims(queries, 11)
    expect(await uploadedBytes(queries, null)).toBe(90)
  })

  test('is used by jobs: a file that is gone links nothing', async () => {
    const job = await insertJob(queries, queuedJob(1))
    const [one, two] = [
      await insertUpload(queries, UPLOAD),
      await insertUpload(queries, { ...UPLOAD, stored_name: 'b' }),
    ]
    expect(await linkJobFiles(queries, job, [])).toEqual([])
    expect(
      await linkJobFiles(queries, job, [
        { field: 'x', uploadId: one },
        { field: 'y', uploadId: 99 },
      ]),
    ).toEqual(['y'])
    expect(await findJobFiles(queries, [job])).toEqual([])
    const files = [
      { field: 'z', uploadId: one },
      { field: 'y', uploadId: two },
    ]
    expect(await linkJobFiles(queries, job, files)).toEqual([])
    expect(
      (await findJobFiles(queries, [job])).map(({ job_id: id, field, stored_name: name }) => [id, field, name]),
    ).toEqual([
      [job, 'y', 'b'],
      [job, 'z', 'a'],
    ])
    expect(await findJobFiles(queries, [])).toEqual([])
    expect((await findUpload(queries, 'a'))?.used).toBe(1)
  })

  test('is given back when no job uses a file that was used or is old', async () => {
    const job = await insertJob(queries, queuedJob(1))
    const id = await insertUpload(queries, { ...UPLOAD, stored_name: 'in use', created_at: 1 })
    await linkJobFiles(queries, job, [{ field: 'x', uploadId: id }])
    await insertUpload(queries, { ...UPLOAD, stored_name: 'was used', used: 1, created_at: 50 })
    await insertUpload(queries, { ...UPLOAD, stored_name: 'old', created_at: 9 })
    await insertUpload(queries, { ...UPLOAD, stored_name: 'new', created_at: 10 })
    expect((await deleteUnusedUploads(queries, 10)).toSorted()).toEqual(['old', 'was used'])
    expect(await deleteUnusedUploads(queries, 10)).toEqual([])
  })

  test('has names that are known, however many are asked about', async () => {
    const names = Array.from({ length: 1001 }, (_, index) => `name ${index}`)
    for (const name of [names[0], names[500], names[1000], 'other']) {
      await insertUpload(queries, { ...UPLOAD, stored_name: name ?? '' })
    }
    expect(await findStoredNames(queries, names)).toEqual(new Set(['name 0', 'name 500', 'name 1000']))
    expect(await findStoredNames(queries, names.slice(0, 500))).toEqual(new Set(['name 0']))
    expect(await findStoredNames(queries, [])).toEqual(new Set())
  })
})
