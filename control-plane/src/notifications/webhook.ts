import { createHmac } from 'node:crypto'
import type { SecretBox } from '../credentials/encryption/secret-box.js'
import { type AddressRules, HostRefused } from '../sources/address-rules.js'
import { sendRequest, shownUrl } from '../sources/http-request.js'
import { SourceProblem } from '../sources/question.js'
import { ownerOfTarget } from '../store/service/sealed-columns.js'
import { findTarget } from '../store/service/notification-targets.js'
import type { Delivery } from '../store/service/notification-deliveries.js'
import type { Store } from '../store/store.js'
import { type Attempt, DeliveryProblem } from './attempt.js'

/** What sending to targets needs of other parts. */
export interface WebhookDependencies {
  readonly store: Pick<Store, 'read'>
  readonly box: Pick<SecretBox, 'open'>
  readonly addresses: AddressRules
}

/**
 * The header that proves who sent a body, and when: `t=<seconds>,v1=<HMAC-SHA256 of "<t>.<body>", hexadecimal>`. The time is
 * signed, too. So a receiver can refuse a body that somebody has recorded and sends again.
 */
function signatureOf(secret: string, body: string, now: number): string {
  const time = Math.floor(now / 1000)
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`
}

/** Makes what sends a delivery to its target. */
export function createWebhooks({ store, box, addresses }: WebhookDependencies): Attempt {
  return async (delivery, { now, signal }) => {
    const target = await targetOf(store, delivery)
    const secret = secretOf(box, target)
    try {
      await sendRequest(addresses, {
        method: 'POST',
        url: target.url,
        body: delivery.body,
        headers: {
          'x-holdfast-event': delivery.event,
          'x-holdfast-delivery': delivery.uid,
          'x-holdfast-attempt': String(delivery.attempts),
          'x-holdfast-signature': signatureOf(secret, delivery.body, now),
        },
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

async function targetOf(store: WebhookDependencies['store'], { targetId }: Delivery) {
  const target = targetId === null ? null : await findTarget(store.read, targetId)
  if (target) return target
  throw new DeliveryProblem('The target was removed', true)
}

function secretOf(box: WebhookDependencies['box'], { name, secret }: { name: string; secret: Buffer }): string {
  try {
    return box.open(secret, ownerOfTarget(name))
  } catch (error) {
    throw new DeliveryProblem('The secret of the target cannot be decrypted: give it a new one', true, { cause: error })
  }
}
