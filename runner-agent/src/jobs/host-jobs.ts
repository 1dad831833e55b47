import type { BlobFrame, ResumedJob, SpooledJob } from '@holdfast/protocol'
import type { BlobCache } from '../files/blob-cache.js'
import type { UploadStore } from '../files/upload-store.js'
import type { WorkMessage } from '../link/connection.js'
import type { JobFolder, JobKey } from '../spool/job-folder.js'
import type { Spool } from '../spool/spool.js'
import { createIntake } from './intake.js'
import { JobRun, type JobRunServices } from './job-run.js'
import type { Ownership } from './ownership.js'
import { createSession, type Session, type SessionPort } from './session.js'

/**
 * How long no control plane may answer before the jobs of the spool are judged without one: its restart takes less.
 */
const ALONE_MS = 60_000

/** Most jobs in the spool: the inventory of so many still fits into one message. */
const MAX_SPOOLED_JOBS = 5_000

export interface HostJobsOptions extends Omit<JobRunServices, 'giveUp'> {
  /** Removes what is left of the container of a run; null or absent: there are none. It never fails. */
  readonly removeContainer?: ((runId: string) => Promise<void>) | null
  readonly spool: Spool
  readonly cache: BlobCache
  readonly uploadStore: UploadStore
  /** Which control plane the jobs belong to. */
  readonly ownership: Ownership
  readonly ownMaxJobs: number
  /** Most playbooks at once whatever a limit says; 0: as many as the limit says. */
  readonly mostJobs: () => number
  /** Why no job is taken until a person has done something; null: jobs are taken. */
  readonly problem: () => string | null
  /** Why no job can be taken just now: the disk, or no more files can be opened; null: all is well. */
  readonly hostProblem: () => { code: 'spool_full' | 'busy'; message: string } | null
  readonly spoolMaxBytes: number
  /** Running jobs, the limit or the draining changed. */
  readonly changed: () => void
  /** Does something once so many milliseconds have passed; the agent may end before. @returns what takes it back */
  readonly after: (milliseconds: number, task: () => void) => () => void
}

/** All jobs of this host, and what the control plane says about them. */
export interface HostJobs {
  /**
   * Finds the jobs that are in the spool. What becomes of them is judged (started, found again, or lost) when a control
   * plane has accepted this runner, or when none has answered for a while: what looks lost from here may be the work of
   * another agent on the same folder, or on the original of this copy, and the control plane knows which of them counts.
   * @throws the system's error when the spool cannot be read, which says nothing about its jobs
   */
  load(): Promise<void>
  /** A control plane answers and has not accepted this runner: its word is waited for, however long. */
  wait(): void
  /** The agent is approved over this connection: the control plane hears of every job in the spool. */
  connected(port: SessionPort): void
  disconnected(): void
  take(message: Exclude<WorkMessage, { type: 'settings' }>): void
  takeBlob(frame: BlobFrame): void
  /** The admin's limit, which wins over the agent's own; null: there is none. */
  limit(maxJobs: number | null): void
  /** No new jobs from now on. */
  drain(): void
  /** Ends all jobs, those too whose claim is being written. */
  abortAll(): void
  figures(): HostJobsFigures
  dispose(): Promise<void>
}

export interface HostJobsFigures {
  readonly runningJobs: number
  /** Claims that are being written; each is a running job soon. */
  readonly claimingJobs: number
  readonly maxJobs: number
  readonly draining: boolean
  /** Jobs in the spool, ended ones too. */
  readonly spooledJobs: number
  /** Bytes of output and events in the spool. */
  readonly spoolBytes: number
  readonly unacknowledgedBytes: number
  /** What keeps a job from going on, or from being seen, in a sentence; null: nothing does. */
  readonly trouble: string | null
}

export function createHostJobs(options: HostJobsOptions): HostJobs {
  const { spool, log, ownership } = options
  /** By run id: the numbers of jobs are given again by a database that was lost or restored. */
  const runs = new Map<string, JobRun>()
  /** Runs whose end the control plane has, although they had not ended here when it said so. */
  const settled = new Set<string>()
  const services = { ...options, giveUp: (key: JobKey) => spool.giveUp(key) }
  let session: Session | null = null
  let adminMaxJobs: number | null = null
  let draining = false
  let aborting = false
  /** Jobs of the spool that nobody has judged yet. */
  const unjudged = new Set<JobRun>()
  let waitNoMore = (): void => undefined

  const find = (ref: { run_id: string }): JobRun | undefined => runs.get(ref.run_id)
  const running = (): number => [...runs.values()].filter((run) => run.state !== 'ended' && !unjudged.has(run)).length
  const maxJobs = (): number => {
    const limit = adminMaxJobs ?? options.ownMaxJobs
    const most = options.mostJobs()
    if (most === 0) return limit
    return limit === 0 ? most : Math.min(limit, most)
  }
  const spoolBytes = (): number =>
    [...runs.values()].reduce((sum, run) => sum + run.replica.lengths().output + run.replica.lengths().events, 0)

  const trouble = (): string | null => {
    const run = [...runs.values()].find((one) => one.trouble !== null)
    return run ? `job ${run.folder.key.jobId}: ${run.trouble ?? ''}` : intake.trouble
  }

  const intake = createIntake({
    ...options,
    service: () => ownership.atHand,
    withFiles: options.playbook.localFolder === null,
    refusal: () => {
      const limit = maxJobs()
      const [problem, hostProblem] = [options.problem(), options.hostProblem()]
      if (problem !== null) return { code: 'draining', message: problem }
      if (hostProblem !== null) return hostProblem
      if (draining) return { code: 'draining', message: 'the runner is stopping' }
      if (limit > 0 && running() + intake.count >= limit) return { code: 'busy', message: `${limit} jobs run already` }
      if (spoolBytes() > options.spoolMaxBytes || runs.size >= MAX_SPOOLED_JOBS) {
        return { code: 'spool_full', message: 'too much waits in the spool for the control plane to store it' }
      }
      return null
    },
    claimed: (folder, port) => {
      const run = addRun(folder)
      port.send({ type: 'claimed', ...refOf(folder.key) })
      if (session === port) session.attach(run)
      if (aborting) run.abort()
      run.begin()
      options.changed()
    },
  })

  function addRun(folder: JobFolder): JobRun {
    const run = new JobRun(folder, services, {
      ready: () => session?.sender.wake(),
      ended: (ended) => {
        if (ended.forgotten) sayGone(ended)
        if (ended.forgotten || settled.has(ended.folder.key.runId)) remove(ended)
        else session?.orphans.ended(ended)
        session?.sender.wake()
        options.changed()
      },
      removed: (removed) => {
        remove(removed)
        options.changed()
        // The control plane learns that a job is lost from the next list of the spool, and each connection begins with one.
        if (!removed.forgotten) session?.reconnect('a job was removed from the spool by hand')
      },
    })
    runs.set(folder.key.runId, run)
    return run
  }

  function judge(): void {
    waitNoMore()
    if (unjudged.size === 0) return
    const found = [...unjudged]
    unjudged.clear()
    for (const run of found) run.begin()
    log.info({ jobs: found.length, running: running() }, 'jobs taken up from the spool')
    options.changed()
  }

  function remove(run: JobRun): void {
    const { key } = run.folder
    unjudged.delete(run)
    runs.delete(key.runId)
    settled.delete(key.runId)
    ownership.forget(run.folder)
    session?.detach(run)
    void run
      .dispose()
      // First, so that an agent that is killed in between meets the job again, and this with it.
      .then(() => options.playbook.sockets.remove(key.runId))
      .then(() => options.removeContainer?.(key.runId))
      .then(() => spool.trash(run.folder))
      .catch((error: unknown) => {
        log.error({ job: key.jobId, error }, 'cannot remove a job from the spool; the next start meets it again')
      })
  }

  /** The end is stored. A job that has not ended here goes on all the same, and leaves the spool when it has. */
  function release(run: JobRun): void {
    session?.detach(run)
    if (run.state === 'ended') remove(run)
    else settled.add(run.folder.key.runId)
  }

  /** A person wants nothing to be left of the job: what runs of it is ended. Nothing of it is sent any more. */
  function forget(run: JobRun): void {
    const { key } = run.folder
    session?.detach(run)
    // The only trace that is left of it.
    log.warn(
      { job: key.jobId, run: key.runId, state: run.state },
      'a person had the control plane forget this job; it is removed',
    )
    run.forget()
  }

  /** Nothing is left of a job that was to be forgotten. */
  function sayGone({ folder }: JobRun): void {
    session?.send({ type: 'unknown_job', ...refOf(folder.key) })
  }

  function resume(at: Session, job: ResumedJob): void {
    at.orphans.answered(job.run_id)
    const run = find(job)
    if (!run) return
    switch (job.verdict) {
      case 'unknown':
        at.orphans.add(run)
        return
      case 'stored':
        release(run)
        return
      case 'forget':
        // The product ends a playbook only when a person asked for it, never because a list does not name it.
        if (job.asked === true) forget(run)
        else log.warn({ job: job.job_id, run: job.run_id }, 'the control plane does not know this job; it is kept')
        return
      case 'continue':
        run.replica.number = job.number ?? job.job_id
        run.replica.resume(job)
        at.attach(run)
        if (job.abort) run.abort()
    }
  }

  /** An admin has the control plane at hand take over a job of another one. */
  function adopt(at: Session, run: JobRun): void {
    ownership
      .takeOver(run.folder)
      .then(() => {
        if (session === at) at.orphans.add(run, 'anew')
      })
      .catch((error: unknown) => {
        log.error({ job: run.folder.key.jobId, error }, 'cannot note that a job was taken over; an admin may ask again')
      })
  }

  /** Lists the spool. A claim that is being written is waited for: it is in the list, or it was never written. */
  async function announce(to: Session): Promise<void> {
    await intake.settled()
    if (session !== to) return
    const jobs = [...runs.values()].map((run): SpooledJob => {
      const service = ownership.foreignService(run.folder)
      const listed = { ...refOf(run.folder.key), ...run.replica.lengths(), ended: run.state === 'ended' }
      return service === null ? listed : { ...listed, service }
    })
    to.send({ type: 'inventory', jobs })
  }

  function abort(ref: { job_id: number; run_id: string }, at: Session): void {
    const run = find(ref)
    if (run) {
      run.abort()
      return
    }
    if (intake.drop(keyOf(ref)) === 'claiming') {
      void intake.settled().then(() => {
        abort(ref, at)
      })
      return
    }
    at.send({ type: 'unknown_job', job_id: ref.job_id, run_id: ref.run_id })
  }

  function take(message: Exclude<WorkMessage, { type: 'settings' }>, at: Session): void {
    switch (message.type) {
      case 'resume':
        for (const job of message.jobs) resume(at, job)
        return
      case 'offer': {
        const run = find(message.order)
        // Offering is idempotent: a job is claimed once, and that is said as often as it is asked.
        if (run) at.send({ type: 'claimed', job_id: message.order.job_id, run_id: message.order.run_id })
        else intake.offer(message.order, at)
        return
      }
      case 'blob_gone':
        at.transfer.gone(keyOf(message), message.sha256)
        at.uploads.gone(keyOf(message), message.sha256)
        return
      case 'ack':
        at.find(message.job_id)?.replica.acknowledge(message)
        at.sender.wake()
        return
      case 'stream_full':
        at.find(message.job_id)?.replica.stopAt(message.stream, message.length)
        at.sender.wake()
        return
      case 'rewind':
        at.find(message.job_id)?.replica.rewind(message.stream, message.to)
        at.sender.wake()
        return
      case 'end_stored': {
        const run = find(message)
        if (run) release(run)
        return
      }
      case 'forget': {
        const run = find(message)
        if (run) forget(run)
        else intake.drop(keyOf(message))
        return
      }
      case 'adopt': {
        const run = find(message)
        if (run) adopt(at, run)
        return
      }
      case 'abort':
        abort(message, at)
    }
  }

  return {
    async load() {
      const folders = await spool.list()
      for (const folder of folders) unjudged.add(addRun(folder))
      if (folders.length === 0) return
      log.info(
        { jobs: folders.length },
        'jobs found in the spool; a control plane is waited for before they are judged',
      )
      waitNoMore = options.after(ALONE_MS, judge)
    },

    wait() {
      waitNoMore()
    },

    connected(port) {
      judge()
      session = createSession(port, options)
      void announce(session)
    },

    disconnected() {
      session?.close()
      session = null
      intake.dropAll()
    },

    take(message) {
      if (session) take(message, session)
    },

    takeBlob(frame) {
      session?.transfer.take(frame)
      session?.uploads.take(frame)
    },

    limit(value) {
      adminMaxJobs = value
      options.changed()
    },

    drain() {
      draining = true
      intake.refuseAll('draining', 'the runner is stopping')
      options.changed()
    },

    abortAll() {
      aborting = true
      // It was asked for by whoever set it so, for all jobs of this host.
      judge()
      for (const run of runs.values()) run.abort()
    },

    figures: () => ({
      runningJobs: running(),
      claimingJobs: intake.claiming,
      maxJobs: maxJobs(),
      // So the control plane offers nothing.
      draining: draining || options.problem() !== null,
      spooledJobs: runs.size,
      spoolBytes: spoolBytes(),
      unacknowledgedBytes: session?.sender.unacknowledged() ?? 0,
      trouble: trouble(),
    }),

    async dispose() {
      waitNoMore()
      this.disconnected()
      await intake.settled()
      await Promise.all([...runs.values()].map((run) => run.dispose()))
    },
  }
}

function keyOf(ref: { job_id: number; run_id: string }): JobKey {
  return { jobId: ref.job_id, runId: ref.run_id }
}

function refOf(key: JobKey): { job_id: number; run_id: string } {
  return { job_id: key.jobId, run_id: key.runId }
}
