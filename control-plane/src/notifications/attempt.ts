import type { Delivery } from '../store/service/notification-deliveries.js'

/** Makes one attempt to send a delivery. `now` is in milliseconds since the epoch. @throws DeliveryProblem */
export type Attempt = (
  delivery: Delivery,
  options: { readonly now: number; readonly signal: AbortSignal },
) => Promise<void>

/** Why an attempt failed. */
export class DeliveryProblem extends Error {
  override readonly name = 'DeliveryProblem'
  /** @param isFinal the next attempt would fail for the same reason, so there is none */
  constructor(
    message: string,
    readonly isFinal: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
