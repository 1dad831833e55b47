import rateLimit from '@fastify/rate-limit'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { networkOf } from '../../auth/sessions/network.js'
import { TooManyError } from '../../errors.js'

const MINUTE_MS = 60_000
/** How many more requests of strangers an address may send to all other routes together. A page needs several. */
const OTHERS_TIMES = 25

/** Counts a request without a valid token. @throws TooManyError when its address has sent too many of them */
export type LimitStrangers = (request: FastifyRequest) => Promise<void>

/** The `config` of routes that work with passwords and tokens. The number of requests to each is limited by address. */
export const LIMITED = { rateLimit: {} } as const

/**
 * Limits the routes with the {@link LIMITED} config, whatever the answers are, because hashing a password takes memory
 * and time. Requests above the limit are not handled and have no record in the audit trail, because anybody could fill
 * it with them.
 * @param perMinute requests of one address to one route; 0: no limit
 * @returns the limit for the requests without a valid token to all other routes together
 */
export async function registerRateLimit(scope: FastifyInstance, perMinute: number): Promise<LimitStrangers> {
  if (perMinute === 0) return () => Promise.resolve()
  await scope.register(rateLimit, {
    global: false,
    max: perMinute,
    timeWindow: MINUTE_MS,
    keyGenerator: (request) => networkOf(request.ip),
    errorResponseBuilder: (request, { ttl }) => refusal(request, ttl),
  })
  const count = scope.createRateLimit({ max: perMinute * OTHERS_TIMES })
  return async (request) => {
    const counted = await count(request)
    if (!counted.isAllowed && counted.isExceeded) throw refusal(request, counted.ttl)
  }
}

function refusal(request: FastifyRequest, ttlMs: number): TooManyError {
  request.audit = null
  return new TooManyError('rate_limited', 'Too many requests; try again later', Math.max(1, Math.ceil(ttlMs / 1000)))
}
