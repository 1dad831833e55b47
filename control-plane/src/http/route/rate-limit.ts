import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { networkOf } from '../../auth/sessions/network.js'
import { TooManyError } from '../../errors.js'

const MINUTE_MS = 60_000

/** The `config` of routes that work with passwords and tokens. The number of requests to each is limited by address. */
export const LIMITED = { rateLimit: {} } as const

/**
 * Limits the routes with the {@link LIMITED} config, whatever the answers are, because hashing a password takes memory
 * and time. Requests above the limit are not handled and have no record in the audit trail, because anybody could fill
 * it with them.
 * @param perMinute requests of one address to one route; 0: no limit
 */
export async function registerRateLimit(scope: FastifyInstance, perMinute: number): Promise<void> {
  if (perMinute === 0) return
  await scope.register(rateLimit, {
    global: false,
    max: perMinute,
    timeWindow: MINUTE_MS,
    keyGenerator: (request) => networkOf(request.ip),
    errorResponseBuilder(request, { ttl }) {
      request.audit = null
      return new TooManyError('rate_limited', 'Too many requests; try again later', Math.max(1, Math.ceil(ttl / 1000)))
    },
  })
}
