import { existsSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { sql } from 'kysely'
import { beforeEach, describe, expect, onTestFinished, test } from 'vitest'
import { readRecords, writeRecords } from '../../control-plane/src/backup/backup-file.js'
import { makeBackup } from '../../control-plane/src/backup/make-backup.js'
import type { PartPlaces } from '../../control-plane/src/backup/parts.js'
import { type BackupRecord, PARTS, type Part, rowsRecord } from '../../control-plane/src/backup/records.js'
import { restoreBackup } from '../../control-plane/src/backup/restore-backup.js'
import { TableDigest } from '../../control-plane/src/backup/table-digest.js'
import { openStore } from '../../control-plane/src/store/open-store.js'
import { databaseIdOf } from '../../control-plane/src/store/service/database-id.js'

let root: string
beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), 'holdfast-backup-database-'))
  onTestFinished(() => rmSync(root, { recursive: true }))
})

const backup = () => join(root, 'a.backup')

/** The database and the places of an installation of this name. */
function installation(name: string) {
  const at = (path: string) => join(root, name, path)
  mkdirSync(at('forms'), { recursive: true })
  const places: PartPlaces = {
    forms: at('forms'),
    workflows: at('workflows'),
    playbooks: at('playbooks'),
    uploads: at('uploads'),
    config: [at('config.yaml')],
    secrets: [at('secret')],
  }
  return { at, places, database: { kind: 'sqlite', path: at('holdfast.db') } as const }
}

/** Runs statements on the database of an installation, or reads its tables. */
async function withTables(
  { database }: ReturnType<typeof installation>,
  work: (query: (statement: string) => Promise<readonly unknown[]>) => Promise<unknown>,
): Promise<void> {
  const store = await openStore(database)
  try {
    await store.write('test', (queries) => work(async (statement) => (await sql.raw(statement).execute(queries)).rows))
  } finally {
    await store.close()
  }
}

const USER = (name: string) =>
  `insert into user (username, username_key, type, groups, enabled, created_at) values ('${name}', '${name}', 'local', '[]', 1, 7)`

async function filled(name: string) {
  const made = installation(name)
  await withTables(made, async (query) => {
    await query(USER('ann'))
    await query(`insert into node (id, version, address, started_at, last_seen) values ('n1', '1', 'host:8000', 1, 2)`)
  })
  writeFileSync(made.at('forms/a.yml'), 'name: a\n')
  return made
}

function progress() {
  const steps: string[] = []
  const tables = new Map<string, number>()
  return {
    steps,
    tables,
    step: (done: string) => void steps.push(done),
    table: (name: string, rows: number) => void tables.set(name, rows),
  }
}

async function made(from: ReturnType<typeof installation>, parts: readonly Part[] = PARTS) {
  const heard = progress()
  const order = { ...from, parts, passphrase: null, version: '1.2.3', now: 7 }
  const checked = await makeBackup(backup(), order, heard)
  return { checked, heard }
}

function restored(to: ReturnType<typeof installation>, replacing: string | null = null, heard = progress()) {
  const order = { ...to, parts: PARTS, passphrase: null, replacing }
  return restoreBackup(backup(), order, heard).then((checked) => ({ checked, heard }))
}

test('a backup says what it holds, and is for its owner only', async () => {
  const from = await filled('one')
  const { checked, heard } = await made(from)
  expect(checked.head).toMatchObject({ version: '1.2.3', time: 7, database: 'sqlite', parts: [...PARTS] })
  expect([checked.rows.get('user'), checked.files.get('forms'), checked.files.get('uploads')]).toEqual([
    1,
    1,
    undefined,
  ])
  expect(heard.steps).toEqual(['written', 'verified'])
  expect(heard.tables.get('user')).toBe(1)
  expect(statSync(backup()).mode & 0o777).toBe(0o600)
  expect(readdirSync(root).sort()).toEqual(['a.backup', 'one'])
})

/** The backup with a table more, as PostgreSQL has it. */
async function withMarksOfWrites(): Promise<void> {
  const marks = [{ id: 'mark', state: 'committed' }]
  const digest = new TableDigest()
  digest.add(marks)
  const records: BackupRecord[] = []
  for await (const record of readRecords(backup(), null)) {
    const isEnd = record.type === 'end'
    if (isEnd) {
      records.push(rowsRecord('write_mark', marks))
      records.push({ type: 'table', table: 'write_mark', rows: 1, digest: digest.digest })
    }
    records.push(isEnd ? { ...record, tables: record.tables + 1, rows: record.rows + 1 } : record)
  }
  const file = await open(backup(), 'w')
  await writeRecords(file, Readable.from(records) as AsyncIterable<BackupRecord>, null)
  await file.close()
}

test('what belongs to one database is not restored: its nodes, its marks of writes and its id', async () => {
  const from = await filled('one')
  const store = await openStore(from.database)
  const id = await databaseIdOf(store)
  await store.close()
  await made(from)
  await withMarksOfWrites()
  const to = installation('two')
  const { checked, heard } = await restored(to)
  expect(['node', 'write_mark', 'database_id', 'user'].map((table) => checked.rows.get(table))).toEqual([1, 1, 1, 1])
  expect(heard.steps).toEqual(['verified', 'compared'])
  expect(heard.tables.get('user')).toBe(1)
  const other = await openStore(to.database)
  expect(await databaseIdOf(other)).not.toBe(id)
  await other.close()
  await withTables(to, async (query) => {
    expect(await query('select username from user')).toEqual([{ username: 'ann' }])
    expect(await query('select * from node')).toEqual([])
  })
  expect(readFileSync(to.at('forms/a.yml'), 'utf8')).toBe('name: a\n')
})

describe('a restore', () => {
  test('replaces a database only when it is told so, and keeps the former one', async () => {
    await made(await filled('one'))
    const to = installation('two')
    await withTables(to, (query) => query(USER('bob')))
    await expect(restored(to)).rejects.toMatchObject({ code: 'database_not_empty' })
    writeFileSync(to.at('forms/a.yml'), 'name: mine\n')
    await restored(to, to.at('holdfast.db.before'))
    await withTables(to, async (query) => {
      expect(await query('select username from user')).toEqual([{ username: 'ann' }])
    })
    expect(existsSync(to.at('holdfast.db.before'))).toBe(true)
    expect(readFileSync(to.at('forms/a.yml'), 'utf8')).toBe('name: a\n')
  })

  test('changes nothing when a file of it is there already', async () => {
    await made(await filled('one'))
    const to = installation('two')
    writeFileSync(to.at('forms/a.yml'), 'name: mine\n')
    await expect(restored(to)).rejects.toMatchObject({ code: 'file_exists' })
    expect(readdirSync(to.at(''))).toEqual(['forms'])
    expect(readFileSync(to.at('forms/a.yml'), 'utf8')).toBe('name: mine\n')
  })

  test('of a damaged backup changes nothing', async () => {
    await made(await filled('one'))
    const bytes = readFileSync(backup())
    writeFileSync(backup(), bytes.subarray(0, bytes.length - 20))
    const to = installation('two')
    await expect(restored(to)).rejects.toMatchObject({ code: 'damaged' })
    expect(readdirSync(to.at(''))).toEqual(['forms'])
  })

  test('that fails in the middle leaves no database', async () => {
    await made(await filled('one'))
    const to = installation('two')
    const heard = progress()
    const failing = {
      ...heard,
      table() {
        throw new Error('nobody listens')
      },
    }
    await expect(restored(to, null, failing)).rejects.toThrow('nobody listens')
    expect(readdirSync(to.at(''))).toEqual(['forms'])
  })
})

describe('a backup that fails', () => {
  test('leaves nothing, and says that it cannot be written', async () => {
    const from = await filled('one')
    const order = { ...from, parts: PARTS, passphrase: null, version: '1', now: 7 }
    await expect(makeBackup(join(root, 'no/such/folder'), order, progress())).rejects.toMatchObject({
      code: 'cannot_write',
    })
    expect(readdirSync(root)).toEqual(['one'])
  })

  test.each(['ENOSPC', 'EIO', 'EDQUOT', 'EROFS'])(
    'because of the disk (%s) says so, and leaves nothing',
    async (code) => {
      const from = await filled('one')
      const order = { ...from, parts: PARTS, passphrase: null, version: '1', now: 7 }
      const failing = {
        table: () => undefined,
        step() {
          throw Object.assign(new Error('the disk says no'), { code })
        },
      }
      await expect(makeBackup(backup(), order, failing)).rejects.toMatchObject({
        code: 'cannot_write',
        message: `${backup()} cannot be written: the disk says no`,
      })
      expect(readdirSync(root)).toEqual(['one'])
    },
  )

  test('because of anything else says what that was', async () => {
    const from = await filled('one')
    const order = { ...from, parts: PARTS, passphrase: null, version: '1', now: 7 }
    const failing = {
      table: () => undefined,
      step() {
        throw Object.assign(new Error('something else'), { code: 'EOTHER' })
      },
    }
    await expect(makeBackup(backup(), order, failing)).rejects.toThrow(/^something else$/)
    expect(readdirSync(root)).toEqual(['one'])
  })
})
