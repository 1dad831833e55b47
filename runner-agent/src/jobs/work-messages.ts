import type { ResumedJob } from '@holdfast/protocol'
import type { WorkMessage } from '../link/connection.js'
import type { Logger } from '../log.js'
import type { Intake } from './intake.js'
import { type JobRef, keyOfRef, refOfKey } from './job-refs.js'
import type { JobRun } from './job-run.js'
import type { Ownership } from './ownership.js'
import type { Session } from './session.js'
import type { Spool } from '../spool/spool.js'
import type { SpooledRuns } from './spooled-runs.js'

/** What the control plane says about jobs. */
export type JobMessage = Exclude<WorkMessage, { type: 'settings' }>

/** What the messages act on. */
export interface WorkMessagesDependencies {
  readonly runs: SpooledRuns
  readonly intake: Intake
  readonly ownership: Ownership
  readonly spool: Spool
  readonly log: Logger
  /** True while this is the connection over which the agent is approved. */
  readonly isCurrent: (session: Session) => boolean
}

/** Carries out what the control plane says about jobs. */
export class WorkMessages {
  readonly #deps: WorkMessagesDependencies

  constructor(deps: WorkMessagesDependencies) {
    this.#deps = deps
  }

  /** @param at the connection that the message came over */
  take(message: JobMessage, at: Session): void {
    const { runs, intake } = this.#deps
    switch (message.type) {
      case 'resume':
        for (const job of message.jobs) this.#resume(at, job)
        return
      case 'recall':
        for (const ref of message.jobs) this.#recall(at, ref)
        return
      case 'offer':
        // An offer may come again. A job is claimed once, and the answer is the same each time.
        if (runs.find(message.order)) at.send({ type: 'claimed', ...refOfKey(keyOfRef(message.order)) })
        else if (this.#isKept(message.order)) this.#claimKept(at, message.order)
        else intake.offer(message.order, at)
        return
      case 'blob_gone':
        at.transfer.gone(keyOfRef(message), message.sha256)
        at.uploads.gone(keyOfRef(message), message.sha256)
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
      case 'abort':
        this.#abort(message, at)
        return
      default:
        this.#carryOut(message, at)
    }
  }

  /** What happens with a job about which the control plane has decided. */
  #carryOut(message: Extract<JobMessage, { type: 'end_stored' | 'forget' | 'adopt' }>, at: Session): void {
    const { runs, intake } = this.#deps
    const run = runs.find(message)
    switch (message.type) {
      case 'end_stored':
        if (run) runs.release(run)
        return
      case 'forget':
        if (run) runs.forget(run)
        else intake.drop(keyOfRef(message))
        return
      case 'adopt':
        if (run) this.#adopt(at, run)
    }
  }

  /** The control plane misses a run that this agent did not list. */
  #recall(at: Session, ref: JobRef): void {
    const { spool, log } = this.#deps
    const key = keyOfRef(ref)
    // All of it is here. The next list names it.
    if (this.#deps.runs.find(ref)) {
      at.reconnect('the control plane misses a job that is here')
      return
    }
    if (this.#isKept(ref)) {
      this.#takeBack(at, ref, () => at.reconnect('the control plane misses a job that is kept here'))
      return
    }
    try {
      const known = spool.isPast(key)
      at.send({ type: 'recalled', ...refOfKey(key), known, record: known ? spool.endOf(key) : null })
    } catch (error) {
      // Nothing is known now. The next connection is asked again.
      log.error({ job: ref.job_id, error }, 'it cannot be looked up now what became of a job')
    }
  }

  #resume(at: Session, job: ResumedJob): void {
    const { runs } = this.#deps
    at.orphans.answered(job.run_id, job.verdict !== 'unknown')
    const run = runs.find(job)
    if (run) this.#goOn(at, run, job)
    else this.#resumeKept(at, job)
  }

  #mayBePast(ref: JobRef): boolean {
    try {
      return this.#deps.spool.isPast(keyOfRef(ref))
    } catch {
      return true
    }
  }

  #isKept({ run_id: runId }: Pick<JobRef, 'run_id'>): boolean {
    return this.#deps.spool.kept().some(({ folder }) => folder.key.runId === runId)
  }

  /** The control plane answers about a run that is kept. */
  #resumeKept(at: Session, job: ResumedJob): void {
    if (job.verdict === 'stored' || !this.#isKept(job)) return
    if (job.verdict === 'forget') this.#withKept(at, job, this.#deps.runs.dropKept(job))
    else this.#takeBack(at, job, (run) => this.#goOn(at, run, job))
  }

  /** The control plane offers a run of which it has forgotten that it ended. All of it is here, so it is claimed. */
  #claimKept(at: Session, ref: JobRef): void {
    this.#takeBack(at, ref, (run) => {
      run.replica.number = ref.job_id
      run.replica.resume({ output: 0, events: 0 })
      at.send({ type: 'claimed', ...refOfKey(keyOfRef(ref)) })
      at.attach(run)
    })
  }

  /** A kept run goes back into the spool. @param next what follows, when the connection is still the same */
  #takeBack(at: Session, ref: JobRef, next: (run: JobRun) => void): void {
    const { runs, isCurrent } = this.#deps
    const taking = runs.takeBack(ref).then((run) => {
      if (run && isCurrent(at)) next(run)
    })
    this.#withKept(at, ref, taking)
  }

  #withKept(at: Session, { job_id: job }: JobRef, done: Promise<void>): void {
    const { isCurrent, log } = this.#deps
    done.catch((error: unknown) => {
      log.error({ job, error }, 'an ended job that is kept cannot be sent again now; tried again')
      if (isCurrent(at)) at.reconnect('an ended job that is kept cannot be sent again now')
    })
  }

  #goOn(at: Session, run: JobRun, job: ResumedJob): void {
    const { runs } = this.#deps
    switch (job.verdict) {
      case 'unknown':
        at.orphans.add(run)
        return
      case 'stored':
        runs.release(run)
        return
      case 'forget':
        // A person asked for it.
        runs.forget(run)
        return
      case 'continue':
        run.replica.number = job.number ?? job.job_id
        run.replica.resume(job)
        at.attach(run)
        if (job.abort) run.abort()
    }
  }

  /** An admin has the control plane at hand take over a job of another one. */
  #adopt(at: Session, run: JobRun): void {
    const { ownership, isCurrent, log } = this.#deps
    ownership
      .takeOver(run.folder)
      .then(() => {
        if (isCurrent(at)) at.orphans.add(run, 'anew')
      })
      .catch((error: unknown) => {
        log.error({ job: run.folder.key.jobId, error }, 'cannot note that a job was taken over; an admin may ask again')
      })
  }

  #abort(ref: JobRef, at: Session): void {
    const { runs, intake } = this.#deps
    const run = runs.find(ref)
    if (run) {
      run.abort()
      return
    }
    if (intake.drop(keyOfRef(ref)) === 'claiming') {
      void intake.settled().then(() => {
        this.#abort(ref, at)
      })
      return
    }
    // The control plane may not know that this run is over. The next list tells it.
    if (this.#mayBePast(ref)) at.reconnect('a job that shall be aborted is over, or cannot be looked up now')
    else at.send({ type: 'unknown_job', ...refOfKey(keyOfRef(ref)) })
  }
}
