import type { CloseReasonName } from '@holdfast/protocol'
import { type NotReady, TOKEN_NOT_TAKEN, UNTRUSTED } from './health.js'
import type { HostJobs } from './jobs/host-jobs.js'
import type { Connection } from './link/connection.js'
import type { LinkEvents } from './link/link.js'
import type { Logger } from './log.js'
import type { Trust } from './identity/trust.js'

/** Refusals by a control plane that knows this runner and does not want it as it is, in words for who probes. */
const NOT_ACCEPTED: ReadonlyMap<CloseReasonName, string> = new Map([
  ['denied', 'denied: the control plane knows the name of this runner with another key'],
  ['revoked', 'revoked: an admin revoked this runner'],
  ['rejected', 'rejected: an admin rejected the request of this runner; it asks again'],
  ['clone', 'refused as a clone: another process continues the identity of this runner'],
])

/**
 * Where this agent stands with the control plane:
 *
 *   down       no connection                                   → waiting, approved (the welcome says which)
 *   waiting    connected, gets no job and says only its status → approved (an admin approved it), down
 *   approved   jobs, files and streams cross the connection    → down
 */
export type ApprovalState = 'down' | 'waiting' | 'approved'

export interface ApprovalWatch {
  readonly state: ApprovalState
  readonly events: LinkEvents
  /** Tells the control plane what the agent does. */
  sendStatus(): void
  notReady(): NotReady | null
}

export interface ApprovalWatchOptions {
  readonly hostJobs: HostJobs
  readonly trust: Pick<Trust, 'approved' | 'refused'>
  readonly name: string
  readonly fingerprint: string
  /** A join token is shown at each connection. It approves at once, so who waits all the same has one that is worth nothing. */
  readonly hasJoinToken: boolean
  readonly now: () => Date
  /** Why no job is taken although all else is well; null: jobs are taken. */
  readonly problem: () => string | null
  readonly log: Logger
}

export function createApprovalWatch(options: ApprovalWatchOptions): ApprovalWatch {
  const { hostJobs, trust, name, fingerprint, hasJoinToken, now, problem, log } = options
  let state: ApprovalState = 'down'
  let connection: Connection | null = null
  /** What the control plane said last instead of a welcome, in words; null: nothing, or it has welcomed since. */
  let refusal: string | null = null

  const move = (to: 'waiting' | 'approved', maxJobs: number | null, over: Connection): void => {
    const before = state
    state = to
    connection = over
    hostJobs.limit(maxJobs)
    if (before === to) return
    if (to === 'waiting') {
      log.info({ name, fingerprint }, 'connected to the control plane, waiting for approval by an admin')
      if (hasJoinToken) {
        log.warn({ name }, 'the join token is unknown, used or expired, so an admin has to approve this runner')
      }
    } else {
      log.info({ name, epoch: over.epoch }, 'connected to the control plane and approved')
      // Before anything is taken from it.
      trust.approved()
      hostJobs.connected(over)
    }
  }

  const sendStatus = (): void => {
    if (!connection) return
    const { runningJobs, maxJobs, draining, spoolBytes } = hostJobs.figures()
    connection.send({
      type: 'status',
      running_jobs: runningJobs,
      max_jobs: maxJobs,
      draining,
      spool_bytes: spoolBytes,
      clock: now().getTime(),
    })
  }

  return {
    get state() {
      return state
    },
    sendStatus,
    notReady() {
      const why = problem()
      if (why !== null) return { problem: why }
      if (hostJobs.figures().draining) return 'draining'
      if (state === 'down') {
        if (trust.refused) return UNTRUSTED
        return refusal === null ? 'not connected to the control plane' : { problem: refusal }
      }
      if (state === 'approved') return null
      return hasJoinToken ? TOKEN_NOT_TAKEN : 'waiting for approval'
    },
    events: {
      up(welcome, over) {
        // There is a control plane, and it has yet to say what this runner is to it.
        hostJobs.wait()
        refusal = null
        move(welcome.state, welcome.max_jobs, over)
      },
      message(message) {
        if (message.type !== 'settings') {
          if (state === 'approved') hostJobs.take(message)
          else log.warn({ type: message.type }, 'the control plane sent work before its approval; passed over')
        } else if (connection) {
          move(message.state, message.max_jobs, connection)
        }
      },
      blob(frame) {
        if (state === 'approved') hostJobs.takeBlob(frame)
      },
      heartbeat(over) {
        over.ping()
        sendStatus()
      },
      refused(reason) {
        refusal = NOT_ACCEPTED.get(reason) ?? null
        if (refusal !== null) hostJobs.wait()
      },
      down() {
        if (state === 'approved') hostJobs.disconnected()
        state = 'down'
        connection = null
      },
    },
  }
}
