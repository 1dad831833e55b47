import { createHash } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { EndRecord, ServerMessage, StreamName } from '@holdfast/protocol'
import pino from 'pino'
import { JobWriter } from '../../control-plane/src/runners/streams/job-writer.js'
import type { OlderCopy } from '../../control-plane/src/runners/streams/older-copy.js'
import {
  type FullStreams,
  type StreamLimits,
  NONE_FULL,
} from '../../control-plane/src/runners/streams/stream-limits.js'
import { readOutput } from '../../control-plane/src/store/jobs/job-output.js'
import { type StreamLengths, findStreamLengths } from '../../control-plane/src/store/jobs/job-streams.js'
import { findJob } from '../../control-plane/src/store/jobs/jobs.js'
import { insertJob } from '../../control-plane/src/store/jobs/new-job.js'
import type { Store } from '../../control-plane/src/store/store.js'
import { AMPLE } from '../support/ample-limits.js'
import { endedWell } from '../support/end-record.js'
import { openTestStore } from '../support/test-database.js'
import { waitFor } from '../support/wait.js'
import { queuedJob } from './queued-job.js'

export const RUN_ID = '1'.repeat(32)
const NOTHING = { output: 0, events: 0, eventsCount: 0 }

export const sha256 = (bytes: string | Buffer) => createHash('sha256').update(bytes).digest('hex')

/** The end record of a run with these streams. */
export function endOf(output: string | Buffer, events = ''): EndRecord {
  const record = endedWell(RUN_ID, output)
  return { ...record, events: { ...record.events, length: Buffer.byteLength(events), sha256: sha256(events) } }
}

export type WriterFixture = Awaited<ReturnType<typeof openWriters>>

/** The writers of one job over a real database. */
export async function openWriters() {
  const folder = mkdtempSync(join(tmpdir(), 'holdfast-writer-'))
  const store = await openTestStore(folder)
  const row = { ...queuedJob(7, RUN_ID), dispatch: 'claimed' as const }
  const jobId = await store.write('test', (queries) => insertJob(queries, row))
  const sent: ServerMessage[] = []
  const seen = { inMemory: 0, changed: 0, ended: 0, missing: 0 }
  /** A fault that the next writes of these names meet; it is taken out when it was met. */
  const faults = new Map<string, () => Error | Promise<void>>()
  const faulty: Store = {
    ...store,
    async write(name, operation) {
      const fault = faults.get(name)
      faults.delete(name)
      const met = await fault?.()
      if (met instanceof Error) throw met
      return store.write(name, operation)
    },
  }

  return {
    store,
    jobId,
    sent,
    seen,
    faults,
    /** What was sent but for acknowledgements, in short. */
    said: () => sent.filter(({ type }) => type !== 'ack').map(({ type, ...rest }) => ({ type, ...withoutJob(rest) })),
    /** The writer of one connection. */
    open(
      given: {
        stored?: StreamLengths
        limits?: Partial<StreamLimits>
        full?: FullStreams
        copy?: OlderCopy
      } = {},
    ) {
      const { stored = NOTHING, limits = {}, full = NONE_FULL, copy = null } = given
      const writer = new JobWriter(
        jobId,
        RUN_ID,
        stored,
        {
          store: faulty,
          clock: { now: () => 5000 },
          log: pino({ level: 'silent' }),
          send: (message) => void sent.push(message),
          released: (bytes) => (seen.inMemory -= bytes),
          changed: () => (seen.changed += 1),
          ended: () => (seen.ended += 1),
          missing: () => (seen.missing += 1),
          limits: { ...AMPLE, ...limits },
        },
        full,
        copy,
      )
      const take = (stream: StreamName, offset: number, text: string | Buffer) => {
        const payload = Buffer.from(text)
        seen.inMemory += payload.length
        writer.take({ kind: 'stream', stream, final: false, epoch: 1, jobId, offset, payload })
      }
      return { writer, take }
    },
    stored: () => findStreamLengths(store.read, jobId),
    job: () => findJob(store.read, jobId),
    /** How the stored streams compare with the end record. */
    comparison: () =>
      store.read
        .selectFrom('job_stream')
        .select(['integrity', 'output_sha256', 'events_sha256'])
        .where('job_id', '=', jobId)
        .executeTakeFirst(),
    async shown() {
      const pieces: Buffer[] = []
      for await (const piece of readOutput(store.read, jobId, 0)) pieces.push(piece)
      return Buffer.concat(pieces).toString()
    },
    ended: () => waitFor('the end', () => seen.ended > 0),
    async close() {
      await store.close()
      rmSync(folder, { recursive: true })
    },
  }
}

function withoutJob(message: object): object {
  return Object.fromEntries(Object.entries(message).filter(([name]) => name !== 'job_id' && name !== 'run_id'))
}
