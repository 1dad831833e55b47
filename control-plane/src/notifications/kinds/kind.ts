import type { Delivery } from '../../store/service/notification-deliveries.js'
import type { NotificationEvent } from '../../store/service/notification-events.js'
import type { NotificationWords } from '../words.js'

/** What a target is told: an event, under the id of its delivery. */
export interface Told {
  readonly uid: string
  readonly event: NotificationEvent
  /** In milliseconds since the epoch. */
  readonly at: number
  readonly words: NotificationWords
}

/** A kind of target. All kinds are web addresses to which a request is sent. */
export interface TargetKind {
  /** What it is, in one sentence, for the document of the interface. */
  readonly about: string
  /** The body of the request, made once. Each attempt sends the same. */
  bodyOf(told: Told): string
  /** The body with which an admin tries a target. */
  testBodyOf(uid: string, at: number): string
  /** The headers of an attempt. The type of the content is JSON if they do not say another. */
  headersOf(attempt: {
    readonly delivery: Delivery
    readonly secret: string
    readonly now: number
  }): Record<string, string>
}
