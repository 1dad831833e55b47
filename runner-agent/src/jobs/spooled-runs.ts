import type { SpooledJob } from '@holdfast/protocol'
import type { JobFolder, JobKey } from '../spool/job-folder.js'
import type { Spool } from '../spool/spool.js'
import { type JobRef, refOfKey } from './job-refs.js'
import { JobRun, type JobRunServices } from './job-run.js'
import type { Ownership } from './ownership.js'
import type { Session } from './session.js'

/** Most runs in one list: so many fit into one message. The newest of those that are kept come into it. */
const MAX_LISTED = 5_500

/** What the runs of the spool need. */
export interface SpooledRunsDependencies extends Omit<JobRunServices, 'giveUp'> {
  /** Removes what is left of the container of a run; null or absent: there are none. It never fails. */
  readonly removeContainer?: ((runId: string) => Promise<void>) | null
  readonly spool: Spool
  /** Which control plane the jobs belong to. */
  readonly ownership: Ownership
  /** The number of running jobs changed. */
  readonly changed: () => void
}

/**
 * The jobs of the spool, from their claim to their removal. A job stays until it has ended here and the control plane has
 * stored its end, or until a person had it forgotten.
 */
export class SpooledRuns {
  readonly #deps: SpooledRunsDependencies
  readonly #services: JobRunServices
  readonly #session: () => Session | null
  /** By run id: a database that was lost or restored gives the same job number again. */
  readonly #runs = new Map<string, JobRun>()
  /** Runs whose end the control plane has stored although they had not ended here at that time. */
  readonly #settled = new Set<string>()
  /** Jobs found in the spool that were not judged yet. */
  readonly #unjudged = new Set<JobRun>()
  #incomplete = 0

  /** @param session the connection over which the agent is approved now; null: there is none */
  constructor(deps: SpooledRunsDependencies, session: () => Session | null) {
    this.#deps = deps
    this.#services = { ...deps, giveUp: (key) => deps.spool.giveUp(key) }
    this.#session = session
  }

  /** Jobs in the spool, ended ones too. */
  get size(): number {
    return this.#runs.size
  }

  /** Jobs that have not ended. Jobs that were not judged yet do not count. */
  get running(): number {
    return this.judged().filter((run) => run.state !== 'ended').length
  }

  /** Jobs since the start that ended without all of their output and events. */
  get incomplete(): number {
    return this.#incomplete
  }

  /** Bytes of output and events in the spool. */
  get spoolBytes(): number {
    return this.all().reduce((sum, run) => sum + run.replica.lengths().output + run.replica.lengths().events, 0)
  }

  /** What keeps a job from going on, or from being seen, in a sentence; null: nothing does. */
  get trouble(): string | null {
    const run = this.all().find((one) => one.trouble !== null)
    return run ? `job ${run.folder.key.jobId}: ${run.trouble ?? ''}` : null
  }

  all(): JobRun[] {
    return [...this.#runs.values()]
  }

  /** The jobs without those about which nothing was decided yet. */
  judged(): JobRun[] {
    return this.all().filter((run) => !this.#unjudged.has(run))
  }

  find(ref: Pick<JobRef, 'run_id'>): JobRun | undefined {
    return this.#runs.get(ref.run_id)
  }

  /** Adds a job. The caller begins it. */
  add(folder: JobFolder): JobRun {
    const run = new JobRun(folder, this.#services, {
      ready: () => this.#session()?.sender.wake(),
      ended: (ended) => {
        this.#ended(ended)
      },
      incomplete: () => {
        this.#incomplete += 1
      },
      removed: (removed) => {
        this.#remove(removed)
        this.#deps.changed()
        // The control plane learns from the next list of the spool that a job is lost. Each connection begins with one.
        if (!removed.forgotten) this.#session()?.reconnect('a job was removed from the spool by hand')
      },
    })
    this.#runs.set(folder.key.runId, run)
    return run
  }

  /** Adds a job that was found in the spool. It begins when it is judged. */
  addUnjudged(folder: JobFolder): void {
    this.#unjudged.add(this.add(folder))
  }

  /** Begins the jobs that were found in the spool: they are started, found again, or known to be lost. */
  judge(): void {
    if (this.#unjudged.size === 0) return
    const found = [...this.#unjudged]
    this.#unjudged.clear()
    for (const run of found) run.begin()
    this.#deps.log.info({ jobs: found.length, running: this.running }, 'jobs taken up from the spool')
    this.#deps.changed()
  }

  /** The control plane has stored the end. A job that has not ended here goes on, and leaves the spool when it ends. */
  release(run: JobRun): void {
    this.#session()?.detach(run)
    if (run.state === 'ended') this.#remove(run)
    else this.#settled.add(run.folder.key.runId)
  }

  /** A person wants the job to be forgotten. Its processes are ended, and nothing of it is sent any more. */
  forget(run: JobRun): void {
    const { key } = run.folder
    this.#session()?.detach(run)
    // This line of the log is the only trace that is left of the job.
    this.#deps.log.warn(
      { job: key.jobId, run: key.runId, state: run.state },
      'a person had the control plane forget this job; it is removed',
    )
    run.forget()
  }

  /**
   * The jobs as the control plane hears of them at the beginning of a connection, and the runs that are kept. The control
   * plane has stored those, but its database may have lost its last commits since.
   */
  list(): SpooledJob[] {
    const { ownership, spool } = this.#deps
    const jobs = this.all().map((run): SpooledJob => {
      const service = ownership.foreignService(run.folder)
      const listed = { ...refOfKey(run.folder.key), ...run.replica.lengths(), ended: run.state === 'ended' }
      return service === null ? listed : { ...listed, service }
    })
    const own = spool.kept().filter(({ folder }) => ownership.foreignService(folder) === null)
    const kept = own.slice(-Math.max(1, MAX_LISTED - jobs.length))
    return [
      ...jobs,
      ...kept.map(({ folder: { key }, output, events }) => ({ ...refOfKey(key), output, events, ended: true })),
    ]
  }

  /** A kept run becomes a job of the spool again, because the control plane lacks something of it. */
  async takeBack(ref: JobRef): Promise<JobRun | null> {
    const { spool, log, changed } = this.#deps
    const key = this.#keptKey(ref)
    const folder = key && (await spool.giveBack(key))
    if (!folder) return null
    log.warn({ job: ref.job_id, run: ref.run_id }, 'the control plane lacks an ended job; it is sent again')
    const run = this.add(folder)
    run.begin()
    changed()
    return run
  }

  /** A person wants nothing to be left of a kept run. */
  async dropKept(ref: JobRef): Promise<void> {
    const key = this.#keptKey(ref)
    if (key) await this.#deps.spool.trash({ key })
  }

  /** A run is known by its id: the control plane may give another number to it. */
  #keptKey({ run_id: runId }: JobRef): JobKey | null {
    return this.#deps.spool.kept().find(({ folder }) => folder.key.runId === runId)?.folder.key ?? null
  }

  /** Lets go of all jobs: they run on, and their folders stay. */
  async dispose(): Promise<void> {
    await Promise.all(this.all().map((run) => run.dispose()))
  }

  #ended(run: JobRun): void {
    const { key } = run.folder
    // Nothing is left of a job that was to be forgotten: the control plane hears that it is unknown here now.
    if (run.forgotten) this.#session()?.send({ type: 'unknown_job', ...refOfKey(key) })
    if (run.forgotten || this.#settled.has(key.runId)) this.#remove(run)
    else this.#session()?.orphans.ended(run)
    this.#session()?.sender.wake()
    this.#deps.changed()
  }

  #remove(run: JobRun): void {
    const { log, ownership, playbook, removeContainer, spool } = this.#deps
    const { key } = run.folder
    this.#unjudged.delete(run)
    this.#runs.delete(key.runId)
    this.#settled.delete(key.runId)
    ownership.forget(run.folder)
    this.#session()?.detach(run)
    void run
      .dispose()
      // The folder goes last: an agent that is killed in between finds the job again, and removes the rest with it.
      .then(() => playbook.sockets.remove(key.runId))
      .then(() => removeContainer?.(key.runId))
      .then(() => {
        const { end } = run
        // A person wants nothing to be left of a forgotten job.
        if (end === null || run.forgotten) return spool.trash(run.folder)
        return spool.keep(run.folder, end, run.replica.number)
      })
      .catch((error: unknown) => {
        log.error({ job: key.jobId, error }, 'cannot remove a job from the spool; the next start meets it again')
      })
  }
}
