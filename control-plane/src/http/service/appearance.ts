import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import type { LiveEvents } from '../../live/live-events.js'
import { changeAppearance, readAppearance } from '../../store/service/appearance.js'
import type { Store } from '../../store/store.js'
import { requireAdmin } from '../route/guards.js'
import { answers } from '../route/schemas.js'

const appearanceFields = {
  theme: Type.String({ maxLength: 100 }),
  name: Type.String({ maxLength: 200 }),
  announcement: Type.String({ maxLength: 10_000 }),
  environment: Type.String({ maxLength: 200 }),
}

const Appearance = Type.Object(appearanceFields, { title: 'Appearance' })

/** The settings that the header of the pages shows. */
export function appearanceRoutes(deps: {
  readonly store: Store
  readonly live: LiveEvents
}): FastifyPluginAsyncTypebox {
  return async (app) => {
    app.get(
      '/settings/appearance',
      {
        schema: {
          tags: ['settings'],
          summary: 'What the header shows',
          operationId: 'getAppearance',
          response: answers(Appearance),
        },
      },
      () => readAppearance(deps.store.read),
    )

    app.put(
      '/settings/appearance',
      {
        onRequest: requireAdmin,
        schema: {
          tags: ['settings'],
          summary: 'Change the given texts in the header of the pages (admin)',
          operationId: 'changeAppearance',
          body: Type.Partial(Type.Object(appearanceFields)),
          response: answers(Appearance, 400, 403),
        },
      },
      async (request) => {
        const { theme, name, announcement, environment } = request.body
        const given = Object.entries({ theme, name, announcement, environment }).filter(
          ([, value]) => value !== undefined,
        )
        const appearance = await deps.store.write('appearance.change', (queries) =>
          changeAppearance(queries, Object.fromEntries(given)),
        )
        deps.live.changed('appearance')
        return appearance
      },
    )
  }
}
