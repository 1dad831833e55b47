import type { Clock } from '../time/clock.js'
import { messageOf } from '../errors.js'
import {
  type AttemptEnd,
  type Delivery,
  endAttempt,
  leaseDelivery,
  listDue,
} from '../store/service/notification-deliveries.js'
import type { Store } from '../store/store.js'
import type { Timers } from '../time/timers.js'
import { type Attempt, DeliveryProblem } from './attempt.js'
import { MAIL_LANE, TEST_EVENT } from './events.js'

const MINUTE = 60_000

/** The pauses between failed attempts, in milliseconds. One attempt follows the last pause. Then the delivery is given up. */
export const PAUSES_MS: readonly number[] = [10_000, 30_000, ...[2, 10, 30, 60, 120, 240, 480].map((n) => n * MINUTE)]

/** How long an attempt may take, in milliseconds. */
export const ATTEMPT_MS = 10_000

/**
 * How long a delivery belongs to the node that took it, in milliseconds. It is longer than an attempt and the write after it
 * can take.
 */
const LEASE_MS = 2 * MINUTE

/** Most attempts of one node at the same time. */
const MAX_AT_ONCE = 16
/** Most attempts of one lane on this node at the same time. */
const MAX_OF_LANE = 2

/** How long a stop waits for attempts before they are cut off, in milliseconds. */
const STOP_MS = 2000

/** What the outbox needs of other parts. */
export interface OutboxDependencies {
  readonly store: Store
  readonly clock: Clock
  readonly timers: Timers
  readonly random: (bytes: number) => Buffer
  readonly log: { info(fields: object, text: string): void; warn(fields: object, text: string): void }
  readonly webhook: Attempt
  readonly mail: Attempt
  readonly meter: (channel: 'webhook' | 'mail', outcome: 'sent' | 'tried' | 'failed') => void
}

/** The deliveries that wait, and the attempts of this node. */
export interface Outbox {
  /** Begins the attempts that are due. Does not wait for their ends. */
  look(): Promise<void>
  /** Makes one attempt at once. Resolves when it has ended, or when another node has the delivery. */
  deliver(id: number): Promise<void>
  /** Resolves when no attempt of this node runs. */
  settled(): Promise<void>
  /** Begins no further attempts, waits for those that run, and cuts them off after {@link STOP_MS}. */
  close(): Promise<void>
}

/**
 * The outbox of one node. Before a node sends a delivery, it takes a lease for it in the database. So no other node sends the
 * same delivery. The result of the attempt is stored after it. If the node dies in between, the lease runs out and another
 * node sends again. The receiver may then get the delivery twice, with the same id.
 */
class NodeOutbox implements Outbox {
  readonly #deps: OutboxDependencies
  /** The attempts that run, with their lanes. */
  readonly #running = new Map<Promise<void>, string>()
  /** The same attempts. Each of these also waits for the look that follows the attempt. */
  readonly #following = new Set<Promise<void>>()
  readonly #stopping = new AbortController()
  #isClosing = false

  constructor(deps: OutboxDependencies) {
    this.#deps = deps
  }

  async look(): Promise<void> {
    const { store, clock } = this.#deps
    while (this.#hasPlace()) {
      const found = await listDue(store.read, clock.now(), this.#busyLanes(), MAX_AT_ONCE)
      let hasBegun = false
      for (const { id, lane } of found) {
        if (!this.#hasPlace() || this.#busyLanes().includes(lane)) continue
        if ((await this.#begin(id)) !== null) hasBegun = true
      }
      if (!hasBegun) return
    }
  }

  async deliver(id: number): Promise<void> {
    const attempt = await this.#begin(id)
    await attempt?.ended
  }

  async settled(): Promise<void> {
    await allEnded(this.#following)
  }

  async close(): Promise<void> {
    this.#isClosing = true
    const cancel = this.#deps.timers.after(STOP_MS, () => this.#stopping.abort())
    await this.settled()
    cancel()
    this.#stopping.abort()
  }

  #hasPlace(): boolean {
    return !this.#isClosing && this.#running.size < MAX_AT_ONCE
  }

  #busyLanes(): string[] {
    return fullLanes(this.#running.values())
  }

  /** Null: another node has the delivery. The object around `ended` keeps `await` from waiting for the end of the attempt. */
  async #begin(id: number): Promise<{ readonly ended: Promise<void> } | null> {
    const { store, clock, random, log } = this.#deps
    const lease = random(16).toString('hex')
    const now = clock.now()
    const terms = { lease, now, until: now + LEASE_MS }
    const delivery = await store.write('notifications.lease', (queries) => leaseDelivery(queries, id, terms))
    if (!delivery) return null
    const attempt = this.#run(delivery, lease).catch((error: unknown) => {
      log.warn({ delivery: id, err: error }, 'the end of a delivery could not be stored; it is sent again')
    })
    this.#running.set(attempt, delivery.lane)
    const followed = attempt.then(() => {
      this.#running.delete(attempt)
      return this.#goOn()
    })
    this.#following.add(followed)
    void followed.finally(() => this.#following.delete(followed))
    return { ended: attempt }
  }

  /** Looks at once when an attempt has ended. So a delivery that waits for a place need not wait for the timer. */
  async #goOn(): Promise<void> {
    await this.look().catch((error: unknown) => {
      this.#deps.log.warn({ err: error }, 'the next notifications could not be looked at; tried again soon')
    })
  }

  async #run(delivery: Delivery, lease: string): Promise<void> {
    const { store, clock, log, meter } = this.#deps
    const channel = delivery.lane === MAIL_LANE ? 'mail' : 'webhook'
    const problem = await this.#problemOf(delivery, channel)
    const end = endOf(delivery, problem, clock.now())
    await store.write('notifications.attempted', (queries) => endAttempt(queries, delivery.id, lease, end))
    const outcome = end.state === 'waiting' ? 'tried' : end.state
    meter(channel, outcome)
    if (outcome === 'failed') {
      log.warn({ delivery: delivery.uid, event: delivery.event, channel }, 'a notification could not be delivered')
    }
  }

  async #problemOf(delivery: Delivery, channel: 'webhook' | 'mail'): Promise<DeliveryProblem | null> {
    const { clock, timers } = this.#deps
    const tooLate = new AbortController()
    const cancel = timers.after(ATTEMPT_MS, () => tooLate.abort())
    const signal = AbortSignal.any([this.#stopping.signal, tooLate.signal])
    try {
      await this.#deps[channel](delivery, { now: clock.now(), signal })
      return null
    } catch (error) {
      return error instanceof DeliveryProblem ? error : new DeliveryProblem(messageOf(error), false)
    } finally {
      cancel()
    }
  }
}

/** Makes the {@link Outbox} of this node. */
export function createOutbox(deps: OutboxDependencies): Outbox {
  return new NodeOutbox(deps)
}

async function allEnded(attempts: ReadonlySet<Promise<void>>): Promise<void> {
  while (attempts.size > 0) await Promise.allSettled(attempts)
}

/** The lanes that have as many attempts as they may. */
function fullLanes(lanes: Iterable<string>): string[] {
  const counts = new Map<string, number>()
  for (const lane of lanes) counts.set(lane, (counts.get(lane) ?? 0) + 1)
  return [...counts].filter(([, count]) => count >= MAX_OF_LANE).map(([lane]) => lane)
}

function endOf({ attempts, event }: Delivery, problem: DeliveryProblem | null, now: number): AttemptEnd {
  if (problem === null) return { state: 'sent', nextAt: null, problem: null, endedAt: now }
  const pause = problem.isFinal || event === TEST_EVENT ? undefined : PAUSES_MS[attempts - 1]
  if (pause === undefined) return { state: 'failed', nextAt: null, problem: problem.message, endedAt: now }
  return { state: 'waiting', nextAt: now + pause, problem: problem.message, endedAt: null }
}
