import { createHash, timingSafeEqual } from 'node:crypto'
import type { FastifyPluginAsyncTypebox } from '@fastify/type-provider-typebox'
import type { FastifyRequest } from 'fastify'
import { UnauthenticatedError, ForbiddenError } from '../../errors.js'
import { type Authenticate, bearerOf } from '../route/authentication.js'
import { textAnswers } from '../route/schemas.js'

/**
 * `GET /metrics`, for clients with METRICS_TOKEN and for admins. Other users get 403, and requests without a valid
 * token 401.
 */
export function metricsRoutes(deps: {
  readonly metrics: { text(): Promise<{ readonly type: string; readonly body: string }> }
  /** The token of the monitoring; null: only admins may read the metrics. */
  readonly metricsToken: string | null
  readonly authenticate: Authenticate
}): FastifyPluginAsyncTypebox {
  async function requireMonitoring(request: FastifyRequest): Promise<void> {
    const token = bearerOf(request)
    if (token === null) throw new UnauthenticatedError('token_missing', 'A bearer token is needed')
    if (deps.metricsToken !== null && isSame(token, deps.metricsToken)) return
    const { isAdmin, passwordMustChange } = await deps.authenticate(token)
    if (isAdmin && !passwordMustChange) return
    throw new ForbiddenError('admin_only', 'The metrics are for METRICS_TOKEN and for admins')
  }

  return async (app) => {
    app.get(
      '/metrics',
      {
        config: { public: true, unlimited: true },
        onRequest: requireMonitoring,
        schema: {
          tags: ['monitoring'],
          summary: 'Metrics for Prometheus; the bearer is METRICS_TOKEN or the token of an admin',
          response: textAnswers({ description: 'The metrics in the text format of Prometheus' }, 401, 403),
        },
      },
      async (_request, reply) => {
        const { type, body } = await deps.metrics.text()
        await reply.type(type).send(Buffer.from(body, 'utf8'))
        return reply
      },
    )
  }
}

/** Compares tokens in constant time, so that the time does not show how much of a token is right. */
function isSame(one: string, other: string): boolean {
  const [left, right] = [one, other].map((text) => createHash('sha256').update(text).digest()) as [Buffer, Buffer]
  return timingSafeEqual(left, right)
}
