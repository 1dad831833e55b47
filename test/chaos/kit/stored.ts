import { open } from 'node:fs/promises'
import { once } from 'node:events'
import { join } from 'node:path'
import sqlite3 from 'sqlite3'
import type { Product } from '../../support/product.js'
import type { Truth } from './load.js'

/** How the stored job differs from what was written, in bytes of output and lines of events. All 0: it is exact. */
export interface Comparison {
  readonly outputBytes: number
  readonly events: number
  readonly lost: number
  readonly doubled: number
  readonly wrong: number
  /** Differences in words, for the report. */
  readonly problems: readonly string[]
}

/**
 * Compares what is stored of a job with what was written: output over REST byte for byte, events as lines in the database
 * and as numbers over REST.
 */
export async function compareStored(product: Product, jobId: number, truth: Truth): Promise<Comparison> {
  const problems: string[] = []
  const output = await compareOutput(product, jobId, truth, problems)
  const events = await compareEvents(product, jobId, truth, problems)
  return {
    outputBytes: output.compared,
    events: events.compared,
    lost: output.lost + events.lost,
    doubled: output.doubled + events.doubled,
    wrong: output.wrong + events.wrong,
    problems,
  }
}

/** @throws Error that says what differs */
export async function expectExactly(product: Product, jobId: number, truth: Truth): Promise<Comparison> {
  const comparison = await compareStored(product, jobId, truth)
  if (comparison.problems.length > 0) throw new Error(`job ${jobId}: ${comparison.problems.join('; ')}`)
  return comparison
}

interface Part {
  readonly compared: number
  readonly lost: number
  readonly doubled: number
  readonly wrong: number
}

/** Too much is doubled, too little is lost, anything else is wrong. */
function judge(stored: number, written: number, different: number): Part {
  return {
    compared: Math.min(stored, written),
    lost: Math.max(0, written - stored),
    doubled: Math.max(0, stored - written),
    wrong: different,
  }
}

async function compareOutput(product: Product, jobId: number, truth: Truth, problems: string[]): Promise<Part> {
  const file = await open(truth.outputPath, 'r')
  try {
    const { size } = await file.stat()
    let offset = 0
    let different = 0
    for (;;) {
      const { status, bytes } = await product.admin.raw(`/job/${jobId}/output?offset=${offset}`)
      if (status !== 200) throw new Error(`output of job ${jobId} from ${offset}: ${status} ${bytes.toString()}`)
      if (bytes.length === 0) break
      const written = Buffer.alloc(bytes.length)
      const { bytesRead } = await file.read(written, 0, bytes.length, offset)
      if (!bytes.subarray(0, bytesRead).equals(written.subarray(0, bytesRead))) different += bytesRead
      offset += bytes.length
    }
    if (offset !== size) problems.push(`${offset} bytes of output are stored, ${size} were written`)
    if (different > 0) problems.push(`output differs in pieces of ${different} bytes together`)
    return judge(offset, size, different)
  } finally {
    await file.close()
  }
}

async function compareEvents(product: Product, jobId: number, truth: Truth, problems: string[]): Promise<Part> {
  const file = await open(truth.eventsPath, 'r')
  const database = await openDatabase(product)
  try {
    const { size } = await file.stat()
    let offset = 0
    let rows = 0
    let different = 0
    for await (const { position, line } of storedLines(database, jobId)) {
      rows += 1
      const written = Buffer.alloc(line.length)
      await file.read(written, 0, line.length, offset)
      if (position !== rows || !line.equals(written)) different += 1
      offset += line.length
    }
    const shown = await countShown(product, jobId)
    if (offset !== size) problems.push(`${offset} bytes of events are stored, ${size} were written`)
    if (different > 0) problems.push(`${different} events differ from what was written or are out of order`)
    if (shown !== rows) problems.push(`${rows} events are stored and ${shown} shown`)
    return judge(rows, countWritten(await file.readFile()), different)
  } finally {
    await closeDatabase(database)
    await file.close()
  }
}

/** Lines, the last one also when it was torn. */
function countWritten(bytes: Buffer): number {
  let lines = 0
  for (let at = bytes.indexOf(0x0a); at >= 0; at = bytes.indexOf(0x0a, at + 1)) lines += 1
  return bytes.length > 0 && bytes.at(-1) !== 0x0a ? lines + 1 : lines
}

interface EventRow {
  readonly position: number
  readonly line: Buffer
}

const PAGE = 500

/** Every event of a job as it stands in the database. */
async function* storedLines(database: sqlite3.Database, jobId: number): AsyncGenerator<EventRow> {
  let last = 0
  for (;;) {
    const rows = await new Promise<EventRow[]>((resolve, reject) => {
      database.all<EventRow>(
        'select position, line from job_event where job_id = ? and position > ? order by position limit ?',
        [jobId, last, PAGE],
        (error, found) => (error ? reject(error) : resolve(found)),
      )
    })
    yield* rows
    const lastRow = rows.at(-1)
    if (!lastRow) return
    last = lastRow.position
  }
}

async function openDatabase(product: Product): Promise<sqlite3.Database> {
  const database = new sqlite3.Database(join(product.folder, 'persistent/holdfast.db'), sqlite3.OPEN_READONLY)
  await once(database, 'open')
  return database
}

function closeDatabase(database: sqlite3.Database): Promise<void> {
  return new Promise((resolve, reject) => {
    database.close((error) => (error ? reject(error) : resolve()))
  })
}

/** Events as a user sees them: numbered 1 to n. */
async function countShown(product: Product, jobId: number): Promise<number> {
  let seen = 0
  for (;;) {
    const { records } = await product.admin.get<{ records: { order: number }[] }>(
      `/job/${jobId}/events?after=${seen}&limit=5000`,
    )
    if (records.length === 0) return seen
    for (const record of records) {
      if (record.order !== seen + 1) throw new Error(`event ${record.order} of job ${jobId} comes after ${seen}`)
      seen = record.order
    }
  }
}
