import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, truncateSync, utimesSync, writeFileSync, existsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import type { Store } from '../../../control-plane/src/store/store.js'
import { createUploadSweeper } from '../../../control-plane/src/uploads/sweeper.js'
import { type UploadFolder, openUploadFolder } from '../../../control-plane/src/uploads/upload-folder.js'
import { createUploads } from '../../../control-plane/src/uploads/uploads.js'
import { uploadProblem, verifyUploads } from '../../../control-plane/src/uploads/verify.js'
import { heldTimers } from '../../api/held-timers.js'
import { openTestStore } from '../../support/test-database.js'
import { waitFor } from '../../support/wait.js'

const DAY = 24 * 60 * 60_000
const START = 1_700_000_000_000
const ANN = { id: 1, username: 'ann', type: 'local', isAdmin: false }
const BOB = { id: 2, username: 'bob', type: 'local', isAdmin: false }

let path: string
let store: Store
let folder: UploadFolder
let now: number
beforeEach(async () => {
  path = mkdtempSync(join(tmpdir(), 'holdfast-verify-'))
  store = await openTestStore(path)
  const freeBytes = () => Promise.resolve(2 ** 40)
  folder = await openUploadFolder({ path: join(path, 'uploads'), random: randomBytes, freeBytes })
  now = START
})
afterEach(async () => {
  await store.close()
  rmSync(path, { recursive: true })
})

/** A file that a user uploaded. */
async function uploaded(by = ANN, content = 'hello') {
  const quotas = { ofUser: 0, ofAll: 0 }
  const uploads = createUploads({ store, clock: { now: () => now }, folder, maxBytes: 0, quotas })
  const upload = await uploads.begin(by, { file: 0, body: 0 })
  await upload.write(Buffer.from(content))
  return upload.finish(by, { originalname: 'a.txt', encoding: '7bit', mimetype: 'text/plain' })
}

const verified = (files: Record<string, unknown>, caller = ANN, granted?: ReadonlySet<number>) =>
  verifyUploads({ queries: store.read, folder }, caller, files, granted)
const reasonOf = async (claim: unknown, caller = ANN) => (await verified({ it: claim }, caller)).problems[0]?.reason

describe('the files of a launch', () => {
  test('are those that were uploaded, as they were stored', async () => {
    const description = await uploaded()
    const { facts, problems } = await verified({
      it: { ...description, originalname: 'evil', size: 99 },
      only: { path: description.path },
      none: null,
      nothing: undefined,
    })
    expect(problems).toEqual([])
    expect([...facts.keys()]).toEqual(['it', 'only'])
    expect(facts.get('it')).toMatchObject({ field: 'it', uploadId: 1, description })
    expect(facts.get('it')?.sha256).toMatch(/^[0-9a-f]{64}$/)
  })

  test.each([[null], [undefined]])('may be %j: then there is none', async (claim) => {
    expect(await verified({ it: claim })).toEqual({ facts: new Map(), problems: [] })
  })

  test.each([['a text'], [7], [true], [[]], [{}], [{ path: 7 }], [{ path: null }]])('are not %j', async (claim) => {
    expect(await reasonOf(claim)).toBe('invalid')
  })

  test('lie in the upload folder, under the name that is said', async () => {
    const description = await uploaded()
    expect(await reasonOf({ path: '/etc/passwd' })).toBe('outside')
    expect(await reasonOf({ path: description.filename })).toBe('outside')
    expect(await reasonOf({ ...description, filename: 'other' })).toBe('invalid')
    expect(await reasonOf({ ...description, filename: null })).toBe('invalid')
    expect(await reasonOf({ path: join(path, 'uploads', 'a'.repeat(32)) })).toBe('unknown')
  })

  test('belong to the caller, unless the caller is an admin or was given them', async () => {
    const description = await uploaded(BOB)
    expect(await reasonOf(description)).toBe('foreign')
    expect(await reasonOf(description, BOB)).toBeUndefined()
    expect(await reasonOf(description, { ...ANN, isAdmin: true })).toBeUndefined()
    expect((await verified({ it: description }, ANN, new Set([1]))).problems).toEqual([])
    expect((await verified({ it: description }, ANN, new Set([2]))).problems).toMatchObject([{ reason: 'foreign' }])
  })

  test('are there, and as they were', async () => {
    const description = await uploaded()
    truncateSync(description.path, 4)
    expect(await reasonOf(description)).toBe('changed')
    rmSync(description.path)
    expect(await reasonOf(description)).toBe('missing')
  })

  test('are at most 100', async () => {
    const description = await uploaded()
    const files = (count: number) =>
      Object.fromEntries(Array.from({ length: count }, (_, number) => [`f${number}`, description]))
    const most = await verified(files(100))
    expect([most.facts.size, most.problems]).toEqual([100, []])
    const tooMany = await verified(files(101))
    expect(tooMany.problems).toEqual([{ field: 'f100', reason: 'too_many', message: 'a job may have 100 files' }])
    expect(tooMany.facts.size).toBe(100)
  })
})

test('a problem names what may have been meant', () => {
  const message = 'the form has no file field of this name'
  expect(uploadProblem('x', 'no_file_field')).toEqual({ field: 'x', reason: 'no_file_field', message })
  expect(uploadProblem('x', 'no_file_field', ['a', 'b']).message).toBe(`${message}: a, b`)
})

describe('a sweep', () => {
  function sweeper() {
    const held = heldTimers()
    const clock = { now: () => now }
    const log = { warn: () => undefined }
    const made = createUploadSweeper({ store, folder, clock, timers: held.timers, log })
    onTestFinished(() => made.close())
    return { sweep: () => made.sweep(), soon: () => made.sweepSoon(), held }
  }

  test('removes uploads that got no job within a day, and files that belong to no upload', async () => {
    const { path: file } = await uploaded()
    const strays = ['b'.repeat(32), `${'c'.repeat(32)}.part`].map((name) => join(path, 'uploads', name))
    const [old, young] = [(START - DAY) / 1000 - 1, (START - DAY) / 1000]
    for (const stray of strays) writeFileSync(stray, '')
    for (const stray of strays) utimesSync(stray, young, young)
    const { sweep } = sweeper()
    now = START
    await sweep()
    expect([file, ...strays].map((one) => existsSync(one))).toEqual([true, true, true])
    for (const stray of [...strays, file]) utimesSync(stray, old, old)
    await sweep()
    // A file that is old has its upload: it stays.
    expect([file, ...strays].map((one) => existsSync(one))).toEqual([true, false, false])
    now = START + DAY
    await sweep()
    expect(existsSync(file)).toBe(true)
    now += 1
    await sweep()
    expect(existsSync(file)).toBe(false)
    expect(await store.read.selectFrom('upload').selectAll().execute()).toEqual([])
  })

  test('comes every ten minutes, and at once when a job was deleted', async () => {
    const { held, soon, sweep } = sweeper()
    await sweep()
    const used = async () => {
      const { path: file } = await uploaded()
      await store.write('test', (queries) => queries.updateTable('upload').set({ used: 1 }).execute())
      return file
    }
    const first = await used()
    soon()
    await waitFor('the first file to go', () => !existsSync(first))
    const second = await used()
    held.move(10 * 60_000 - 1)
    // A task that comes later ends later: nothing was begun before it.
    const third = await uploaded()
    expect([existsSync(second), existsSync(third.path)]).toEqual([true, true])
    held.move(1)
    await waitFor('the second file to go', () => !existsSync(second))
  })
})
