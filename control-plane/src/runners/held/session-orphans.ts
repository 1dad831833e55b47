import { ProtocolError, type ResumedJob, type ServerMessage } from '@holdfast/protocol'
import type { Logger } from 'pino'
import { deleteOrphan, listOrphans, type Orphan } from '../../store/jobs/orphans.js'
import { type OrphanMessage, takeOrphan } from './adoption.js'
import type { RunnerConnection } from '../socket/connection.js'
import type { HeldJobs, JobRef } from './held-jobs.js'
import type { JobChanges } from './job-changes.js'

/**
 * The jobs of one connection that the database did not know when the runner listed them. A job is listed, then
 * described. Then it is adopted and goes on like every job. Or it waits for an admin, who decides whether it is
 * adopted, ended or forgotten. Only a listed job can be described, so a runner cannot fill the database in this way.
 */
export class SessionOrphans {
  readonly #unknown = new Set<string>()
  /** Decisions that were sent to the agent on this connection. */
  readonly #sent = new Set<string>()

  constructor(
    private readonly connection: RunnerConnection,
    private readonly held: HeldJobs,
    private readonly dependencies: JobChanges & {
      readonly log: Logger
      readonly send: (message: ServerMessage) => void
    },
  ) {}

  /** Takes the answer to the runner's list. */
  listed(jobs: readonly ResumedJob[]): void {
    for (const { run_id, verdict } of jobs) if (verdict === 'unknown') this.#unknown.add(run_id)
    // The list of runners shows the jobs that wait for an admin.
    this.dependencies.live.changed('runners')
  }

  /** The agent described a job. @throws ProtocolError `not_yours` for a job that it was not asked about */
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

  /** The agent has removed everything of a run. */
  async gone(runId: string): Promise<void> {
    const { store, live } = this.dependencies
    if (!this.#unknown.delete(runId)) return
    await store.write('runners.orphan_gone', (queries) => deleteOrphan(queries, this.connection.runnerId, runId))
    live.changed('runners')
  }

  /** Sends the agent what an admin decided, once on each connection, until the job does not wait any more. */
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
    // The product ends a playbook only when a person asked for it. Here an admin asked for it.
    if (decision === 'end' && !ended) send({ type: 'abort', ...ref })
    else if (decision === 'forget') send({ type: 'forget', ...ref })
    else if (decision === 'adopt' && this.#unknown.has(runId)) send({ type: 'adopt', ...ref })
  }
}

/** The reference of a job here. Its number may differ from the one on its runner. */
export function refOf({ job_id, number = job_id, run_id }: ResumedJob): JobRef {
  return { job_id: number, run_id }
}
