import { existsSync, linkSync, mkdirSync, readFileSync, readdirSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect } from 'vitest'
import type { Product } from './product.js'
import { shownOutput } from './shown-output.js'
import { waitFor } from './wait.js'

/** What the supervisor of a job wrote, kept by a second link when the agent removes the job's folder. */
export interface Written {
  /** Without the marks of events. */
  output(): Buffer
  events(): Buffer
}

/** Where `keepWritten` keeps the streams of a job. */
export function keptOf(product: Product, jobId: number): { readonly outputPath: string; readonly eventsPath: string } {
  const folder = join(product.folder, `kept-${jobId}`)
  return { outputPath: join(folder, 'output.log'), eventsPath: join(folder, 'events.jsonl') }
}

/** Keeps hold of the two stream files of a job on its runner. */
export async function keepWritten(product: Product, jobId: number): Promise<Written> {
  const jobs = join(product.folder, 'rte-state/spool/jobs')
  const { outputPath, eventsPath } = keptOf(product, jobId)
  const kept = dirname(outputPath)
  mkdirSync(kept)
  await waitFor(`the streams of job ${jobId} on the runner`, () => {
    const name = readdirSync(jobs).find((folder) => folder.startsWith(`${jobId}-`))
    if (name === undefined) return false
    for (const file of ['output.log', 'events.jsonl']) {
      // The one may be there a moment before the other.
      if (!existsSync(join(kept, file))) linkSync(join(jobs, name, file), join(kept, file))
    }
    return true
  })
  return {
    output: () => shownOutput(readFileSync(outputPath)),
    events: () => readFileSync(eventsPath),
  }
}

/** The whole output of a job as it is stored, colours included. */
export async function storedOutput(product: Product, jobId: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let offset = 0
  for (;;) {
    const { bytes } = await product.admin.raw(`/job/${jobId}/output?offset=${offset}`)
    if (bytes.length === 0) return Buffer.concat(pieces)
    pieces.push(bytes)
    offset += bytes.length
  }
}

interface StoredEvent {
  readonly order: number
  readonly type: string
  readonly host: string | null
  readonly task: string | null
}

export async function storedEvents(product: Product, jobId: number): Promise<StoredEvent[]> {
  return (await product.admin.get<{ records: StoredEvent[] }>(`/job/${jobId}/events`)).records
}

/** The stored streams are the written ones: output byte for byte, events 1..n without gap or double. */
export async function expectExact(product: Product, jobId: number, written: Written): Promise<void> {
  const output = await storedOutput(product, jobId)
  expect(output.equals(written.output())).toBe(true)
  const lines = written
    .events()
    .toString('utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as StoredEvent)
  const events = await storedEvents(product, jobId)
  expect(events.map((event) => event.order)).toEqual(lines.map((_, index) => index + 1))
  expect(events.map(({ type, host, task }) => ({ type, host, task }))).toEqual(
    lines.map(({ type, host, task }) => ({ type, host, task })),
  )
}
