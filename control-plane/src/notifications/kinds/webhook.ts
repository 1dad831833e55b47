import { createHmac } from 'node:crypto'
import { isoTime } from '../../time/clock.js'
import { TEST_EVENT } from '../events.js'
import type { TargetKind } from './kind.js'

/** A webhook: the event as JSON, signed with the secret of the target. */
export const webhook: TargetKind = {
  about: 'webhook: the event as JSON, signed with the secret',
  bodyOf: ({ uid, event, at, words }) => words.bodyOf(uid, event, at),
  testBodyOf: (uid, at) => JSON.stringify({ id: uid, event: TEST_EVENT, time: isoTime(at) }),
  headersOf: ({ delivery, secret, now }) => ({
    'x-holdfast-event': delivery.event,
    'x-holdfast-delivery': delivery.uid,
    'x-holdfast-attempt': String(delivery.attempts),
    'x-holdfast-signature': signatureOf(secret, delivery.body, now),
  }),
}

/**
 * The header that proves who sent a body, and when: `t=<seconds>,v1=<HMAC-SHA256 of "<t>.<body>", hexadecimal>`. The time is
 * signed, too. So a receiver can refuse a body that somebody has recorded and sends again.
 */
function signatureOf(secret: string, body: string, now: number): string {
  const time = Math.floor(now / 1000)
  return `t=${time},v1=${createHmac('sha256', secret).update(`${time}.${body}`).digest('hex')}`
}
