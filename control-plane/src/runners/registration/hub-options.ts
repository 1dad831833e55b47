import type { Logger } from 'pino'
import type { Clock } from '../../clock.js'
import type { LiveEvents } from '../../live/live-events.js'
import type { Nodes } from '../../nodes/nodes.js'
import type { Store } from '../../store/store.js'
import type { AdmissionLimits } from '../socket/admission.js'
import type { OpenSession } from '../socket/connection.js'
import type { ServiceIdentitySource } from '../socket/handshake.js'
import type { JoinLimits } from './join-decision.js'
import type { Rate } from '../socket/token-bucket.js'

export interface HubLimits extends JoinLimits, AdmissionLimits {
  /** How long a request stays when its socket is gone and no admin marked it, in milliseconds. */
  readonly graceMs: number
  /** How long the hello may take, in milliseconds. */
  readonly helloMs: number
  /** Hellos of strangers that are looked at, of one address. */
  readonly strangersOfAddress: Rate
  /** How long an older process may take to show that it still runs when a newer one of the same identity says hello. */
  readonly answerMs: number
  /** How long `close` waits for the other sides, in milliseconds. */
  readonly closeMs: number
}

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

/** What the hub and its parts are made of. */
export interface HubOptions {
  readonly store: Store
  readonly clock: Clock
  readonly random: (bytes: number) => Buffer
  readonly live: LiveEvents
  readonly log: Logger
  /** Release of this control plane, said in the challenge. */
  readonly version: string
  /** By which key this control plane proves itself to runners. */
  readonly service: ServiceIdentitySource
  readonly openSession: OpenSession
  /** Called after a runner was revoked and its socket closed: its jobs are nobody's now. */
  readonly onRevoked?: (runnerId: number) => Promise<void> | void
  readonly heartbeatMs?: number
  /** This control plane among others; left out: it is the only one. */
  readonly nodes?: Nodes
  /** RTE_LOST_SECONDS, in milliseconds: how long a runner may be silent before its jobs are given up. */
  readonly lostMs?: number
  /** By which that is measured; without it one made of `clock`. */
  readonly steady?: Clock
  readonly limits?: Partial<HubLimits>
}
