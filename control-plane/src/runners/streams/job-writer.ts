import { setTimeout as pause } from 'node:timers/promises'
import {
  type EndRecord,
  ProtocolError,
  type ServerMessage,
  type StreamFrame,
  type StreamName,
} from '@holdfast/protocol'
import type { Logger } from 'pino'
import type { Clock } from '../../time/clock.js'
import { messageOf } from '../../errors.js'
import {
  type StreamLengths,
  appendServiceLine,
  appendToStreams,
  findFullStreams,
  findStreamLengths,
  markStreamFull,
  resetStreams,
} from '../../store/jobs/job-streams.js'
import { noteOlderCopy } from '../../store/jobs/dispatch.js'
import { addDetail, findJobSummary, isRunOf } from '../../store/jobs/jobs.js'
import { findPastRuns } from '../../store/jobs/orphans.js'
import type { Queries, Store } from '../../store/store.js'
import { type Batch, StreamIntake } from './stream-intake.js'
import { type OlderCopy, contradictionsOf, differenceWords } from './older-copy.js'
import type { StreamMeters } from './stream-meters.js'
import { type StreamDigests, digestsOfStored } from './stored-digests.js'
import { type CompleteEnd, lostOnRunner, storeEnd } from './stored-end.js'
import { type FullStreams, NONE_FULL, type StreamLimits, fullLine, fullWords, isCut } from './stream-limits.js'

/** How long a failed write waits before it is tried again, in milliseconds. */
const RETRY_MS = 500

/** What a job writer needs of other parts. */
export interface JobWriterDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly log: Logger
  readonly send: (message: ServerMessage) => void
  /** These bytes are not in memory any more: they are stored, or they were dropped and must be sent again. */
  readonly released: (bytes: number) => void
  /** The database has new data of the job. */
  readonly changed: () => void
  /** The end is stored, or the job was deleted. The runner may remove it. */
  readonly ended: () => void
  /** The job's row is gone, and no person deleted it. */
  readonly missing: () => void
  readonly meters?: StreamMeters | undefined
  /** Limits of what is stored of one job. */
  readonly limits: StreamLimits
}

/**
 * The result of a write: the lengths now, null when the job is gone. Nothing was appended when the lengths were not the
 * expected ones.
 */
interface Written {
  readonly isAppended: boolean
  readonly lengths: StreamLengths | null
  /** The full streams, if nothing was appended. */
  readonly full: FullStreams
}

const NOTHING_STORED: StreamLengths = { output: 0, events: 0, eventsCount: 0 }

/**
 * Writes the streams of one job of one connection, and ends the job. One write runs at a time. What arrives in the
 * meantime is the next batch, so a slow database makes larger batches and never changes the order. The rules of
 * delivery:
 *
 * - Acknowledge (`ack`) only after the commit, with the stored lengths.
 * - The end counts only when both stored streams have the lengths and hashes of the end record. If possible, it is
 *   stored in one transaction with the last bytes.
 * - If a stored stream is too short, the agent is asked to go back (rewind). If a hash differs, the agent sends
 *   everything again, once. After that the real outcome is stored, with a remark.
 * - Stored bytes beyond the lengths of the end record stay, if the bytes before them agree. The runner has lost these
 *   bytes.
 * - When a stream is full, nothing more of it is stored, and the agent is told so. The end then counts without the
 *   length and hash of that stream, and says what is missing.
 * - An older copy of the state folder, which an admin accepted, never replaces what is stored. A stored end and stored
 *   bytes stay. The job says how the copy differs.
 * - A job that a person deleted in the meantime (it was abandoned) is removed on the runner, too.
 */
export class JobWriter {
  readonly #intake: StreamIntake
  #end: EndRecord | null = null
  #writing = false
  #closed = false
  #sentAgain = false
  /** When the oldest piece arrived that is in no batch yet. */
  #waitingSince: number | null = null

  constructor(
    readonly jobId: number,
    readonly runId: string,
    stored: StreamLengths,
    private readonly dependencies: JobWriterDependencies,
    full: FullStreams = NONE_FULL,
    private readonly copy: OlderCopy | null = null,
  ) {
    this.#intake = new StreamIntake(stored, () => dependencies.clock.now(), dependencies.limits, full)
  }

  /** Tells the agent which streams are full, if there are any. */
  sayFull(): void {
    for (const stream of ['output', 'events'] as const) if (this.#intake.full[stream]) this.#sendStreamFull(stream)
  }

  get stored(): StreamLengths {
    return this.#intake.stored
  }

  /** @throws ProtocolError `too_large` when the agent goes on sending more of a full stream */
  take(frame: StreamFrame): void {
    const before = this.#intake.heldBytes
    const taken = this.#intake.take(frame)
    if (this.#intake.heldBytes > before) this.#waitingSince ??= this.dependencies.clock.now()
    // Bytes that are stored already leave the memory at once.
    this.dependencies.released(frame.payload.length - (this.#intake.heldBytes - before))
    if (taken) this.#rewind(frame.stream, taken.rewindTo)
    if (this.#intake.isAbused) throw new ProtocolError('too_large', 'more comes of a stream that is full')
    this.#start()
  }

  takeEnd(record: EndRecord): void {
    this.#end = record
    this.#start()
  }

  /** The connection has ended. The agent sends the bytes again that are not stored. */
  close(): void {
    this.#closed = true
  }

  #start(): void {
    if (this.#writing || this.#closed) return
    this.#writing = true
    this.#run()
      .catch(async (error: unknown) => {
        this.dependencies.log.error({ err: error, job: this.jobId }, 'writing a job failed, trying again')
        await pause(RETRY_MS)
      })
      .finally(() => {
        this.#writing = false
        if (this.#intake.hasBatch || this.#end) this.#start()
      })
  }

  async #run(): Promise<void> {
    while (!this.#closed && (this.#intake.hasBatch || this.#end)) {
      const batch = this.#intake.batch()
      this.#intake.writing = batch
      try {
        await this.#write(batch)
      } finally {
        this.#intake.writing = null
        this.dependencies.released(batch.output.length + batch.eventsBytes + batch.droppedBytes)
      }
    }
  }

  async #write(batch: Batch): Promise<void> {
    const record = this.#end
    if (this.copy?.isEnded) {
      if (record) await this.#compare(record, this.copy)
      return
    }
    const since = this.#waitingSince
    this.#waitingSince = null
    const digests = record !== null && this.#completes(record, batch) ? this.#intake.digestsWith(batch) : null
    const finishes = record !== null && digests !== null && this.#agrees(record, batch, digests)
    const written = await this.#store(batch, finishes ? { record, shown: digests.shown } : null)
    if (!written) return
    const { isAppended, lengths, full } = written
    if (!lengths) return this.#gone()
    if (!isAppended) return this.#resynchronise(lengths, full)
    this.#intake.committed(batch, lengths)
    this.dependencies.send({ type: 'ack', job_id: this.jobId, output: lengths.output, events: lengths.events })
    for (const stream of batch.filled) this.#sendStreamFull(stream)
    this.#measure(batch, since)
    this.dependencies.changed()
    if (finishes) this.#finished()
    else if (record && this.#end === record && !this.#intake.hasBatch) await this.#endLater(record)
  }

  #measure(batch: Batch, since: number | null): void {
    const { meters, clock } = this.dependencies
    meters?.stored({ output: batch.marked.shown.length, events: batch.eventsBytes, eventsCount: batch.events.length })
    if (since !== null) meters?.acknowledged((clock.now() - since) / 1000)
  }

  /**
   * Appends the batch, with the end when it is complete. Tries again while the database does not answer. Null: closed.
   */
  async #store(batch: Batch, end: CompleteEnd | null): Promise<Written | null> {
    for (;;) {
      try {
        const written = await this.#writeOfRun('streams.append', async (queries) => {
          const { output, events, marked } = batch
          const lengths = await appendToStreams(queries, this.jobId, this.#intake.stored, output, events, marked)
          if (!lengths) {
            const full = await findFullStreams(queries, this.jobId)
            return { isAppended: false, lengths: await findStreamLengths(queries, this.jobId), full }
          }
          for (const stream of batch.filled) {
            // The line is there already when the stream is sent again from its start.
            if (await markStreamFull(queries, this.jobId, stream)) {
              await appendServiceLine(queries, this.jobId, fullLine(stream))
            }
          }
          if (end) {
            const words = fullWords(end.record, lengths, this.#intake.full)
            const isWhole = !this.#isCut(end.record, lengths, this.#intake.full)
            await storeEnd(queries, this.jobId, end, { words, isWhole }, this.dependencies.clock.now())
          }
          return { isAppended: true, lengths, full: this.#intake.full }
        })
        return written ?? { isAppended: false, lengths: null, full: NONE_FULL }
      } catch (error) {
        // Nothing was acknowledged, so the agent sends everything again, and nothing is lost.
        this.dependencies.log.warn(
          { job: this.jobId, reason: messageOf(error) },
          'could not store a piece, trying again',
        )
        await pause(RETRY_MS)
        if (this.#closed) return null
      }
    }
  }

  /** Handles an end that was not stored together with the last bytes. It looks at what is stored now. */
  async #endLater(record: EndRecord): Promise<void> {
    const { stored, full } = this.#intake
    const { output, events } = stored
    const cut = { output: isCut(record, stored, full, 'output'), events: isCut(record, stored, full, 'events') }
    const isShort = (stream: StreamName) => !cut[stream] && stored[stream] < record[stream].length
    if (isShort('output') || isShort('events')) {
      this.#end = null
      if (isShort('output')) this.#rewind('output', output)
      if (isShort('events')) this.#rewind('events', events)
      return
    }
    const digests = await digestsOfStored(this.dependencies.store.read, this.jobId, {
      output: cut.output ? 0 : record.output.length,
      events: cut.events ? 0 : record.events.length,
    })
    // Reading may have taken long. A connection that has ended since, also one of a revoked runner, does not count any
    // more.
    if (this.#closed) return
    const agrees =
      (cut.output || digests.output === record.output.sha256) && (cut.events || digests.events === record.events.sha256)
    if (!agrees && !this.#sentAgain && this.copy === null) {
      this.#sentAgain = true
      this.#end = null
      this.dependencies.log.error(
        { job: this.jobId },
        'stored streams differ from the end record; asking for them again',
      )
      const isReset = await this.#writeOfRun('streams.reset', async (queries) => {
        await resetStreams(queries, this.jobId)
        return true
      })
      if (isReset === null) return this.#gone()
      this.#resynchronise(NOTHING_STORED, NONE_FULL)
      return
    }
    const word = agrees
      ? lostOnRunner(Math.max(0, output - record.output.length), Math.max(0, events - record.events.length))
      : this.copy
        ? differenceWords(this.copy.acceptedBy)
        : 'output or events differ from what the runner recorded'
    const end: CompleteEnd = { record, shown: digests.shown }
    const words = [...fullWords(record, stored, full), ...(word === null ? [] : [word])]
    const isWhole = word === null && !this.#isCut(record, stored, full)
    const isStored = await this.#writeOfRun('jobs.end', async (queries) => {
      await storeEnd(queries, this.jobId, end, { words, isWhole }, this.dependencies.clock.now())
      return true
    })
    if (isStored === null) return this.#gone()
    this.#finished()
  }

  /** Compares the end in an older copy with the stored end. The stored end stays in every case. */
  async #compare(record: EndRecord, { acceptedBy }: OlderCopy): Promise<void> {
    const { store, log } = this.dependencies
    const job = await findJobSummary(store.read, this.jobId)
    if (job?.run_id !== this.runId) return this.#gone()
    const lengths = (await findStreamLengths(store.read, this.jobId)) ?? NOTHING_STORED
    const full = await findFullStreams(store.read, this.jobId)
    const digests = await digestsOfStored(store.read, this.jobId, {
      output: Math.min(record.output.length, lengths.output),
      events: Math.min(record.events.length, lengths.events),
    })
    if (this.#closed) return
    const words = contradictionsOf(record, { job, lengths, full, digests }, acceptedBy)
    await this.#writeOfRun('jobs.compare', async (queries) => {
      if (words !== null) await addDetail(queries, this.jobId, words)
      await noteOlderCopy(queries, this.jobId, null)
    })
    if (words !== null) log.warn({ job: this.jobId }, words)
    this.#finished()
  }

  /** Writes about this run and no other. Null: its row is gone, or its number stands for another run. */
  #writeOfRun<Value>(name: string, write: (queries: Queries) => Promise<Value>): Promise<Value | null> {
    return this.dependencies.store.write(name, async (queries) =>
      (await isRunOf(queries, this.jobId, this.runId)) ? write(queries) : null,
    )
  }

  #isCut(record: EndRecord, stored: StreamLengths, full: FullStreams): boolean {
    return isCut(record, stored, full, 'output') || isCut(record, stored, full, 'events')
  }

  #finished(): void {
    this.dependencies.send({ type: 'end_stored', job_id: this.jobId, run_id: this.runId })
    this.#letGo()
  }

  /**
   * The job's row is gone, so nothing more can be stored. The runner removes the job only if a person deleted it. If
   * the row was removed for its age while the runner was silent, a new row is made.
   */
  async #gone(): Promise<void> {
    const past = await findPastRuns(this.dependencies.store.read, [this.runId])
    if (this.#closed) return
    if (past.get(this.runId) === 'asked') {
      this.dependencies.send({ type: 'forget', job_id: this.jobId, run_id: this.runId })
    } else {
      this.dependencies.missing()
    }
    this.#letGo()
  }

  #letGo(): void {
    this.#end = null
    this.#closed = true
    this.dependencies.released(this.#intake.heldBytes)
    this.dependencies.changed()
    this.dependencies.ended()
  }

  #resynchronise(stored: StreamLengths, full: FullStreams): void {
    this.dependencies.released(this.#intake.heldBytes)
    this.#intake.reset(stored, full)
    this.#end = null
    this.#rewind('output', this.#intake.stored.output)
    this.#rewind('events', this.#intake.stored.events)
    this.sayFull()
  }

  #sendStreamFull(stream: StreamName): void {
    const { log, send } = this.dependencies
    log.warn({ job: this.jobId, stream }, 'a runner sends more of a job than is kept')
    send({ type: 'stream_full', job_id: this.jobId, stream, length: this.#intake.stored[stream] })
  }

  #rewind(stream: 'output' | 'events', to: number): void {
    this.dependencies.send({ type: 'rewind', job_id: this.jobId, stream, to })
  }

  #completes(record: EndRecord, batch: Batch): boolean {
    const stored = this.#lengthsWith(batch)
    return (['output', 'events'] as const).every(
      (stream) => isCut(record, stored, this.#intake.full, stream) || stored[stream] === record[stream].length,
    )
  }

  #lengthsWith(batch: Batch): Record<StreamName, number> {
    const { output, events } = this.#intake.stored
    return { output: output + batch.output.length, events: events + batch.eventsBytes }
  }

  #agrees(record: EndRecord, batch: Batch, digests: StreamDigests): boolean {
    const stored = this.#lengthsWith(batch)
    return (['output', 'events'] as const).every(
      (stream) => isCut(record, stored, this.#intake.full, stream) || digests[stream] === record[stream].sha256,
    )
  }
}
