import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, expect, test } from 'vitest'
import { readRecords, writeRecords } from '../../control-plane/src/backup/backup-file.js'
import { checkBackup } from '../../control-plane/src/backup/check-backup.js'
import { type BackupRecord, readRecord, rowsIn, rowsRecord } from '../../control-plane/src/backup/records.js'
import { TableDigest } from '../../control-plane/src/backup/table-digest.js'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-backup-file-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'a.backup')

type Row = Parameters<typeof rowsRecord>[1][number]

/** The digest of rows, and how many they are. */
function digestOf(rows: readonly Row[], columns?: readonly string[]) {
  const digest = new TableDigest()
  for (const row of rows) digest.add([row], columns)
  return { digest: digest.digest, rows: digest.rows }
}

const opened = { version: '1.0.0', time: 7, database: 'sqlite', steps: ['001-initial'], parts: ['forms'] } as const
const HEAD = { type: 'head', ...opened, tables: ['user', 'job'], sequences: { job: 3 } } as unknown as BackupRecord
const ANN = { id: 1, name: 'ann' }
const USERS = [ANN, { id: 2, name: null }]
const JOBS = [{ id: 3, output: Buffer.from([0, 255]) }]
const file = (name: string, size: number): BackupRecord => ({
  type: 'file',
  part: 'forms',
  path: name,
  mode: 0o640,
  size,
})
const data = (text: string): BackupRecord => ({ type: 'data', data: Buffer.from(text).toString('base64') })
const USER_END = { type: 'table' as const, table: 'user', ...digestOf(USERS) }
const END = { type: 'end' as const, tables: 2, rows: 3, files: 2 }
const TABLES = [
  rowsRecord('user', USERS),
  USER_END,
  rowsRecord('job', JOBS),
  { ...USER_END, table: 'job', ...digestOf(JOBS) },
]
const FILES = [file('a.yml', 5), data('he'), data('llo'), file('empty.yml', 0)]
const GOOD: BackupRecord[] = [HEAD, ...TABLES, ...FILES, END]

async function write(records: readonly BackupRecord[]): Promise<void> {
  async function* stream(): AsyncGenerator<BackupRecord> {
    for (const record of records) yield await Promise.resolve(record)
  }
  const handle = await open(path, 'w')
  await writeRecords(handle, stream(), null)
  await handle.close()
}

test('a backup is read as it was written, and may have no tables and no files', async () => {
  await write(GOOD)
  const taken: BackupRecord[] = []
  const checked = await checkBackup(path, null, (record) => void taken.push(record))
  expect([taken, [...checked.rows.values()], [...checked.files]]).toEqual([GOOD, [2, 1], [['forms', 2]]])
  await write([HEAD, { ...END, tables: 0, rows: 0, files: 0 }])
  expect((await checkBackup(path, null)).head).toEqual(HEAD)
})

test.each<[string, BackupRecord[]]>([
  ['has no head', GOOD.slice(1)],
  ['has two heads', [HEAD, ...GOOD]],
  ['goes on after its end', [...GOOD, data('x')]],
  ['has no end', GOOD.slice(0, -1)],
  ['has nothing', []],
  ['misses rows', [HEAD, USER_END, { ...END, tables: 1, rows: 2, files: 0 }]],
  ['has a row more than it counts', [HEAD, rowsRecord('user', USERS), { ...USER_END, rows: 3 }, END]],
  [
    'has another value',
    [HEAD, rowsRecord('user', [{ id: 1, name: 'eve' }, ...USERS.slice(1)]), ...TABLES.slice(1), ...FILES, END],
  ],
  ['has a file that is too short', [HEAD, ...TABLES, file('a', 5), data('hell'), file('b', 0), END]],
  ['has a file that is too long', [HEAD, ...TABLES, file('a', 5), data('hello!'), file('b', 0), END]],
  ['has bytes without a file', [HEAD, ...TABLES, data('x'), ...FILES, END]],
  ['counts other tables', [HEAD, ...TABLES, ...FILES, { ...END, tables: 3 }]],
  ['counts other rows', [HEAD, ...TABLES, ...FILES, { ...END, rows: 2 }]],
  ['counts other files', [HEAD, ...TABLES, ...FILES, { ...END, files: 1 }]],
])('a backup that %s is damaged', async (_what, records) => {
  await write(records)
  await expect(checkBackup(path, null)).rejects.toMatchObject({ code: 'damaged' })
})

const recipe = (changes: object) =>
  `HOLDFAST-BACKUP 1 ${JSON.stringify({ salt: 'c2FsdA==', cost: 16, blockSize: 8, parallel: 1, ...changes })}\n`
const lines = (...all: string[]) => Buffer.concat([Buffer.from('HOLDFAST-BACKUP 1\n'), gzipSync(all.join('\n'))])

test.each<[string, string | Buffer, string]>([
  ['of something else', 'something else\n', 'no_backup'],
  ['of a newer release', 'HOLDFAST-BACKUP 2\n', 'no_backup'],
  ['without an end of its first line', 'HOLDFAST-BACKUP 1', 'no_backup'],
  ['without anything', '', 'no_backup'],
  ['whose first line is no JSON', 'HOLDFAST-BACKUP 1 {\n', 'damaged'],
  // It would take all memory, or all time.
  ['with a key of a cost beyond all reason', recipe({ cost: 2 ** 30 }), 'damaged'],
  ['with a key of blocks beyond all reason', recipe({ blockSize: 4096 }), 'damaged'],
  ['with a key of turns beyond all reason', recipe({ parallel: 4096 }), 'damaged'],
  ['with a line that is cut', lines(JSON.stringify(HEAD), '{"type"'), 'damaged'],
  ['with a line that is no JSON', lines(JSON.stringify(HEAD), 'x', ''), 'damaged'],
  ['with a line of another kind', lines('{"type":"other"}', ''), 'damaged'],
])('a file %s is refused', async (_what, content, code) => {
  writeFileSync(path, content)
  const all = async () => {
    for await (const _ of readRecords(path, 'a passphrase'));
  }
  await expect(all()).rejects.toMatchObject({ code })
})

test('rows keep their values, whatever they are and in whatever order their columns come', () => {
  const rows = [
    { b: 1.5, a: 'text', c: null },
    { c: Buffer.from([1, 2]), a: '', b: -1 },
  ]
  const read = readRecord(JSON.stringify(rowsRecord('t', rows)))
  expect(read.type === 'rows' && rowsIn(read)).toEqual(rows)
})

test.each([[true], [{}], [{ $: 1 }], [[]]])('a row has no value %j', (value) => {
  const record = { type: 'rows' as const, table: 't', columns: ['a'], rows: [[value]] }
  expect(() => rowsIn(record)).toThrow('is damaged')
})

test('the digest of a table does not depend on the order of its rows, and counts only the columns that it is told', () => {
  const [one, other] = [
    { a: 1, b: 2 },
    { a: 3, b: null },
  ]
  expect(digestOf([one, other])).toEqual(digestOf([other, one]))
  expect(digestOf([one, one]).digest).not.toBe(digestOf([one]).digest)
  expect(digestOf([{ ...one, c: 5 }], ['a', 'b'])).toEqual(digestOf([one]))
  expect(digestOf([{ a: 3 }], ['a', 'b'])).toEqual(digestOf([other]))
})
