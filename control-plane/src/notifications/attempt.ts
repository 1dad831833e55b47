import type { Delivery } from '../store/service/notification-deliveries.js'

/** One attempt to deliver something. @throws DeliveryProblem */
export type Attempt = (
  delivery: Delivery,
  options: { readonly now: number; readonly signal: AbortSignal },
) => Promise<void>

/** Why an attempt failed. */
export class DeliveryProblem extends Error {
  override readonly name = 'DeliveryProblem'
  /** @param isFinal the next attempt would meet the same */
  constructor(
    message: string,
    readonly isFinal: boolean,
    options?: ErrorOptions,
  ) {
    super(message, options)
  }
}
