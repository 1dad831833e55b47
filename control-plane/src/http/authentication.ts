import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../auth/caller.js'
import { UnauthenticatedError } from '../errors.js'
import { callerOf } from './guards.js'

/** Tells who a bearer token belongs to. @throws UnauthenticatedError */
export type Authenticate = (token: string) => Promise<Caller>

/**
 * Puts the check of the bearer token before everything else of every route of `scope` that is not marked
 * `config: { public: true }`: before its body is read, its parameters are looked at, or anything is found.
 */
export function registerAuthentication(scope: FastifyInstance, authenticate: Authenticate): void {
  scope.addHook('onRequest', async (request) => {
    if (request.routeOptions.config.public) return
    const token = bearerOf(request)
    if (token !== null) request.caller = await authenticate(token)
    callerOf(request)
  })
}

/** The token in the Authorization header; null when there is no header. @throws UnauthenticatedError for another scheme */
export function bearerOf(request: FastifyRequest): string | null {
  const header = request.headers.authorization
  if (header === undefined) return null
  const token = /^Bearer +([^\s]+) *$/i.exec(header)?.[1]
  if (token === undefined) {
    throw new UnauthenticatedError('token_invalid', 'The Authorization header must be: Bearer <token>')
  }
  return token
}
