import { ProtocolError, type ResumedJob, type ServerMessage } from '@holdfast/protocol'
import type { Logger } from 'pino'
import type { Clock } from '../../clock.js'
import type { LiveEvents } from '../../live/live-events.js'
import { deleteOrphan, listOrphans, type Orphan } from '../../store/jobs/orphans.js'
import type { Store } from '../../store/store.js'
import { type OrphanMessage, takeOrphan } from './adoption.js'
import type { RunnerConnection } from '../socket/connection.js'
import type { HeldJobs, JobRef } from './held-jobs.js'

export interface SessionOrphansDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly live: LiveEvents
  readonly log: Logger
  readonly send: (message: ServerMessage) => void
}

/**
 * The jobs of one connection that the database did not know when the runner listed them:
 *   listed → described → adopted (it goes on as every job does)
 *                      → waiting for an admin, who has it adopted, ended or forgotten
 * Only what was in the list can be described, so a runner cannot fill the database by this.
 */
export class SessionOrphans {
  readonly #unknown = new Set<string>()
  /** Decisions that the agent has heard on this connection. */
  readonly #sent = new Set<string>()

  constructor(
    private readonly connection: RunnerConnection,
    private readonly held: HeldJobs,
    private readonly dependencies: SessionOrphansDependencies,
  ) {}

  /** What the list of the runner was answered with. */
  listed(jobs: readonly ResumedJob[]): void {
    for (const { run_id, verdict } of jobs) if (verdict === 'unknown') this.#unknown.add(run_id)
    // Those that wait for an admin are shown with their runner.
    this.dependencies.live.changed('runners')
  }

  /** The agent described a job. @throws ProtocolError `not_yours` for one that it was not asked for */
  async take(message: OrphanMessage): Promise<void> {
    const { store, clock, live, log, send } = this.dependencies
    if (!this.#unknown.has(message.run_id)) {
      throw new ProtocolError('not_yours', `job ${message.job_id} is not one to be described`)
    }
    const { job, stored, full, copy } = await store.write('runners.orphan', (queries) =>
      takeOrphan(queries, this.connection, message, clock.now()),
    )
    if (job.verdict !== 'unknown') this.#unknown.delete(message.run_id)
    if (job.verdict === 'continue') {
      const ref = refOf(job)
      if (!this.held.hasRun(ref)) this.held.resume(ref, stored, full, job.abort, copy)
      log.warn(
        { runner: this.connection.runnerName, run: job.run_id, job: ref.job_id, number_on_runner: message.job_id },
        'a job that the database did not know was adopted from its runner',
      )
      send({ type: 'resume', jobs: [job] })
      this.held.sayFull(ref)
      live.changed('jobs')
    } else {
      send({ type: 'resume', jobs: [job] })
    }
    live.changed('runners')
  }

  /** The agent has nothing of a run any more. */
  async gone(runId: string): Promise<void> {
    const { store, live } = this.dependencies
    if (!this.#unknown.delete(runId)) return
    await store.write('runners.orphan_gone', (queries) => deleteOrphan(queries, this.connection.runnerId, runId))
    live.changed('runners')
  }

  /** Tells the agent what an admin decided, once on each connection, until the job is none that waits any more. */
  async carryOut(): Promise<void> {
    for (const orphan of await listOrphans(this.dependencies.store.read, this.connection.runnerId)) {
      const key = `${orphan.decision ?? ''} ${orphan.runId}`
      if (orphan.decision === null || this.#sent.has(key)) continue
      this.#sent.add(key)
      this.#sendDecision(orphan)
    }
  }

  #sendDecision({ jobNumber, runId, decision, ended }: Orphan): void {
    const { send } = this.dependencies
    const ref = { job_id: jobNumber, run_id: runId }
    // The product ends a playbook only when a person asked for it: here an admin did.
    if (decision === 'end' && !ended) send({ type: 'abort', ...ref })
    else if (decision === 'forget') send({ type: 'forget', ...ref })
    else if (decision === 'adopt' && this.#unknown.has(runId)) send({ type: 'adopt', ...ref })
  }
}

/** How a job is named here, which may be by another number than on its runner. */
export function refOf({ job_id, number = job_id, run_id }: ResumedJob): JobRef {
  return { job_id: number, run_id }
}
