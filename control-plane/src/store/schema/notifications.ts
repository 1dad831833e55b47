import type { Generated } from 'kysely'
import type { Fixed } from './fixed.js'

/** The web addresses that are told of events. */
export interface NotificationTargetTable {
  id: Generated<number>
  name: Fixed<string>
  /** What it gets, and in which form, such as `webhook`. */
  kind: Fixed<string>
  url: string
  /** The secret that signs the webhooks. It is encrypted and bound to the name of the target. */
  secret: Buffer
  /** JSON array of names of events. */
  events: string
  enabled: number
  created_at: Fixed<number>
  created_by: Fixed<string>
}

/**
 * An event that notifications have to tell. The row is written with the change, and removed when its deliveries are
 * stored.
 */
export interface NotificationEventTable {
  id: Generated<number>
  kind: Fixed<string>
  at: Fixed<number>
  /** JSON: the job or the runner at the time of the event (`notification-events.ts`). */
  data: Fixed<string>
}

/** The states of a delivery. */
export const DELIVERY_STATES = ['waiting', 'sent', 'failed'] as const

/** One of {@link DELIVERY_STATES}. */
export type DeliveryState = (typeof DELIVERY_STATES)[number]

/** A message to one target or one mail address. */
export interface NotificationDeliveryTable {
  id: Generated<number>
  /** The id that receivers see. It is the same in each attempt. */
  uid: Fixed<string>
  /** `mail`, or `webhook:` with the target. A slow lane does not delay the others. */
  lane: Fixed<string>
  /** Null: a mail. */
  target_id: Fixed<number | null>
  /** Name of the target, or the mail address. */
  recipient: Fixed<string>
  event: Fixed<string>
  event_at: Fixed<number>
  job_id: Fixed<number | null>
  /** The subject of a mail; null: a webhook. */
  subject: Fixed<string | null>
  /** JSON of a webhook, text of a mail. */
  body: Fixed<string>
  state: DeliveryState
  attempts: number
  /** When the next attempt is due; null: it has ended. */
  next_at: number | null
  /** The attempt that has it now, and until when no other attempt takes it. */
  lease: string | null
  lease_until: number | null
  /** Why the last attempt failed. */
  problem: string | null
  created_at: Fixed<number>
  ended_at: number | null
}
