import type { Ages } from '../ages/age-limits.js'
import type { Clock } from '../time/clock.js'
import { ConflictError, NotFoundError } from '../errors.js'
import {
  type Delivery,
  type DeliveryFilter,
  type NewDelivery,
  deleteEndedDeliveries,
  findDelivery,
  insertDelivery,
  listDeliveries,
  retryDelivery,
} from '../store/service/notification-deliveries.js'
import type { NotificationTarget } from '../store/service/notification-targets.js'
import type { Store } from '../store/store.js'
import { MAIL_LANE, TEST_EVENT, laneOf } from './events.js'
import { kindOf } from './kinds/kinds.js'
import type { Outbox } from './outbox.js'

/** How many old deliveries one write removes. */
const MAX_AT_ONCE = 500

/** The log of deliveries, for admins. */
export type Deliveries = ReturnType<typeof createDeliveries>

/** Makes the {@link Deliveries} of this control plane. */
export function createDeliveries(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly ages: Ages
  readonly outbox: Pick<Outbox, 'deliver'>
  readonly newUid: () => string
  /** How long deliveries are kept after their end, in milliseconds; null: for ever. */
  readonly keepMs: number | null
}) {
  const { store, clock, ages, outbox, newUid, keepMs } = deps

  async function find(id: number): Promise<Delivery> {
    const delivery = await findDelivery(store.read, id)
    if (delivery) return delivery
    throw new NotFoundError('no_such_notification', `There is no notification ${id}`)
  }

  async function tryOnce(delivery: Omit<NewDelivery, 'event' | 'eventAt' | 'jobId'>): Promise<Delivery> {
    const now = clock.now()
    const whole = { ...delivery, event: TEST_EVENT, eventAt: now, jobId: null }
    const id = await store.write('notifications.test', (queries) => insertDelivery(queries, whole, now))
    await outbox.deliver(id)
    return find(id)
  }

  return {
    /** Newest first. */
    list: (filter: DeliveryFilter, limit: number): Promise<Delivery[]> => listDeliveries(store.read, filter, limit),
    /** Makes a delivery due again, also one that was sent or given up. @throws NotFoundError, ConflictError */
    async retry(id: number): Promise<Delivery> {
      await find(id)
      const now = clock.now()
      if (await store.write('notifications.retry', (queries) => retryDelivery(queries, id, now))) return find(id)
      throw new ConflictError('delivery_runs', `The notification ${id} is being sent at the moment`)
    },
    /** Makes one attempt at once. @returns the delivery after it */
    test(target: NotificationTarget): Promise<Delivery> {
      const uid = newUid()
      const { id, name } = target
      const body = kindOf(target).testBodyOf(uid, clock.now())
      return tryOnce({ uid, lane: laneOf(id), targetId: id, recipient: name, subject: null, body })
    },
    /** The same with a mail to this address. */
    testMail(to: string): Promise<Delivery> {
      const text = 'This mail was sent by an admin of Holdfast, to see whether mails arrive.\n'
      const subject = '[Holdfast] Test'
      return tryOnce({ uid: newUid(), lane: MAIL_LANE, targetId: null, recipient: to, subject, body: text })
    },
    /** Removes deliveries that ended long ago. */
    async sweep(): Promise<void> {
      if (keepMs === null) return
      const before = await ages.of(keepMs)
      if (before === null) return
      let removed = MAX_AT_ONCE
      while (removed === MAX_AT_ONCE) {
        removed = await store.write('notifications.sweep', (queries) =>
          deleteEndedDeliveries(queries, before, MAX_AT_ONCE),
        )
      }
    },
  }
}
