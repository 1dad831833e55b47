import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import { Type } from 'typebox'
import { UnavailableError } from '../../errors.js'
import { within } from '../../time/time-limit.js'
import type { Store } from '../../store/store.js'
import { API_VERSION } from '../../version.js'
import { answers } from '../route/schemas.js'

const PROBE = { public: true, duringStop: true, unlimited: true } as const
/** How long a probe waits for a database that hangs, in milliseconds. */
const TIMEOUT_MS = 2000

const Ready = Type.Object({
  status: Type.Literal('ready'),
  warnings: Type.Optional(
    Type.Array(Type.String(), { description: 'What an admin should know although requests are served' }),
  ),
})
const NotReady = Type.Object({ status: Type.Literal('not ready'), reason: Type.String() })

/** Probes and the version. They need no token and reveal nothing else. */
export function monitoringRoutes(deps: {
  readonly store: Pick<Store, 'check'>
  readonly version: string
  /** What an admin should know although requests are served, a sentence each. */
  readonly warnings: () => string[]
}): FastifyPluginAsyncTypebox {
  return async (app) => {
    let stopping = false
    app.addHook('preClose', async () => {
      stopping = true
    })

    app.get(
      '/live',
      {
        config: PROBE,
        schema: {
          tags: ['monitoring'],
          summary: 'Whether the process is alive',
          security: [],
          response: answers(Type.Object({ status: Type.Literal('live') })),
        },
      },
      async () => ({ status: 'live' as const }),
    )

    app.get(
      '/ready',
      {
        config: PROBE,
        schema: {
          tags: ['monitoring'],
          summary: 'Whether it can serve requests',
          security: [],
          response: { 200: Ready, 503: NotReady },
        },
      },
      async (_request, reply) => {
        const reason = stopping ? 'stopping' : await databaseTrouble(deps.store)
        const warnings = deps.warnings()
        if (reason === null) return { status: 'ready' as const, ...(warnings.length > 0 ? { warnings } : {}) }
        return reply.status(503).send({ status: 'not ready', reason })
      },
    )

    app.get(
      '/version',
      {
        config: { public: true, duringStop: true },
        schema: {
          tags: ['monitoring'],
          summary: 'The version of the service and of its interface',
          security: [],
          response: answers(Type.Object({ version: Type.String(), api: Type.String() })),
        },
      },
      async () => ({ version: deps.version, api: API_VERSION }),
    )
  }
}

/** Why the database cannot be used, in the words of the probe; null when it can. */
async function databaseTrouble(store: Pick<Store, 'check'>): Promise<string | null> {
  const tooLate = () => new UnavailableError('database_unreachable', 'the database is slow')
  try {
    await within(TIMEOUT_MS, store.check(), tooLate)
    return null
  } catch (error) {
    if (error instanceof UnavailableError) return error.code.replaceAll('_', ' ')
    throw error
  }
}
