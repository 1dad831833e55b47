import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance } from 'fastify'
import { networkOf } from '../../auth/network.js'
import { TooManyError } from '../../errors.js'

const MINUTE_MS = 60_000

/** The `config` of routes that work with passwords and tokens: each is limited to so many requests of one address. */
export const LIMITED = { rateLimit: {} } as const

/**
 * Limits the routes that are {@link LIMITED}, whatever becomes of the requests: hashing a password takes memory and time.
 * What is above the limit is not looked at, and leaves no record in the audit trail, which else anybody could fill.
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
