import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { isoTime } from '../../time/clock.js'
import { InvalidInputError } from '../../errors.js'
import type { Deliveries } from '../../notifications/deliveries.js'
import { isMailAddress } from '../../notifications/mail-settings.js'
import { DELIVERY_STATES, type Delivery } from '../../store/service/notification-deliveries.js'
import { noteAudit } from '../route/audit-hook.js'
import { requireAdmin } from '../route/guards.js'
import { IdParams, answers, asList, idOf, integerText, listOf, wholeNumberOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const time = (description: string) => nullable(Type.String({ format: 'date-time', description }))

/** A message to one target or one mail address, in the log. */
export const Notification = Type.Object(
  {
    id: Type.Integer(),
    delivery: Type.String({ description: 'The id that the receiver sees, the same in each attempt' }),
    channel: Type.Enum(['webhook', 'mail']),
    recipient: Type.String({ description: 'Name of the target, or the mail address' }),
    event: Type.String(),
    event_at: Type.String({ format: 'date-time' }),
    job_id: nullable(Type.Integer()),
    state: Type.Enum([...DELIVERY_STATES]),
    attempts: Type.Integer(),
    next_attempt: time('Null: there is none'),
    problem: nullable(Type.String({ description: 'Why the last attempt failed' })),
    created_at: Type.String({ format: 'date-time' }),
    ended_at: time('When it arrived or was given up'),
  },
  { title: 'Notification' },
)

const tags = ['notifications']
const SHOWN = 100
const MAX_SHOWN = 1000

/** The log of notifications, for admins. */
export function notificationRoutes({ deliveries }: { readonly deliveries: Deliveries }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/notification',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'The notifications that were or will be sent, the newest first (admin)',
          operationId: 'listNotifications',
          querystring: Type.Object({
            state: Type.Optional(Type.Enum([...DELIVERY_STATES])),
            job: Type.Optional(integerText('Only those about this job')),
            target: Type.Optional(integerText('Only those to this target')),
            records: Type.Optional(integerText(`1 to ${MAX_SHOWN}; ${SHOWN} if left out`)),
          }),
          response: answers(listOf(Notification), 400, 403),
        },
      },
      async ({ query: { state, job, target, records } }) => {
        const number = (text: string | undefined, name: string) =>
          text === undefined ? undefined : wholeNumberOf(text, name)
        const most = number(records, 'records') ?? SHOWN
        if (most < 1 || most > MAX_SHOWN) {
          throw new InvalidInputError('invalid_records', `records must be a number from 1 to ${MAX_SHOWN}`)
        }
        const filter = { state, jobId: number(job, 'job'), targetId: number(target, 'target') }
        return asList((await deliveries.list(filter, most)).map(shownNotification))
      },
    )

    app.post(
      '/notification/:id/retry',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'Send a notification again, also one that was sent or given up (admin)',
          operationId: 'retryNotification',
          params: IdParams,
          response: answers(Notification, 400, 403, 404, 409),
        },
      },
      async (request) => shownNotification(await deliveries.retry(idOf(request.params))),
    )

    app.post(
      '/notification/test-mail',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'Send a test mail at once, and answer with the result (admin)',
          operationId: 'sendTestMail',
          body: Type.Object(
            { to: Type.String({ maxLength: 254 }) },
            { title: 'TestMail', additionalProperties: false },
          ),
          response: answers(Notification, 400, 403),
        },
      },
      async (request) => {
        const { to } = request.body
        if (!isMailAddress(to)) throw new InvalidInputError('invalid_address', 'to must be one mail address')
        noteAudit(request, { name: to })
        return shownNotification(await deliveries.testMail(to))
      },
    )
  }
}

/** Field by field. The content of a message is not shown, because it is only for its receivers. */
export function shownNotification(delivery: Delivery): Static<typeof Notification> {
  const { id, uid, targetId, recipient, event, eventAt, jobId, state, attempts, nextAt, problem } = delivery
  return {
    id,
    delivery: uid,
    channel: targetId === null ? 'mail' : 'webhook',
    recipient,
    event,
    event_at: isoTime(eventAt),
    job_id: jobId,
    state,
    attempts,
    next_attempt: nextAt === null ? null : isoTime(nextAt),
    problem,
    created_at: isoTime(delivery.createdAt),
    ended_at: delivery.endedAt === null ? null : isoTime(delivery.endedAt),
  }
}
