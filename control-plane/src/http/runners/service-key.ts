import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { shownName } from '../../auth/sessions/shown-name.js'
import { isoTime } from '../../time/clock.js'
import type { ServiceKeyView, ServiceKeys } from '../../runners/registration/service-keys.js'
import { noteAudit } from '../route/audit-hook.js'
import { adminOf, requireAdmin } from '../route/guards.js'
import { answers } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const ServiceKey = Type.Object(
  {
    fingerprint: Type.String({ description: 'Of the key with which the control plane proves its identity to runners' }),
    created_at: Type.String(),
    previous: Type.Array(Type.String(), {
      description:
        'Fingerprints of the former keys, the newest first: a runner that trusts one of them trusts the new key, too',
    }),
  },
  { title: 'ServiceKey' },
)

const RotationBody = nullable(
  Type.Object(
    {
      fingerprint: Type.Optional(
        Type.String({
          maxLength: 100,
          description: 'Rotate only if this is the key now, so that a repeated request rotates once',
        }),
      ),
      break_succession: Type.Optional(
        Type.Boolean({
          description: 'The old key does not sign the new one, so an admin has to tell each runner the new fingerprint',
        }),
      ),
    },
    { title: 'ServiceKeyRotation' },
  ),
)

const tags = ['runner']

/** Routes for the key of the service, for admins. No answer ever contains its private half. */
export function serviceKeyRoutes({ serviceKeys }: { readonly serviceKeys: ServiceKeys }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/service/key',
      {
        onRequest: requireAdmin,
        schema: {
          tags,
          summary: 'The key with which the control plane proves its identity to runners (admin)',
          operationId: 'getServiceKey',
          response: answers(ServiceKey, 403),
        },
      },
      async () => recordOf(serviceKeys.view()),
    )

    app.post(
      '/service/key/rotate',
      {
        onRequest: requireAdmin,
        config: { audit: { action: 'service-key.rotate', kind: 'service-key' } },
        schema: {
          tags,
          summary: 'Replace the key; runners that trust the old key trust the new one, too (admin)',
          operationId: 'rotateServiceKey',
          body: RotationBody,
          response: answers(ServiceKey, 400, 403, 409),
        },
      },
      async (request) => {
        const from = request.body?.fingerprint ?? null
        const breakSuccession = request.body?.break_succession ?? false
        const view = await serviceKeys.rotate({ from, breakSuccession }, shownName(adminOf(request)))
        noteAudit(request, { name: view.fingerprint })
        return recordOf(view)
      },
    )
  }
}

function recordOf({ fingerprint, createdAt, previous }: ServiceKeyView): Static<typeof ServiceKey> {
  return { fingerprint, created_at: isoTime(createdAt), previous: [...previous] }
}
