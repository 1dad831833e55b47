import { createReadStream } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import { createGunzip, createGzip } from 'node:zlib'
import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { messageOf } from '../errors.js'
import { BackupError } from './backup-error.js'
import { type KeyRecipe, backupKeyOf, newRecipe, decrypted, sealed } from './encryption.js'
import { type BackupRecord, readRecord } from './records.js'
import { writeAll } from './write-all.js'

/**
 * The first line of a backup. An encrypted backup has the recipe of its key behind it. After the first line come lines of
 * JSON (records.ts). They are compressed with gzip, and encrypted if a passphrase was given.
 */
const MAGIC = 'HOLDFAST-BACKUP 1'
/** Longest first line that is read, in bytes. */
const MAX_FIRST_LINE = 4096
const NEWLINE = 0x0a
/** Longest line that is read, in characters. A written line has the rows of some megabytes. */
const MAX_LINE = 64 * 1024 * 1024

/** Writes records as a backup into an open file. @param passphrase null: the backup is not encrypted */
export async function writeRecords(
  file: FileHandle,
  records: AsyncIterable<BackupRecord>,
  passphrase: string | null,
): Promise<void> {
  const recipe = passphrase === null ? null : newRecipe()
  await writeAll(file, Buffer.from(`${MAGIC}${recipe === null ? '' : ` ${JSON.stringify(recipe)}`}\n`))
  const packed = packedLines(records)
  const bytes = passphrase === null || recipe === null ? packed : sealed(packed, await backupKeyOf(passphrase, recipe))
  for await (const piece of bytes) await writeAll(file, piece)
  await file.sync()
}

async function* packedLines(records: AsyncIterable<BackupRecord>): AsyncGenerator<Buffer> {
  const gzip = createGzip({ level: 1 })
  const feeding = pipeline(Readable.from(linesOf(records)), gzip)
  // A failure of `records` also destroys `gzip`, and the loop below throws it.
  feeding.catch(() => undefined)
  for await (const piece of gzip) yield piece as Buffer
  await feeding
}

async function* linesOf(records: AsyncIterable<BackupRecord>): AsyncGenerator<string> {
  for await (const record of records) yield `${JSON.stringify(record)}\n`
}

/**
 * Reads the records of a backup, one after the other.
 * @throws BackupError `no_backup`, `passphrase_needed`, `wrong_passphrase`, `damaged`
 */
export async function* readRecords(path: string, passphrase: string | null): AsyncGenerator<BackupRecord> {
  const { length, recipe } = await readFirstLine(path)
  if (recipe !== null && passphrase === null) {
    throw new BackupError('passphrase_needed', 'The backup is encrypted: give --passphrase-file')
  }
  const bytes = createReadStream(path, { start: length }) as AsyncIterable<Buffer>
  const packed =
    recipe === null || passphrase === null ? bytes : decrypted(bytes, await backupKeyOf(passphrase, recipe))
  let rest = ''
  const text = createGunzip().setEncoding('utf8')
  const feeding = pipeline(Readable.from(packed, { objectMode: false }), text)
  // A failure of `packed` also destroys `text`, and the loop below throws it.
  feeding.catch(() => undefined)
  try {
    for await (const piece of text as AsyncIterable<string>) {
      const parts = (rest + piece).split('\n')
      rest = parts.pop() ?? ''
      if (rest.length > MAX_LINE) throw new BackupError('damaged', 'The backup is damaged: a line never ends')
      for (const line of parts) yield readRecord(line)
    }
  } catch (error) {
    throw error instanceof BackupError ? error : damaged(error)
  }
  if (rest !== '') throw new BackupError('damaged', 'The backup is damaged: its last line is cut')
}

const Recipe = Compile(
  Type.Object({
    salt: Type.String({ maxLength: 100 }),
    cost: Type.Integer({ minimum: 2, maximum: 2 ** 20 }),
    blockSize: Type.Integer({ minimum: 1, maximum: 16 }),
    parallel: Type.Integer({ minimum: 1, maximum: 16 }),
  }),
)

function recipeIn(text: string): KeyRecipe {
  try {
    const value: unknown = JSON.parse(text)
    if (Recipe.Check(value)) return value
  } catch {
    // The error below says so.
  }
  throw new BackupError('damaged', 'The backup is damaged: its first line cannot be read')
}

function damaged(error: unknown): BackupError {
  return new BackupError('damaged', `The backup is damaged: ${messageOf(error)}`)
}

async function readFirstLine(path: string): Promise<{ readonly length: number; readonly recipe: KeyRecipe | null }> {
  const file = await open(path, 'r').catch((error: unknown) => {
    throw new BackupError('no_backup', `${path} cannot be read: ${messageOf(error)}`)
  })
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(MAX_FIRST_LINE), 0, MAX_FIRST_LINE, 0)
    const end = buffer.subarray(0, bytesRead).indexOf(NEWLINE)
    const line = buffer.toString('utf8', 0, Math.max(0, end))
    if (line === MAGIC) return { length: end + 1, recipe: null }
    if (line.startsWith(`${MAGIC} {`)) return { length: end + 1, recipe: recipeIn(line.slice(MAGIC.length + 1)) }
    throw new BackupError('no_backup', `${path} is no backup of Holdfast, or one of a newer release`)
  } finally {
    await file.close()
  }
}
