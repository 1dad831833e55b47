import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { afterAll, describe, expect, test } from 'vitest'
import { readRecords, writeRecords } from '../../control-plane/src/backup/backup-file.js'
import { checkBackup } from '../../control-plane/src/backup/check-backup.js'
import { type BackupRecord, PARTS, readRecord, rowsIn, rowsRecord } from '../../control-plane/src/backup/records.js'
import { syncedFiles } from '../support/synced-files.js'
import { TableDigest } from '../../control-plane/src/backup/table-digest.js'

const folder = mkdtempSync(join(tmpdir(), 'holdfast-backup-file-'))
afterAll(() => rmSync(folder, { recursive: true }))
const path = join(folder, 'a.backup')

const HEAD: BackupRecord = {
  type: 'head',
  version: '1.0.0',
  time: 7,
  database: 'sqlite',
  steps: ['001-initial'],
  tables: ['user', 'job'],
  sequences: { job: 3 },
  parts: ['forms'],
}
const USERS = [
  { id: 1, name: 'ann' },
  { id: 2, name: null },
]
const JOBS = [{ id: 3, output: Buffer.from([0, 255]) }]

const digestOf = (rows: readonly (typeof USERS)[number][] | typeof JOBS) => {
  const digest = new TableDigest()
  digest.add(rows)
  return digest.digest
}
const file = (name: string, size: number): BackupRecord => ({
  type: 'file',
  part: 'forms',
  path: name,
  mode: 0o640,
  size,
})
const data = (text: string): BackupRecord => ({ type: 'data', data: Buffer.from(text).toString('base64') })
const USER_END: BackupRecord = { type: 'table', table: 'user', rows: 2, digest: digestOf(USERS) }
const JOB_END: BackupRecord = { type: 'table', table: 'job', rows: 1, digest: digestOf(JOBS) }
const END: BackupRecord = { type: 'end', tables: 2, rows: 3, files: 2 }
const TABLES = [rowsRecord('user', USERS), USER_END, rowsRecord('job', JOBS), JOB_END]
const FILES = [file('a.yml', 5), data('he'), data('llo'), file('empty.yml', 0)]
const GOOD = [HEAD, ...TABLES, ...FILES, END]

async function* streamOf(records: readonly BackupRecord[]): AsyncGenerator<BackupRecord> {
  for (const record of records) yield await Promise.resolve(record)
}

async function write(records: readonly BackupRecord[], passphrase: string | null = null): Promise<void> {
  const handle = await open(path, 'w')
  await writeRecords(handle, streamOf(records), passphrase)
  await handle.close()
}

async function read(passphrase: string | null = null): Promise<BackupRecord[]> {
  const found: BackupRecord[] = []
  for await (const record of readRecords(path, passphrase)) found.push(record)
  return found
}

describe('a backup that is checked', () => {
  test('is read as it was written, in the same order', async () => {
    const synced = await syncedFiles()
    await write(GOOD)
    expect(synced).toEqual([path])
    expect(await read()).toEqual(GOOD)
    const taken: BackupRecord[] = []
    const checked = await checkBackup(path, null, (record) => void taken.push(record))
    expect(taken).toEqual(GOOD)
    expect(checked.head).toEqual(HEAD)
    expect([...checked.rows]).toEqual([
      ['user', 2],
      ['job', 1],
    ])
    expect([...checked.files]).toEqual([['forms', 2]])
  })

  test('may have no tables and no files', async () => {
    await write([HEAD, { type: 'end', tables: 0, rows: 0, files: 0 }])
    expect((await checkBackup(path, null)).head).toEqual(HEAD)
  })

  const parts = 'The backup is damaged: its parts cannot be what was written'
  test.each<[string, BackupRecord[], string]>([
    ['has no head', GOOD.slice(1), parts],
    ['has two heads', [HEAD, ...GOOD], parts],
    ['has its head after a table', [...TABLES, HEAD, END], parts],
    ['goes on after its end', [...GOOD, data('x')], parts],
    ['has no end', GOOD.slice(0, -1), 'The backup is damaged: its end is missing'],
    ['has nothing', [], 'The backup is damaged: its end is missing'],
    ['misses rows', [HEAD, USER_END, END], 'The backup is damaged: the table user cannot be what was written'],
    [
      'has other rows than it counts',
      [HEAD, rowsRecord('user', USERS), { ...USER_END, rows: 3 }, END],
      'The backup is damaged: the table user cannot be what was written',
    ],
    [
      'has another value in a row',
      [HEAD, rowsRecord('user', [{ id: 1, name: 'eve' }, ...USERS.slice(1)]), USER_END, END],
      'The backup is damaged: the table user cannot be what was written',
    ],
    ['has a file that is too short', [HEAD, ...TABLES, file('a', 5), data('hell'), file('b', 0), END], parts],
    [
      'has a file that is too long',
      [HEAD, ...TABLES, file('a', 5), data('hello!'), file('b', 0), END],
      'The backup is damaged: a file cannot be what was written',
    ],
    [
      'has bytes without a file',
      [HEAD, ...TABLES, data('x'), ...FILES, END],
      'The backup is damaged: a file cannot be what was written',
    ],
    ['counts other tables', [HEAD, ...TABLES, ...FILES, { ...END, tables: 3 }], parts],
    ['counts other rows', [HEAD, ...TABLES, ...FILES, { ...END, rows: 2 }], parts],
    ['counts other files', [HEAD, ...TABLES, ...FILES, { ...END, files: 1 }], parts],
  ])('and %s is damaged', async (_what, records, message) => {
    await write(records)
    await expect(checkBackup(path, null)).rejects.toMatchObject({ code: 'damaged', message })
  })
})

describe('the file of a backup', () => {
  test('that is sealed needs its passphrase, and one that is not needs none', async () => {
    await write(GOOD, 'a passphrase')
    expect(readFileSync(path, 'latin1')).toMatch(/^HOLDFAST-BACKUP 1 \{"salt":"[^"]+","cost":65536,.*\}\n/)
    expect(await read('a passphrase')).toEqual(GOOD)
    await expect(read()).rejects.toMatchObject({ code: 'passphrase_needed' })
    await expect(read('another')).rejects.toMatchObject({ code: 'wrong_passphrase' })
    await write(GOOD)
    expect(readFileSync(path, 'latin1')).toMatch(/^HOLDFAST-BACKUP 1\n/)
    expect(await read('a passphrase')).toEqual(GOOD)
  })

  const recipe = { salt: 'c2FsdA==', cost: 16, blockSize: 8, parallel: 1 }
  test.each<[string, object | string]>([
    ['no JSON', '{'],
    ['too high a cost', { ...recipe, cost: 2 ** 20 + 1 }],
    ['too low a cost', { ...recipe, cost: 1 }],
    ['too large a block', { ...recipe, blockSize: 17 }],
    ['too small a block', { ...recipe, blockSize: 0 }],
    ['too much at once', { ...recipe, parallel: 17 }],
    ['nothing at once', { ...recipe, parallel: 0 }],
    ['too long a salt', { ...recipe, salt: 'x'.repeat(101) }],
  ])('that says %s in its first line is damaged', async (_what, first) => {
    writeFileSync(path, `HOLDFAST-BACKUP 1 ${typeof first === 'string' ? first : JSON.stringify(first)}\n`)
    const message = 'The backup is damaged: its first line cannot be read'
    await expect(read('a passphrase')).rejects.toMatchObject({ code: 'damaged', message })
  })

  test.each([
    ['of something else', 'something else\n'],
    ['of a newer release', 'HOLDFAST-BACKUP 2\n'],
    ['without an end of its first line', 'HOLDFAST-BACKUP 1'],
    ['with a first line that is too long', `HOLDFAST-BACKUP 1 {${' '.repeat(4096)}}\n`],
    ['without anything', ''],
  ])('%s is no backup', async (_what, content) => {
    writeFileSync(path, content)
    await expect(read()).rejects.toMatchObject({ code: 'no_backup' })
  })

  test('that is not there is no backup', async () => {
    const nowhere = readRecords(join(folder, 'nowhere'), null).next()
    await expect(nowhere).rejects.toMatchObject({ code: 'no_backup' })
  })

  test.each([
    ['a line that is cut', `${JSON.stringify(HEAD)}\n{"type"`, 'its last line is cut'],
    ['a line that is no JSON', `${JSON.stringify(HEAD)}\nx\n`, 'a line of it cannot be read'],
    ['a line of another kind', '{"type":"other"}\n', 'a line of it cannot be read'],
  ])('with %s is damaged', async (_what, text, words) => {
    writeFileSync(path, Buffer.concat([Buffer.from('HOLDFAST-BACKUP 1\n'), gzipSync(text)]))
    await expect(read()).rejects.toMatchObject({ code: 'damaged', message: `The backup is damaged: ${words}` })
  })

  test('that is cut is damaged', async () => {
    await write(GOOD)
    const bytes = readFileSync(path)
    writeFileSync(path, bytes.subarray(0, bytes.length - 5))
    await expect(read()).rejects.toMatchObject({ code: 'damaged' })
  })

  test('whose records fail is not written', async () => {
    async function* failing(): AsyncGenerator<BackupRecord> {
      yield await Promise.resolve(HEAD)
      throw new Error('the database is gone')
    }
    const handle = await open(path, 'w')
    await expect(writeRecords(handle, failing(), null)).rejects.toThrow('the database is gone')
    await handle.close()
  })
})

describe('the lines of a backup', () => {
  test.each(PARTS)('may be of the part %s', (part) => {
    const record = { type: 'file', part, path: 'a', mode: 0, size: 0 }
    expect(readRecord(JSON.stringify(record))).toEqual(record)
    expect(readRecord(JSON.stringify({ ...HEAD, parts: [part] }))).toMatchObject({ parts: [part] })
  })

  test.each(['sqlite', 'postgres'])('may be of a database of the kind %s', (database) => {
    expect(readRecord(JSON.stringify({ ...HEAD, database }))).toMatchObject({ database })
  })

  test.each([
    { ...HEAD, parts: ['other'] },
    { ...HEAD, database: 'other' },
    { ...HEAD, sequences: { job: -1 } },
    { type: 'file', part: 'other', path: 'a', mode: 0, size: 0 },
    { type: 'file', part: 'forms', path: 'a', mode: 0, size: -1 },
    { type: 'rows', table: 'a', columns: [], rows: [{}] },
    { type: 'data', data: 1 },
    null,
  ])('are not %j', (record) => {
    expect(() => readRecord(JSON.stringify(record))).toThrow('The backup is damaged: a line of it cannot be read')
  })

  test('have the values of rows in the order of the columns, whatever they are', () => {
    const rows = [
      { b: 1.5, a: 'text', c: null },
      { c: Buffer.from([1, 2]), a: '', b: -1 },
    ]
    const record = rowsRecord('t', rows)
    expect(record).toMatchObject({
      table: 't',
      columns: ['a', 'b', 'c'],
      rows: [
        ['text', 1.5, null],
        ['', -1, { $: 'AQI=' }],
      ],
    })
    const read = readRecord(JSON.stringify(record))
    expect(read.type === 'rows' && rowsIn(read)).toEqual(rows)
  })

  test.each([[true], [{}], [{ $: 1 }], [[]]])('have no value %j', (value) => {
    const record = { type: 'rows' as const, table: 't', columns: ['a'], rows: [[value]] }
    expect(() => rowsIn(record)).toThrow('The backup is damaged: a value of it cannot be read')
  })

  test('have a value for each column', () => {
    const record = { type: 'rows' as const, table: 't', columns: ['a', 'b'], rows: [['x']] }
    expect(() => rowsIn(record)).toThrow('The backup is damaged: a value of it cannot be read')
  })
})

test('the digest of a table does not depend on the order of its rows, and counts only the columns that it is told', () => {
  const [one, other] = [
    { a: 1, b: 2 },
    { a: 3, b: null },
  ] as const
  const digestFrom = (rows: readonly Record<string, number | null>[], columns?: readonly string[]) => {
    const digest = new TableDigest()
    for (const row of rows) digest.add([row], columns)
    return { digest: digest.digest, rows: digest.rows }
  }
  expect(digestFrom([one, other])).toEqual(digestFrom([other, one]))
  expect(digestFrom([one, other]).rows).toBe(2)
  expect(digestFrom([one, one]).digest).not.toBe(digestFrom([one]).digest)
  expect(digestFrom([{ ...one, c: 5 }], ['a', 'b'])).toEqual(digestFrom([one]))
  expect(digestFrom([{ a: 3 }], ['a', 'b'])).toEqual(digestFrom([other]))
  expect(digestFrom([]).digest).toBe('0'.repeat(64))
})
