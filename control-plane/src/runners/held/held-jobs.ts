import { type EndRecord, ProtocolError, type ServerMessage, type StreamFrame } from '@holdfast/protocol'
import type { Logger } from 'pino'
import type { JobChanges } from './job-changes.js'
import type { PreparedOrder } from './prepared-order.js'
import { JobWriter } from '../streams/job-writer.js'
import type { OlderCopy } from '../streams/older-copy.js'
import { type FullStreams, NONE_FULL, type StreamLimits } from '../streams/stream-limits.js'
import type { StreamMeters } from '../streams/stream-meters.js'

/** Number of ended jobs that a connection remembers. */
const MAX_ENDED = 100

/** What this part needs of other parts. */
export interface HeldJobsDependencies extends JobChanges {
  readonly log: Logger
  readonly meters?: StreamMeters
  /** Limits of what is stored of one job. */
  readonly limits: StreamLimits
  /** Does nothing when the connection is gone. */
  readonly send: (message: ServerMessage) => void
  /** These bytes are not in memory any more: they are stored, or the agent has to send them again. */
  readonly released: (bytes: number) => void
  /** The end of a job is stored, or the job was deleted. */
  readonly ended: (jobId: number) => void
  /** The row of a job is gone and nobody asked for that. With the runner's next list a new row is made. */
  readonly missing: (jobId: number) => void
}

/** A job that was offered to this runner, or that it has claimed. */
interface Held {
  readonly writer: JobWriter
  /** What was offered; null when the runner had the job before this connection. */
  readonly prepared: PreparedOrder | null
  isClaimed: boolean
  /** The agent was told to abort it. */
  isAborting: boolean
}

/** How a message names a job. */
export type JobRef = { readonly job_id: number; readonly run_id: string }

/**
 * The jobs that the runner of one connection has. A runner reaches only these jobs. A message about another job breaks
 * the contract. Each job has the writer of its streams before frames can arrive. The states of a job here:
 *
 * - offered → claimed → ended. An ended job is remembered for a while, because frames may still be on their way.
 * - offered → dropped: the agent refused it or does not know it.
 */
export class HeldJobs {
  readonly #jobs = new Map<number, Held>()
  /** Jobs that ended on this connection. Frames that were on their way at that time break no rule. */
  readonly #ended = new Set<number>()
  /**
   * Jobs whose abort was asked for before they were offered or resumed here. The agent gets the abort right afterwards.
   */
  readonly #lateAborts = new Set<number>()

  constructor(private readonly dependencies: HeldJobsDependencies) {}

  get count(): number {
    return this.#jobs.size
  }

  has(jobId: number): boolean {
    return this.#jobs.has(jobId)
  }

  /**
   * From now on, frames of a job that the agent has in its spool are accepted.
   * @param isAborting the answer to the agent's list tells the agent to abort the job
   * @param copy the job is reported from an older copy of the state folder
   */
  resume(
    ref: JobRef,
    stored: JobWriter['stored'],
    full: FullStreams,
    isAborting: boolean,
    copy: OlderCopy | null,
  ): void {
    this.#hold(ref, stored, full, null, isAborting, copy)
  }

  /** Call it after the agent has got what is stored of a job. The agent then learns which of its streams are full. */
  sayFull({ job_id }: JobRef): void {
    this.#jobs.get(job_id)?.writer.sayFull()
  }

  /** Whether the runner has this run with that number. */
  hasRun({ job_id, run_id }: JobRef): boolean {
    return this.#jobs.get(job_id)?.writer.runId === run_id
  }

  /** A job is about to be offered. Its frames are accepted as soon as it is claimed. */
  offer(prepared: PreparedOrder): void {
    this.#hold(prepared.order, { output: 0, events: 0, eventsCount: 0 }, NONE_FULL, prepared, false)
  }

  /** @throws ProtocolError `not_yours` */
  claim(ref: JobRef): void {
    this.#find(ref).isClaimed = true
  }

  /**
   * The order that was offered for a job, or null when it was not offered on this connection.
   * @throws ProtocolError `not_yours`
   */
  orderOf(ref: JobRef): PreparedOrder | null {
    return this.#find(ref).prepared
  }

  /** Takes a piece of a stream, and reports how many bytes of it stay in memory. @throws ProtocolError `not_yours` */
  takeFrame(frame: StreamFrame, counted: (bytes: number) => void): void {
    if (this.#ended.has(frame.jobId)) return
    const held = this.#jobs.get(frame.jobId)
    if (!held?.isClaimed) throw new ProtocolError('not_yours', `job ${frame.jobId} is not with this runner`)
    counted(frame.payload.length)
    held.writer.take(frame)
  }

  /** Takes the end record of a job. @throws ProtocolError `not_yours` */
  takeEnd(jobId: number, record: EndRecord): void {
    if (this.#ended.has(jobId)) return
    this.#find({ job_id: jobId, run_id: record.run_id }).writer.takeEnd(record)
  }

  /**
   * Forgets a job that the runner does not have.
   * @param which `unclaimed`: a job that the runner has claimed is kept
   * @returns false when nothing was dropped: the job was not here, or it is claimed and `which` is `unclaimed`
   */
  drop(ref: JobRef, which: 'unclaimed' | 'claimed too'): boolean {
    const held = this.#jobs.get(ref.job_id)
    if (held?.writer.runId !== ref.run_id || (held.isClaimed && which === 'unclaimed')) return false
    held.writer.close()
    return this.#jobs.delete(ref.job_id)
  }

  /** Asks the agent once to abort a job: at once, or as soon as it has heard of the job (`sayLateAbort`). */
  abort(jobId: number, runId: string): void {
    const held = this.#jobs.get(jobId)
    if (!held) {
      if (!this.#ended.has(jobId)) this.#lateAborts.add(jobId)
      return
    }
    if (held.isAborting) return
    held.isAborting = true
    this.dependencies.send({ type: 'abort', job_id: jobId, run_id: runId })
  }

  /** The agent has heard of a job. If an abort was asked for before that, the agent gets it now. */
  sayLateAbort({ job_id, run_id }: JobRef): void {
    if (this.#lateAborts.delete(job_id)) this.abort(job_id, run_id)
  }

  /** The connection is gone. */
  close(): void {
    for (const { writer } of this.#jobs.values()) writer.close()
  }

  #hold(
    { job_id, run_id }: JobRef,
    stored: JobWriter['stored'],
    full: FullStreams,
    prepared: PreparedOrder | null,
    isAborting: boolean,
    copy: OlderCopy | null = null,
  ): void {
    const { live, ended, ends } = this.dependencies
    const writer = new JobWriter(
      job_id,
      run_id,
      stored,
      {
        ...this.dependencies,
        changed: () => live.changed('jobs'),
        ended: () => {
          this.#jobs.delete(job_id)
          this.#noteEnded(job_id)
          ended(job_id)
          ends?.jobEnded()
        },
        missing: () => this.dependencies.missing(job_id),
      },
      full,
      copy,
    )
    this.#jobs.set(job_id, { writer, prepared, isClaimed: prepared === null, isAborting })
  }

  #noteEnded(jobId: number): void {
    this.#ended.add(jobId)
    const [oldest] = this.#ended
    if (this.#ended.size > MAX_ENDED && oldest !== undefined) this.#ended.delete(oldest)
  }

  #find(ref: JobRef): Held {
    const held = this.#jobs.get(ref.job_id)
    if (held?.writer.runId !== ref.run_id)
      throw new ProtocolError('not_yours', `job ${ref.job_id} is not with this runner`)
    return held
  }
}
