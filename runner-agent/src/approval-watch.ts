import type { CloseReasonName } from '@holdfast/protocol'
import { type NotReady, TOKEN_NOT_TAKEN, UNTRUSTED } from './health.js'
import type { HostJobs } from './jobs/host-jobs.js'
import type { Connection, WorkMessage } from './link/connection.js'
import type { LinkEvents } from './link/link.js'
import type { Logger } from './log.js'
import type { Trust } from './identity/trust.js'

/** Refusals by a control plane that knows this runner. The words are shown to whoever asks `/ready`. */
const NOT_ACCEPTED: ReadonlyMap<CloseReasonName, string> = new Map([
  ['denied', 'denied: the control plane knows the name of this runner with another key'],
  ['revoked', 'revoked: an admin revoked this runner'],
  ['rejected', 'rejected: an admin rejected the request of this runner; it asks again'],
  ['clone', 'refused as a clone: another process continues the identity of this runner'],
])

const COPY_NOT_ACCEPTED =
  'refused as a copy: this state folder is a copy, and the original may still run its jobs; start the agent on the ' +
  'original, or let an admin accept this copy (holdfast runner accept)'

/**
 * Where this agent stands with the control plane:
 *
 *   down       no connection                                   → waiting, approved (the welcome says which)
 *   waiting    connected, gets no job and says only its status → approved (an admin approved it), down
 *   approved   jobs, files and streams cross the connection    → down
 */
export type ApprovalState = 'down' | 'waiting' | 'approved'

/** Knows whether this agent is connected and approved, and passes on what comes over the connection. */
export interface ApprovalWatch {
  readonly state: ApprovalState
  readonly events: LinkEvents
  /** Tells the control plane what the agent does. */
  sendStatus(): void
  notReady(): NotReady | null
}

/** What the watch needs. */
export interface ApprovalWatchDependencies {
  readonly hostJobs: HostJobs
  readonly trust: Pick<Trust, 'approved' | 'refused'>
  readonly name: string
  readonly fingerprint: string
  /**
   * A join token is shown at each connection. A good token approves the runner at once. So a runner that waits although it
   * has one has a token that is not valid.
   */
  readonly hasJoinToken: boolean
  readonly now: () => Date
  /** Whether the state folder is a copy that no control plane has let in. */
  readonly isCopied: () => boolean
  /** The control plane has let this agent in, and it is approved. */
  readonly letIn: () => void
  /** Why no job is taken although everything else works; null: jobs are taken. */
  readonly problem: () => string | null
  readonly log: Logger
}

/** Follows what the control plane says about this agent. It begins with no connection. */
export function createApprovalWatch(deps: ApprovalWatchDependencies): ApprovalWatch {
  return new LinkedApprovalWatch(deps)
}

class LinkedApprovalWatch implements ApprovalWatch {
  readonly #deps: ApprovalWatchDependencies
  #state: ApprovalState = 'down'
  #connection: Connection | null = null
  /** What the control plane said last instead of a welcome, in words; null: nothing, or it has welcomed since. */
  #refusal: string | null = null

  constructor(deps: ApprovalWatchDependencies) {
    this.#deps = deps
  }

  readonly events: LinkEvents = {
    up: (welcome, over) => {
      // A control plane answers. Its next message says whether this runner is approved.
      this.#deps.hostJobs.wait()
      this.#refusal = null
      this.#move(welcome.state, welcome.max_jobs, over)
    },
    message: (message) => {
      this.#take(message)
    },
    blob: (frame) => {
      if (this.#state === 'approved') this.#deps.hostJobs.takeBlob(frame)
    },
    heartbeat: (over) => {
      over.ping()
      this.sendStatus()
    },
    refused: (reason) => {
      // A connection that a newer one took over says nothing about that newer one.
      if (this.#state !== 'down') return
      const isCopy = reason === 'clone' && this.#deps.isCopied()
      this.#refusal = isCopy ? COPY_NOT_ACCEPTED : (NOT_ACCEPTED.get(reason) ?? null)
      if (this.#refusal !== null) this.#deps.hostJobs.wait()
    },
    down: () => {
      if (this.#state === 'approved') this.#deps.hostJobs.disconnected()
      this.#state = 'down'
      this.#connection = null
    },
  }

  get state(): ApprovalState {
    return this.#state
  }

  sendStatus(): void {
    if (!this.#connection) return
    const { hostJobs, now } = this.#deps
    const { runningJobs, maxJobs, draining, spoolBytes } = hostJobs.figures()
    this.#connection.send({
      type: 'status',
      running_jobs: runningJobs,
      max_jobs: maxJobs,
      draining,
      spool_bytes: spoolBytes,
      clock: now().getTime(),
    })
  }

  notReady(): NotReady | null {
    const { hostJobs, trust, hasJoinToken, problem } = this.#deps
    const why = problem()
    if (why !== null) return { problem: why }
    if (hostJobs.figures().draining) return 'draining'
    if (this.#state === 'down') {
      if (trust.refused) return UNTRUSTED
      return this.#refusal === null ? 'not connected to the control plane' : { problem: this.#refusal }
    }
    if (this.#state === 'approved') return null
    return hasJoinToken ? TOKEN_NOT_TAKEN : 'waiting for approval'
  }

  #take(message: WorkMessage): void {
    const { hostJobs, log } = this.#deps
    if (message.type !== 'settings') {
      if (this.#state === 'approved') hostJobs.take(message)
      else log.warn({ type: message.type }, 'the control plane sent work before its approval; passed over')
    } else if (this.#connection) {
      this.#move(message.state, message.max_jobs, this.#connection)
    }
  }

  #move(to: 'waiting' | 'approved', maxJobs: number | null, over: Connection): void {
    const { hostJobs, trust, name, fingerprint, hasJoinToken, letIn, log } = this.#deps
    const before = this.#state
    this.#state = to
    this.#connection = over
    hostJobs.limit(maxJobs)
    if (before === to) return
    if (to === 'waiting') {
      log.info({ name, fingerprint }, 'connected to the control plane, waiting for approval by an admin')
      if (hasJoinToken) {
        log.warn({ name }, 'the join token is unknown, used or expired, so an admin has to approve this runner')
      }
    } else {
      log.info({ name, epoch: over.epoch }, 'connected to the control plane and approved')
      letIn()
      // Trust is noted before anything is taken from this control plane.
      trust.approved()
      hostJobs.connected(over)
    }
  }
}
