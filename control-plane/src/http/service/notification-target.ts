import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { shownName } from '../../auth/sessions/shown-name.js'
import { isoTime } from '../../time/clock.js'
import type { Deliveries } from '../../notifications/deliveries.js'
import { TARGET_EVENTS } from '../../notifications/events.js'
import { TARGET_KINDS, TARGET_KIND_NAMES } from '../../notifications/kinds/kinds.js'
import type { Targets } from '../../notifications/targets.js'
import type { NotificationTarget as StoredTarget } from '../../store/service/notification-targets.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin, requireAdminFor } from '../route/guards.js'
import { IdParams, Message, answers, asList, idOf, listOf } from '../route/schemas.js'
import { Notification, shownNotification } from './notification.js'

/** What these routes need of other rooms. */
export interface TargetRouteDependencies {
  readonly targets: Targets
  readonly deliveries: Deliveries
}

const Events = Type.Array(Type.Enum([...TARGET_EVENTS]), { uniqueItems: true, description: 'What it is told of' })

const changeable = {
  url: Type.String({ minLength: 1, maxLength: 2000, description: 'http or https, without user and password' }),
  secret: Type.String({ minLength: 16, maxLength: 200, description: 'Signs what is sent; it is never shown again' }),
  events: Events,
  enabled: Type.Boolean({ description: 'False: it is told of nothing' }),
}

const Kind = Type.Enum(TARGET_KIND_NAMES, {
  description: `What it gets: ${TARGET_KIND_NAMES.map((name) => TARGET_KINDS[name].about).join('; ')}`,
})

const NewTarget = Type.Object(
  {
    name: Type.String({ minLength: 1, maxLength: 100, pattern: '^[A-Za-z0-9][A-Za-z0-9._ -]*$' }),
    kind: Type.Optional(Kind),
    url: changeable.url,
    events: Events,
    secret: Type.Optional(changeable.secret),
    enabled: Type.Optional(changeable.enabled),
  },
  { title: 'NewNotificationTarget', additionalProperties: false },
)

const TargetChange = Type.Partial(Type.Object(changeable), {
  title: 'NotificationTargetChange',
  additionalProperties: false,
})

const fields = {
  id: Type.Integer(),
  name: Type.String(),
  kind: Type.String(),
  url: Type.String(),
  events: Type.Array(Type.String()),
  enabled: Type.Boolean(),
  created_at: Type.String({ format: 'date-time' }),
  created_by: Type.String(),
}

const Target = Type.Object(fields, { title: 'NotificationTarget' })

const MadeTarget = Type.Object(
  {
    ...fields,
    secret: Type.Optional(
      Type.String({ description: 'Present if the control plane made the secret; it is never shown again' }),
    ),
  },
  { title: 'MadeNotificationTarget' },
)

const tags = ['notifications']

/** Routes for the addresses of webhooks, for admins. They accept secrets, but no answer contains one. */
export function notificationTargetRoutes({ targets, deliveries }: TargetRouteDependencies): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/notification-target',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'The targets: web addresses that get notifications of events (admin)',
          operationId: 'listNotificationTargets',
          response: answers(listOf(Target), 403),
        },
      },
      async () => asList((await targets.list()).map(shown)),
    )

    app.post(
      '/notification-target',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'Tell a web address of events (admin)',
          operationId: 'createNotificationTarget',
          body: NewTarget,
          response: answers(MadeTarget, 400, 403, 409),
        },
      },
      async (request) => {
        const { enabled: isEnabled = true, kind = TARGET_KIND_NAMES[0], ...wish } = request.body
        noteAudit(request, { name: wish.name })
        const { target, secret } = await targets.create({ ...wish, kind, isEnabled }, shownName(adminOf(request)))
        return secret === null ? shown(target) : { ...shown(target), secret }
      },
    )

    await app.register(oneTargetRoutes({ targets, deliveries }))
  }
}

/** One target. */
function oneTargetRoutes({ targets, deliveries }: TargetRouteDependencies): FastifyPluginAsyncTypebox {
  const requireAdminForTarget = requireAdminFor(async (id, request) => {
    noteAudit(request, { name: (await targets.find(id)).name })
  })
  return async (app) => {
    app.put(
      '/notification-target/:id',
      {
        onRequest: requireAdminForTarget,
        schema: {
          tags,
          summary: 'Change the given properties of a target (admin); without a secret the stored one stays',
          operationId: 'changeNotificationTarget',
          params: IdParams,
          body: TargetChange,
          response: answers(Target, 400, 403, 404),
        },
      },
      async (request) => {
        const { enabled, ...wish } = request.body
        const change = enabled === undefined ? wish : { ...wish, isEnabled: enabled }
        return shown(await targets.change(idOf(request.params), change))
      },
    )

    app.delete(
      '/notification-target/:id',
      {
        onRequest: requireAdminForTarget,
        schema: {
          tags,
          summary: 'Remove a target, and give up the notifications that wait for it (admin)',
          operationId: 'deleteNotificationTarget',
          params: IdParams,
          response: answers(Message, 400, 403, 404),
        },
      },
      async (request) => {
        await targets.remove(idOf(request.params))
        return { message: 'The notification target was removed' }
      },
    )

    app.post(
      '/notification-target/:id/test',
      {
        onRequest: requireAdminForTarget,
        schema: {
          tags,
          summary: 'Send the event `test` to a target at once, and say what came of it (admin)',
          operationId: 'testNotificationTarget',
          params: IdParams,
          response: answers(Notification, 400, 403, 404),
        },
      },
      async (request) => shownNotification(await deliveries.test(await targets.find(idOf(request.params)))),
    )
  }
}

/** Field by field, so that the secret cannot get into the answer. */
function shown({ id, name, kind, url, events, isEnabled, createdAt, createdBy }: StoredTarget): Static<typeof Target> {
  const made = { created_at: isoTime(createdAt), created_by: createdBy }
  return { id, name, kind, url, events: [...events], enabled: isEnabled, ...made }
}
