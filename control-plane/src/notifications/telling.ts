import type { Clock } from '../time/clock.js'
import { type NewDelivery, insertDelivery } from '../store/service/notification-deliveries.js'
import {
  type NotificationEvent,
  type StoredNotification,
  listEvents,
  takeEvent,
  tellsOf,
} from '../store/service/notification-events.js'
import { type NotificationTarget, listTargets } from '../store/service/notification-targets.js'
import type { Queries, Store } from '../store/store.js'
import { MAIL_LANE, laneOf } from './events.js'
import { kindOf } from './kinds/kinds.js'
import { type NotificationWords, eventNameOf } from './words.js'

/** Most events that one transaction turns into deliveries. */
const MAX_AT_ONCE = 50

/** Turns events into deliveries: one for each target and each mail address that wants the event. */
export type Telling = ReturnType<typeof createTelling>

/** Makes the {@link Telling} of this node. */
export function createTelling(deps: {
  readonly store: Store
  readonly clock: Clock
  readonly words: NotificationWords
  readonly newUid: () => string
}) {
  const { store, clock, words, newUid } = deps
  function deliveriesOf({ event, at }: StoredNotification, targets: readonly NotificationTarget[]): NewDelivery[] {
    const jobId = event.kind === 'runner' ? null : event.job.id
    const common = { event: eventNameOf(event), eventAt: at, jobId }
    const hooks = targets
      .filter((target) => wants(target, event))
      .map((target) => {
        const uid = newUid()
        const body = kindOf(target).bodyOf({ uid, event, at, words })
        const { id: targetId, name: recipient } = target
        return { ...common, uid, lane: laneOf(targetId), targetId, recipient, subject: null, body }
      })
    const mails = mailsOf(event).map((recipient) => {
      const { subject, text } = words.mailOf(event)
      return { ...common, uid: newUid(), lane: MAIL_LANE, targetId: null, recipient, subject, body: text }
    })
    return [...hooks, ...mails]
  }

  async function tell(queries: Queries, events: readonly StoredNotification[]): Promise<void> {
    const targets = await listTargets(queries)
    for (const event of events) {
      if (!(await takeEvent(queries, event.id))) continue
      for (const delivery of deliveriesOf(event, targets)) await insertDelivery(queries, delivery, clock.now())
    }
  }

  return {
    /** Goes on until no event is left. An event becomes deliveries once, however many nodes look. */
    async look(): Promise<void> {
      let events = await listEvents(store.read, MAX_AT_ONCE)
      while (events.length > 0) {
        const found = events
        await store.write('notifications.tell', (queries) => tell(queries, found))
        events = found.length < MAX_AT_ONCE ? [] : await listEvents(store.read, MAX_AT_ONCE)
      }
    },
  }
}

/** Whether a target gets an event. It does when it wants all events of this name, or when the form names it as a channel. */
function wants(target: NotificationTarget, event: NotificationEvent): boolean {
  if (!target.isEnabled) return false
  if (event.kind === 'job' && isDeclared(event) && event.declared?.channels.includes(target.name)) return true
  const isChild = event.kind === 'job' && event.job.parent !== null
  return !isChild && target.events.includes(eventNameOf(event))
}

/** The mail addresses that get an event, each once. */
function mailsOf(event: NotificationEvent): string[] {
  if (event.kind === 'approval') return [...new Set(event.mails)]
  return event.kind === 'job' && isDeclared(event) ? [...new Set(event.declared?.recipients)] : []
}

/** Whether the form of a job asks for notifications of this event. */
function isDeclared({ declared, what, job }: Extract<NotificationEvent, { kind: 'job' }>): boolean {
  return declared !== null && tellsOf(declared, what, job.status)
}
