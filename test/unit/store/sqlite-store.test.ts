import {
  copyFileSync,
  existsSync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { sql } from 'kysely'
import pino from 'pino'
import sqlite3 from 'sqlite3'
import { beforeEach, describe, expect, test } from 'vitest'
import { DatabaseHeldError } from '../../../control-plane/src/errors.js'
import { createPartsOwner } from '../../../protocol/host/src/parts-owner.js'
import { composeStore } from '../../../control-plane/src/store/compose.js'
import { schemaState } from '../../../control-plane/src/store/migrations/index.js'
import { openHandle } from '../../../control-plane/src/store/sqlite/sqlite-handle.js'
import { openSqliteStore } from '../../../control-plane/src/store/sqlite/sqlite-store.js'
import type { Queries } from '../../../control-plane/src/store/store.js'
import { heldTimers } from '../../api/held-timers.js'

let folder: string
let path: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'holdfast-store-'))
  path = join(folder, 'holdfast.db')
  return () => {
    rmSync(folder, { recursive: true })
  }
})

/** The files of the folder that this process has open. */
const openFiles = () =>
  readdirSync('/proc/self/fd').flatMap((number) => {
    try {
      return [readlinkSync(`/proc/self/fd/${number}`)].filter((file) => file.startsWith(folder))
    } catch {
      // Closed in the meantime.
      return []
    }
  })
async function settingsOf(queries: Queries) {
  const settings: Record<string, unknown> = {}
  for (const name of ['journal_mode', 'synchronous', 'foreign_keys', 'query_only']) {
    const { rows } = await sql.raw<Record<string, unknown>>(`pragma ${name}`).execute(queries)
    Object.assign(settings, rows[0])
  }
  return settings
}

describe('the store of a database file', () => {
  test('writes what is on the disk before anybody learns of it, and keeps to its keys', async () => {
    const store = await openSqliteStore(path)
    expect(await store.write('test', settingsOf)).toMatchObject({
      journal_mode: 'wal',
      synchronous: 2,
      foreign_keys: 1,
    })
    expect(statSync(path).mode & 0o777).toBe(0o600)
    await store.close()
    expect(openFiles()).toEqual([])
    await expect(store.write('late', settingsOf)).rejects.toMatchObject({ code: 'stopping' })
  })

  test('reads with two handles that cannot write', async () => {
    const store = await openSqliteStore(path)
    for (let turn = 0; turn < 3; turn += 1) {
      expect(await settingsOf(store.read)).toMatchObject({ query_only: 1 })
      await expect(store.read.deleteFrom('lock').execute()).rejects.toThrow(/readonly/)
    }
    // One for writes and two for reads.
    expect(openFiles().filter((file) => file === path)).toHaveLength(3)
    await store.close()
  })

  test('makes its tables, unless they are taken as they are', async () => {
    const bare = await openSqliteStore(path, undefined, 'taken as they are')
    expect(await schemaState(bare.read)).toBe('not provisioned')
    await expect(bare.check()).rejects.toMatchObject({ code: 'schema_not_provisioned' })
    await bare.close()
    const store = await openSqliteStore(path)
    expect(await schemaState(store.read)).toBe('good')
    await expect(store.check()).resolves.toBeUndefined()
    await store.close()
  })

  test('tells what cannot be opened, and leaves nothing open', async () => {
    writeFileSync(path, 'something else, and long enough to be read as the head of a file'.repeat(20))
    await expect(openSqliteStore(path)).rejects.toMatchObject({ code: 'SQLITE_NOTADB' })
    expect(openFiles()).toEqual([])
  })

  test('leaves nothing open when its tables cannot be made', async () => {
    const handle = await openHandle(path, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE)
    await handle.execute('create table job (of_another_program text)')
    await handle.close()
    await expect(openSqliteStore(path)).rejects.toThrow('(001-initial)')
    expect(openFiles()).toEqual([])
  })

  test('moves the log that another process left into the file', async () => {
    const other = await openSqliteStore(path)
    await other.write('test', (queries) =>
      queries
        .insertInto('lock')
        .values({ name: 'x', holder: 'x', holder_id: null, taken_at: 1, touched_at: 1 })
        .execute(),
    )
    // As a process leaves it that is killed.
    const left = join(folder, 'left.db')
    for (const end of ['', '-wal']) copyFileSync(path + end, left + end)
    await other.close()
    const store = await openSqliteStore(left, undefined, 'taken as they are')
    const alone = join(folder, 'alone.db')
    copyFileSync(left, alone)
    await store.close()
    const copy = await openSqliteStore(alone, undefined, 'taken as they are')
    expect(await copy.read.selectFrom('lock').select('name').execute()).toEqual([{ name: 'x' }])
    await copy.close()
  })
})

describe('the database of a program', () => {
  const compose = (owner: ReturnType<typeof createPartsOwner>, timers = heldTimers().timers) =>
    composeStore(
      {
        clock: { now: () => 5 },
        steady: { now: () => 5 },
        timers,
        random: (bytes) => Buffer.alloc(bytes),
        log: pino({ level: 'silent' }),
        onClose: owner.onClose,
      },
      { database: { kind: 'sqlite', path } },
    )

  test('is its own until it ends, and then everything is closed', async () => {
    const [owner, other] = [createPartsOwner(), createPartsOwner()]
    const { timers, count } = heldTimers()
    const store = await compose(owner, timers)
    await expect(store.check()).resolves.toBeUndefined()
    await expect(compose(other)).rejects.toThrow(DatabaseHeldError)
    await other.close()
    expect(count()).toBe(1)
    await owner.close()
    expect([count(), openFiles(), existsSync(`${path}-mark`)]).toEqual([0, [], true])
    const again = createPartsOwner()
    await compose(again)
    await again.close()
  })
})
