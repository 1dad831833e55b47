import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { type Static, Type } from 'typebox'
import { requireAdmin } from '../route/guards.js'
import { answers, asList, listOf } from '../route/schemas.js'
import { nullable } from '../../words/nullable.js'

const ServiceSetting = Type.Object(
  {
    name: Type.String({ description: 'As in the environment, such as JOB_RETENTION_DAYS' }),
    value: nullable(Type.String({ description: 'The value that counts; null: none. A secret is always ********' })),
    secret: Type.Boolean(),
    given: Type.Boolean({ description: 'False: nobody gave a value, so this is the default' }),
    meaning: Type.String(),
  },
  { title: 'ServiceSetting' },
)

/** One setting with its present value. The value of a secret is not in it. */
export type SettingInForce = Readonly<Static<typeof ServiceSetting>>

/** The settings with which this control plane was started, for admins. They can be changed only where it is started. */
export function serviceSettingRoutes(deps: { readonly inForce: readonly SettingInForce[] }): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/settings/service',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['settings'],
          summary: 'The settings that this control plane runs with (admin); secrets are never shown',
          operationId: 'listServiceSettings',
          response: answers(listOf(ServiceSetting), 403),
        },
      },
      async () => asList([...deps.inForce]),
    )
  }
}
