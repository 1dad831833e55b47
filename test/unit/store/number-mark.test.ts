import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeEach, expect, test } from 'vitest'
import { knownDatabaseId } from '../../../control-plane/src/store/service/database-id.js'
import { keepNumberMark } from '../../../control-plane/src/store/sqlite/number-mark.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import type { Store } from '../../../control-plane/src/store/store.js'
import { heldTimers } from '../../api/held-timers.js'
import { putJob } from '../../api/job-rows.js'

let path: string
let mark: string
let store: Store

beforeEach(async () => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-mark-'))
  path = join(folder, 'holdfast.db')
  mark = `${path}-mark`
  store = (await openSqliteStore(path)) as Store
  return async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  }
})

async function keep() {
  const held = heldTimers()
  const warnings: string[] = []
  const kept = await keepNumberMark(path, store, { timers: held.timers, warn: (text) => warnings.push(text) })
  return { ...held, warnings, close: () => kept.close(), id: await knownDatabaseId(store.read) }
}
const markText = () => readFileSync(mark, 'utf8')
const markOf = (numbers: Readonly<Record<string, number>>, database: string | null) =>
  JSON.stringify({ database, numbers })

test('a new database gets an id and a mark for its owner only, and nothing is said', async () => {
  const { id, warnings, close, count } = await keep()
  expect(id).toMatch(/^[0-9a-f-]{36}$/)
  expect(warnings).toEqual([])
  expect(statSync(mark)).toMatchObject({ size: 4096, mode: 0o100600 })
  expect(JSON.parse(markText())).toEqual({ database: id, numbers: {} })
  expect(count()).toBe(1)
  await close()
  expect(count()).toBe(0)
})

test('the mark follows the numbers that are given, and is not written when there are none', async () => {
  const { id, close, move } = await keep()
  rmSync(mark)
  move(5000)
  await putJob({ store })
  expect(existsSync(mark)).toBe(false)
  move(1000)
  await expect.poll(() => existsSync(mark) && markText().trim()).toBe(markOf({ job: 1 }, id))
  rmSync(mark)
  await close()
  // The last time it is written whatever was before.
  expect(JSON.parse(markText())).toEqual({ database: id, numbers: { job: 1 } })
})

test('a mark that is behind or equal keeps the id', async () => {
  const first = await keep()
  await putJob({ store })
  await first.close()
  const second = await keep()
  await second.close()
  writeFileSync(mark, markOf({ job: 0 }, first.id))
  const third = await keep()
  await third.close()
  expect([second.id, third.id]).toEqual([first.id, first.id])
  expect([second.warnings, third.warnings]).toEqual([[], []])
})

test.each([
  [
    'ahead of the database',
    (id: string | null) => markOf({ job: 2 }, id),
    /^The database was put back to an earlier state: job 2 is not in it, so/,
  ],
  ['ahead in a table that gave none', (id: string | null) => markOf({ runner: 1 }, id), /: runner 1 is not in it/],
  ['of another database', () => markOf({}, 'other'), /-mark belongs to another database, so/],
  ['no mark at all', () => '{"database":1}', /-mark is damaged, so/],
])('a mark that is %s gives a new id, and says why', async (_what, text, words) => {
  const first = await keep()
  await putJob({ store })
  await first.close()
  writeFileSync(mark, text(first.id))
  const second = await keep()
  await second.close()
  expect(second.id).not.toBe(first.id)
  expect(second.warnings).toEqual([expect.stringMatching(words)])
  expect(JSON.parse(markText())).toEqual({ database: second.id, numbers: { job: 1 } })
})

test.each([
  ['is missing', () => rmSync(mark), /-mark is not there, so/],
  [
    'was put there with its times',
    () => utimesSync(mark, new Date(), new Date(Date.now() - 60_000)),
    /-mark was put there or changed by somebody else, so/,
  ],
  [
    'cannot be read',
    () => {
      rmSync(mark)
      mkdirSync(mark)
    },
    /-mark cannot be read: EISDIR/,
  ],
])('a mark that %s gives a new id, and says why', async (_what, change, words) => {
  const first = await keep()
  await first.close()
  change()
  const second = await keep()
  await second.close()
  expect(second.id).not.toBe(first.id)
  expect(second.warnings[0]).toMatch(words)
})

test('the file of a mark is not kept open', async () => {
  await (await keep()).close()
  await (await keep()).close()
  const open = readdirSync('/proc/self/fd').filter((number) => {
    try {
      return readlinkSync(`/proc/self/fd/${number}`) === mark
    } catch {
      // Closed in the meantime.
      return false
    }
  })
  expect(open).toEqual([])
})

test('a mark that cannot be written is said once', async () => {
  mkdirSync(mark)
  const { warnings, close, move } = await keep()
  const failures = () => warnings.filter((text) => text.includes('cannot be written: EISDIR'))
  expect(failures()).toHaveLength(1)
  await putJob({ store })
  move(1000)
  await close()
  expect(failures()).toHaveLength(1)
})
