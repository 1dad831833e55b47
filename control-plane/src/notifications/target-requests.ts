import type { SecretBox } from '../credentials/encryption/secret-box.js'
import { type AddressRules, HostRefused } from '../sources/address-rules.js'
import { sendRequest, shownUrl } from '../sources/http-request.js'
import { SourceProblem } from '../sources/question.js'
import { ownerOfTarget } from '../store/service/sealed-columns.js'
import { findTarget } from '../store/service/notification-targets.js'
import type { Delivery } from '../store/service/notification-deliveries.js'
import type { Store } from '../store/store.js'
import { type Attempt, DeliveryProblem } from './attempt.js'
import { kindOf } from './kinds/kinds.js'

/** What sending to targets needs of other parts. */
export interface TargetRequestDependencies {
  readonly store: Pick<Store, 'read'>
  readonly box: Pick<SecretBox, 'open'>
  readonly addresses: AddressRules
}

/** Makes what sends a delivery to its target. */
export function createTargetRequests({ store, box, addresses }: TargetRequestDependencies): Attempt {
  return async (delivery, { now, signal }) => {
    const target = await targetOf(store, delivery)
    const secret = secretOf(box, target)
    try {
      await sendRequest(addresses, {
        method: 'POST',
        url: target.url,
        body: delivery.body,
        headers: kindOf(target).headersOf({ delivery, secret, now }),
        signal,
        maxRedirects: 0,
        isStatusEnough: true,
      })
    } catch (error) {
      if (!(error instanceof SourceProblem)) throw error
      // The path of the URL may be a secret, so the log of deliveries shows only the server.
      const text = error.message.replaceAll(shownUrl(new URL(target.url)), new URL(target.url).origin)
      throw new DeliveryProblem(text, error instanceof HostRefused)
    }
  }
}

async function targetOf(store: TargetRequestDependencies['store'], { targetId }: Delivery) {
  const target = targetId === null ? null : await findTarget(store.read, targetId)
  if (target) return target
  throw new DeliveryProblem('The target was removed', true)
}

function secretOf(box: TargetRequestDependencies['box'], { name, secret }: { name: string; secret: Buffer }): string {
  try {
    return box.open(secret, ownerOfTarget(name))
  } catch (error) {
    throw new DeliveryProblem('The secret of the target cannot be decrypted: give it a new one', true, { cause: error })
  }
}
