import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Caller } from '../../auth/sessions/caller.js'
import { type TokenScope, allowsScope } from '../../auth/roles/token-scopes.js'
import { ForbiddenError, UnauthenticatedError } from '../../errors.js'
import { callerOf } from './guards.js'
import type { LimitStrangers } from './rate-limit.js'
import { sessionCookieOf } from './session-cookie.js'

/** Finds the owner of a bearer token. @throws UnauthenticatedError */
export type Authenticate = (token: string) => Promise<Caller>

/** How a caller is found. */
export interface Authentication {
  readonly bearer: Authenticate
  /** The owner of the cookie of a browser. @throws UnauthenticatedError */
  readonly browser: Authenticate
  /** PUBLIC_URL without a slash at its end; null: not set. */
  readonly publicUrl: string | null
}

/**
 * Checks the bearer token, or else the cookie of a browser, first in every route of `scope` that is not marked `config:
 * { public: true }`: before the body is read, the parameters are checked, or the database is asked for objects. It also
 * refuses requests that the scopes of an API token do not allow.
 * @param limitStrangers called for requests without a valid token
 */
export function registerAuthentication(
  scope: FastifyInstance,
  { bearer, browser, publicUrl }: Authentication,
  limitStrangers: LimitStrangers,
): void {
  async function findCaller(request: FastifyRequest): Promise<Caller> {
    const token = bearerOf(request)
    if (token !== null) request.caller = await bearer(token)
    else {
      const cookie = sessionCookieOf(request, { publicUrl })
      if (cookie !== null) request.caller = await browser(cookie)
    }
    return callerOf(request)
  }

  scope.addHook('onRequest', async (request) => {
    const { public: isPublic, rateLimit, unlimited } = request.routeOptions.config
    if (isPublic) {
      // What handles passwords has a limit of its own.
      if (!rateLimit && !unlimited) await limitStrangers(request)
      return
    }
    try {
      refuseBounded(request, await findCaller(request))
    } catch (error) {
      if (error instanceof UnauthenticatedError) await limitStrangers(request)
      throw error
    }
  })
}

/** @throws ForbiddenError for a user who has to change a password first, and for an API token without the scope */
function refuseBounded(request: FastifyRequest, caller: Caller): void {
  const { beforePasswordChange, scope } = request.routeOptions.config
  if (caller.passwordMustChange && !beforePasswordChange) {
    throw new ForbiddenError(
      'password_change_needed',
      'Your password has to be changed before anything else: PUT /profile, or holdfast password',
    )
  }
  const needed = scope ?? usualScope(request)
  if (!allowsScope(caller.scopes, needed)) {
    throw new ForbiddenError('scope_needed', `This takes an API token with the scope ${needed}`)
  }
}

/** The scope that a token needs: for reading, for actions on jobs, or for everything else. */
function usualScope({ method, routeOptions }: FastifyRequest): TokenScope {
  if (method === 'GET' || method === 'HEAD') return 'read'
  return /\/api\/v2\/job(\/|$)/.test(routeOptions.url ?? '') ? 'launch' : 'admin'
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
