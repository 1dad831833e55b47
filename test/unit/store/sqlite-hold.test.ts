import { mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import sqlite3 from 'sqlite3'
import { beforeEach, expect, test } from 'vitest'
import { DatabaseHeldError } from '../../../control-plane/src/errors.js'
import { openHandle } from '../../../control-plane/src/store/sqlite/sqlite-handle.js'
import { holdSqliteFile } from '../../../control-plane/src/store/sqlite/sqlite-hold.js'

let path: string

beforeEach(() => {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-hold-'))
  path = join(folder, 'holdfast.db')
  return () => {
    rmSync(folder, { recursive: true })
  }
})

const holder = (token: string) => ({ token, pid: 7, host: 'here', since: 1 })
const noWarning = (text: string): void => {
  throw new Error(text)
}

test('a file whose time to be held is over is not held, and the lock is free again', async () => {
  await expect(holdSqliteFile(path, holder('1'), { warn: noWarning, waitMs: -1 })).rejects.toThrow(DatabaseHeldError)
  const hold = await holdSqliteFile(path, holder('2'), { warn: noWarning })
  expect(statSync(`${path}-lock`).mode & 0o777).toBe(0o600)
  await hold.close()
})

test('a file is held also when nobody can note by whom, and others are refused without a name', async () => {
  const lock = await openHandle(`${path}-lock`, sqlite3.OPEN_READWRITE | sqlite3.OPEN_CREATE)
  await lock.execute(`create table holder (id integer primary key, token text, pid integer, host text, since integer);
    create trigger full before insert on holder begin select raise(fail, 'database or disk is full'); end`)
  await lock.close()
  const warnings: string[] = []
  const hold = await holdSqliteFile(path, holder('1'), { warn: (text) => warnings.push(text) })
  expect(warnings).toEqual([
    expect.stringMatching(/^it could not be noted who holds the database: .*database or disk is full/),
  ])
  await expect(holdSqliteFile(path, holder('2'), { warn: noWarning })).rejects.toThrow('(who has not said its name)')
  await hold.close()
})

test('a lock file that is no database is told as it is', async () => {
  writeFileSync(`${path}-lock`, 'something else, and long enough to be read as the head of a file'.repeat(20), {
    mode: 0o600,
  })
  await expect(holdSqliteFile(path, holder('1'), { warn: noWarning })).rejects.toMatchObject({ code: 'SQLITE_NOTADB' })
})

test('a handle that cannot be opened says which file it is', async () => {
  await expect(openHandle(join(path, 'nowhere.db'), sqlite3.OPEN_READWRITE)).rejects.toMatchObject({
    code: 'database_unreachable',
    message: expect.stringContaining(`cannot open the database ${path}/nowhere.db: SQLITE_CANTOPEN`) as string,
  })
})
