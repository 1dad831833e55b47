import type { Logger } from 'pino'
import type { Clock } from '../../time/clock.js'
import type { LiveEvents } from '../../live/live-events.js'
import type { Nodes } from '../../nodes/nodes.js'
import type { Store } from '../../store/store.js'
import type { AdmissionLimits } from '../socket/admission.js'
import type { OpenSession } from '../socket/connection.js'
import type { ServiceIdentitySource } from '../socket/handshake.js'
import type { Rate } from '../socket/token-bucket.js'

/** The limits of the list of requests. */
export interface WaitingLimits {
  /** Most requests that may wait for an admin at the same time. */
  readonly mostWaiting: number
  /** The same limit for one network address (IPv6: for one /64). */
  readonly mostWaitingOfAddress: number
}

/** The limits of requests to join. */
export interface JoinLimits extends WaitingLimits {
  /** Most refused requests (known name, other key) that are kept to be shown. */
  readonly mostDenied: number
}

/** The limits of the hub. Times are in milliseconds. */
export interface HubLimits extends JoinLimits, AdmissionLimits {
  /** How long a request stays when its socket is gone and no admin marked it, in milliseconds. */
  readonly graceMs: number
  /** How long the hello may take to arrive, in milliseconds. */
  readonly helloMs: number
  /** How many hellos of unknown agents are handled for each address. */
  readonly strangersOfAddress: Rate
  /**
   * How long an older process may take to show that it still runs, in milliseconds. It is asked when a newer process
   * with the same identity says hello.
   */
  readonly answerMs: number
  /** How long `close` waits for the other sides, in milliseconds. */
  readonly closeMs: number
}

/** The limits of the product. */
export const HUB_LIMITS: HubLimits = {
  mostWaiting: 100,
  mostWaitingOfAddress: 20,
  mostDenied: 20,
  // An agent that lost its connection dials again within 30 seconds.
  graceMs: 60_000,
  helloMs: 5000,
  mostUnproven: 1000,
  mostUnprovenOfAddress: 250,
  reserveOfKnownAddress: 100,
  strangersOfAddress: { burst: 60, perSecond: 1 },
  answerMs: 10_000,
  closeMs: 2000,
}

/** What the hub and its parts need. */
export interface HubDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly random: (bytes: number) => Buffer
  readonly live: LiveEvents
  readonly log: Logger
  /** The release of this control plane, as the challenge names it. */
  readonly version: string
  /** The key by which this control plane proves to runners who it is. */
  readonly service: ServiceIdentitySource
  readonly openSession: OpenSession
  /** Called after a runner was revoked and its socket was closed, to take care of its jobs. */
  readonly onRevoked?: (runnerId: number) => Promise<void> | void
  readonly heartbeatMs?: number
  /** This node among others; left out: it is the only one. */
  readonly nodes?: Nodes
  /** RTE_LOST_SECONDS, in milliseconds: how long a runner may be silent before its jobs are abandoned. */
  readonly lostMs?: number
  /** The clock for silence; without it, one is made of `clock`. */
  readonly steady?: Clock
  readonly limits?: Partial<HubLimits>
}
