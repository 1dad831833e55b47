import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { join } from 'node:path'
import type { Store } from '../../../control-plane/src/store/store.js'
import { createUploadRooms, type UploadQuotas } from '../../../control-plane/src/uploads/room.js'
import { openTestStore } from '../../support/test-database.js'

const MIB = 1024 * 1024
const MINUTE = 60_000
const NO_QUOTAS = { ofUser: 0, ofAll: 0 }

let path: string
let store: Store
let now: number
/** How much room the disk was asked for, in the order of the asking. */
let asked: number[]
let refuse: Error | null
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'holdfast-room-'))
  store = await openTestStore(path)
  now = 60 * MINUTE
  asked = []
  refuse = null
})
afterEach(async () => {
  await store.close()
  rmSync(path, { recursive: true })
})

function rooms(quotas: UploadQuotas = NO_QUOTAS) {
  const requireRoom = (bytes: number) => {
    asked.push(bytes)
    return refuse ? Promise.reject(refuse) : Promise.resolve()
  }
  return createUploadRooms({ store, clock: { now: () => now }, folder: { requireRoom }, quotas })
}
const claims = () => store.read.selectFrom('upload_claim').selectAll().orderBy('id').execute()

test('an upload claims what it says, or 1 MiB when it does not say anything', async () => {
  await rooms().claim(1, 5)
  await rooms().claim(2, 0)
  expect(await claims()).toMatchObject([
    { owner_id: 1, bytes: 5, written: 0, touched_at: now },
    { owner_id: 2, bytes: MIB, written: 0 },
  ])
  // The second one counts the first one.
  expect(asked).toEqual([5, MIB + 5])
})

test('a claim that is used up doubles, by 16 MiB at most, and the disk is asked for what is to come', async () => {
  const room = await rooms().claim(1, 0)
  const sizes = []
  for (const size of [MIB, MIB + 1, 2 * MIB + 1, 20 * MIB, 37 * MIB, 200 * MIB]) {
    await room.extendTo(size)
    sizes.push((await claims())[0]?.bytes)
  }
  expect(sizes.map((bytes) => Number(bytes) / MIB)).toEqual([1, 2, 4, 20, 36 + 1, 200])
  expect(asked).toHaveLength(6)
})

test('a claim notes what is on the disk after each 16 MiB', async () => {
  const room = await rooms().claim(1, 100 * MIB)
  const written = []
  for (const size of [16 * MIB - 1, 16 * MIB, 16 * MIB + 1, 32 * MIB, 32 * MIB + 1]) {
    await room.extendTo(size)
    written.push(Number((await claims())[0]?.written))
  }
  expect(written).toEqual([0, 0, 16 * MIB, 16 * MIB, 32 * MIB])
  expect(asked).toEqual([100 * MIB])
})

test('a claim that does not change shows after 30 seconds that it is in use', async () => {
  const room = await rooms().claim(1, 100)
  const begun = now
  const touched = []
  for (const ms of [29_999, 1, 29_999, 1]) {
    now += ms
    await room.extendTo(50)
    touched.push(Number((await claims())[0]?.touched_at) - begun)
  }
  expect(touched).toEqual([0, 30_000, 30_000, 60_000])
})

test('a claim that nobody touched for more than 10 minutes is forgotten by the next one', async () => {
  await rooms().claim(1, 5)
  now += 10 * MINUTE
  await rooms().claim(2, 6)
  expect(await claims()).toHaveLength(2)
  now += 1
  await rooms().claim(3, 7)
  expect(await claims()).toMatchObject([{ owner_id: 2 }, { owner_id: 3 }])
})

describe('room that is given back', () => {
  test('is given back once', async () => {
    const room = await rooms().claim(1, 5)
    await room.release()
    expect(await claims()).toEqual([])
    let writes = 0
    const counted = {
      ...store,
      write: ((name, operation) => ((writes += 1), store.write(name, operation))) as Store['write'],
    }
    const other = await createUploadRooms({
      store: counted,
      clock: { now: () => now },
      folder: { requireRoom: () => Promise.resolve() },
      quotas: NO_QUOTAS,
    }).claim(1, 5)
    await other.release()
    await other.release()
    expect(writes).toBe(2)
  })

  test('is given back in the write of another', async () => {
    const room = await rooms().claim(1, 5)
    await store.write('test', (queries) => room.releaseIn(queries))
    expect(await claims()).toEqual([])
  })

  test('is given back when the disk has no room', async () => {
    refuse = new Error('the disk is full')
    await expect(rooms().claim(1, 5)).rejects.toThrow('the disk is full')
    expect(await claims()).toEqual([])
  })
})

describe('quotas', () => {
  test.each<[string, UploadQuotas, string]>([
    ['of a user', { ofUser: 10, ofAll: 0 }, 'upload_quota'],
    ['of all users', { ofUser: 0, ofAll: 10 }, 'upload_quota_of_all'],
  ])('%s are used to the last byte, and by no byte more', async (_what, quotas, code) => {
    await rooms(quotas).claim(1, 4)
    await expect(rooms(quotas).claim(1, 7)).rejects.toMatchObject({ code })
    await rooms(quotas).claim(1, 6)
    await expect(rooms(quotas).claim(1, 1)).rejects.toMatchObject({ code })
    expect(await claims()).toHaveLength(2)
  })

  test('of a user leave others alone, and of all do not', async () => {
    await rooms().claim(1, 10)
    await rooms({ ofUser: 10, ofAll: 20 }).claim(2, 10)
    await expect(rooms({ ofUser: 10, ofAll: 20 }).claim(3, 1)).rejects.toMatchObject({ code: 'upload_quota_of_all' })
  })

  test('do not end an upload that goes on without growing', async () => {
    const room = await rooms({ ofUser: 10, ofAll: 10 }).claim(1, 10)
    await rooms().claim(1, 100)
    now += 30_000
    await room.extendTo(5)
    expect((await claims())[0]).toMatchObject({ bytes: 10, touched_at: now })
  })

  test('hold for an upload that grows, and what it asks for is not claimed', async () => {
    const room = await rooms({ ofUser: 2 * MIB, ofAll: 0 }).claim(1, 0)
    await room.extendTo(2 * MIB)
    await expect(room.extendTo(2 * MIB + 1)).rejects.toMatchObject({ code: 'upload_quota' })
    expect(await claims()).toMatchObject([{ bytes: 2 * MIB }])
  })

  test.each([
    [3 * 1024 * MIB, '3 GB'],
    [1024 * MIB, '1 GB'],
    [1024 * MIB - 1, '1073741823 bytes'],
  ])('of %i bytes are said in words', async (ofUser, words) => {
    await expect(rooms({ ofUser, ofAll: 0 }).claim(1, 4 * 1024 * MIB)).rejects.toMatchObject({
      message: expect.stringContaining(`Your uploads may take ${words} together`) as string,
    })
  })
})
