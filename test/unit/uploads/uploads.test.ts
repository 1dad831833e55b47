import { randomBytes } from 'node:crypto'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { UnavailableError } from '../../../control-plane/src/errors.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { type UploadFolder, openUploadFolder } from '../../../control-plane/src/uploads/upload-folder.js'
import { createUploads } from '../../../control-plane/src/uploads/uploads.js'
import { openTestStore } from '../../support/test-database.js'

const ANN = { id: 1, username: 'ann', type: 'local' }
const NAMES = { originalname: 'a.txt', encoding: '7bit', mimetype: 'text/plain' }

let path: string
let store: Store
let folder: UploadFolder
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'holdfast-uploads-'))
  store = await openTestStore(path)
  const freeBytes = () => Promise.resolve(2 ** 40)
  folder = await openUploadFolder({ path: join(path, 'uploads'), random: randomBytes, freeBytes })
})
afterEach(async () => {
  await store.close()
  rmSync(path, { recursive: true })
})

const uploads = (maxBytes: number, into = folder) =>
  createUploads({
    store,
    clock: { now: () => 5000 },
    folder: into,
    maxBytes,
    quotas: { ofUser: 0, ofAll: 0 },
  })
const claims = () => store.read.selectFrom('upload_claim').selectAll().execute()
const rows = () => store.read.selectFrom('upload').selectAll().execute()
const files = () => readdirSync(join(path, 'uploads'))

describe('UPLOAD_MAX_GB', () => {
  test.each([
    [10, '10 bytes'],
    [3 * 1024 ** 3, '3 GB'],
    [1024 ** 3, '1 GB'],
    [1024 ** 3 - 1, '1073741823 bytes'],
  ])('of %i bytes takes a file that says this size, and refuses one that says one byte more', async (limit, words) => {
    await (await uploads(limit).begin(ANN, { file: limit, body: 1 })).discard()
    await expect(uploads(limit).begin(ANN, { file: limit + 1, body: 1 })).rejects.toMatchObject({
      code: 'upload_too_large',
      message: `The file is larger than the limit of ${words} (UPLOAD_MAX_GB)`,
    })
    expect([await claims(), files()]).toEqual([[], []])
  })

  test('counts the bytes that come', async () => {
    const upload = await uploads(10).begin(ANN, { file: 0, body: 0 })
    await upload.write(Buffer.alloc(6))
    await upload.write(Buffer.alloc(4))
    await expect(upload.write(Buffer.alloc(1))).rejects.toMatchObject({ code: 'upload_too_large' })
    await upload.discard()
  })

  test('of 0 is no limit', async () => {
    const upload = await uploads(0).begin(ANN, { file: 2 ** 38, body: 1 })
    await upload.write(Buffer.alloc(1))
    await upload.discard()
  })
})

test('an upload that is finished stays, with its row and without its claim', async () => {
  const upload = await uploads(0).begin(ANN, { file: 5, body: 100 })
  expect(await claims()).toMatchObject([{ owner_id: 1, bytes: 100, written: 0, touched_at: 5000 }])
  await upload.write(Buffer.from('hello'))
  const description = await upload.finish(ANN, NAMES)
  await upload.discard()
  expect(description).toMatchObject({ originalname: 'a.txt', size: 5, destination: join(path, 'uploads') })
  expect([await claims(), files()]).toEqual([[], [description.filename]])
  expect(await rows()).toMatchObject([
    { stored_name: description.filename, owner_name: 'ann', size: 5, created_at: 5000, used: 0 },
  ])
})

test('an upload that becomes larger than it said takes more room', async () => {
  const upload = await uploads(0).begin(ANN, { file: 5, body: 100 })
  await upload.write(Buffer.alloc(100))
  expect(await claims()).toMatchObject([{ bytes: 100 }])
  await upload.write(Buffer.alloc(1))
  expect(await claims()).toMatchObject([{ bytes: 100 + 1024 * 1024 }])
  await upload.discard()
})

test('an upload that is discarded leaves neither file nor claim', async () => {
  const upload = await uploads(0).begin(ANN, { file: 5, body: 100 })
  await upload.write(Buffer.from('he'))
  await upload.discard()
  expect([await claims(), files(), await rows()]).toEqual([[], [], []])
})

test('a file that cannot be made gives its room back', async () => {
  const broken = { ...folder, begin: () => Promise.reject(new UnavailableError('upload_not_stored', 'no')) }
  await expect(uploads(0, broken).begin(ANN, { file: 5, body: 100 })).rejects.toMatchObject({
    code: 'upload_not_stored',
  })
  expect(await claims()).toEqual([])
})

describe('names', () => {
  const finished = async (names: Partial<typeof NAMES>) =>
    (await uploads(0).begin(ANN, { file: 0, body: 0 })).finish(ANN, { ...NAMES, ...names })

  test('of files have at most 4096 characters', async () => {
    expect(await finished({ originalname: 'x'.repeat(4096) })).toMatchObject({ originalname: 'x'.repeat(4096) })
    await expect(finished({ originalname: 'x'.repeat(4097) })).rejects.toMatchObject({ code: 'file_name_too_long' })
  })

  test.each(['', '.', '..', 'folder/', 'folder\\..', '\u0007'])('%j is no name of a file', async (originalname) => {
    await expect(finished({ originalname })).rejects.toMatchObject({ code: 'file_name_missing' })
  })

  test('of types and encodings are cut, and have a default', async () => {
    const long = 'x'.repeat(300)
    expect(await finished({ mimetype: long, encoding: '\u0000' })).toMatchObject({
      mimetype: 'x'.repeat(255),
      encoding: '7bit',
    })
    expect(await finished({ mimetype: '' })).toMatchObject({ mimetype: 'application/octet-stream' })
  })
})
