import { createHash } from 'node:crypto'
import { open, readFile } from 'node:fs/promises'
import type { Product } from '../../support/product.js'
import { type ProductDatabase, openProductDatabase } from '../../support/product-database.js'
import { shownOutput } from '../../support/shown-output.js'
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
 * Compares what is stored of a job with what was written: every byte of output and every line of events as they stand in
 * the database, and that users are shown just these over REST.
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
  // The marks of events are no part of what people see.
  const all = shownOutput(await readFile(truth.outputPath))
  const database = await openProductDatabase(product)
  try {
    const size = all.length
    const shown = createHash('sha256')
    let offset = 0
    let different = 0
    for await (const { origin, data } of storedPieces(database, jobId)) {
      shown.update(data)
      // The service's own lines ("Waiting for a free slot") are no part of what the runner wrote.
      if (origin !== 'runner') continue
      const written = all.subarray(offset, offset + data.length)
      if (!data.subarray(0, written.length).equals(written)) different += written.length
      offset += data.length
    }
    if (offset !== size) problems.push(`${offset} bytes of output are stored, ${size} were written`)
    if (different > 0) problems.push(`output differs in pieces of ${different} bytes together`)
    if (shown.digest('hex') !== (await hashOfShown(product, jobId)))
      problems.push('output is shown otherwise than stored')
    return judge(offset, size, different)
  } finally {
    await database.close()
  }
}

/** SHA-256 of the output as a user reads it, piece by piece. */
async function hashOfShown(product: Product, jobId: number): Promise<string> {
  const hash = createHash('sha256')
  let offset = 0
  for (;;) {
    const { status, bytes } = await product.admin.raw(`/job/${jobId}/output?offset=${offset}`)
    if (status !== 200) throw new Error(`output of job ${jobId} from ${offset}: ${status} ${bytes.toString()}`)
    if (bytes.length === 0) return hash.digest('hex')
    hash.update(bytes)
    offset += bytes.length
  }
}

interface OutputRow {
  readonly position: number
  readonly origin: string
  readonly data: Buffer
}

const PIECES = 16

async function* storedPieces(database: ProductDatabase, jobId: number): AsyncGenerator<OutputRow> {
  yield* pages<OutputRow>(
    database,
    `select position, origin, data from job_output where job_id = ? and position > ? order by position limit ${PIECES}`,
    jobId,
    -1,
  )
}

async function compareEvents(product: Product, jobId: number, truth: Truth, problems: string[]): Promise<Part> {
  const file = await open(truth.eventsPath, 'r')
  const database = await openProductDatabase(product)
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
    await database.close()
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

const LINES = 500

/** Every event of a job as it stands in the database. */
async function* storedLines(database: ProductDatabase, jobId: number): AsyncGenerator<EventRow> {
  yield* pages<EventRow>(
    database,
    `select position, line from job_event where job_id = ? and position > ? order by position limit ${LINES}`,
    jobId,
    0,
  )
}

/** The rows of a query that takes a job and the last position, a page at a time. */
async function* pages<Row extends { readonly position: number }>(
  database: ProductDatabase,
  sql: string,
  jobId: number,
  before: number,
): AsyncGenerator<Row> {
  let last = before
  for (;;) {
    const rows = await database.rows<Row>(sql, [jobId, last])
    yield* rows
    const lastRow = rows.at(-1)
    if (!lastRow) return
    last = lastRow.position
  }
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
