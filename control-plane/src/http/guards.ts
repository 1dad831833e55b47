import type { FastifyRequest } from 'fastify'
import type { Caller } from '../auth/caller.js'
import { ForbiddenError, UnauthenticatedError } from '../errors.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authentication hook on every route that is not marked public. */
    caller: Caller | null
  }
  interface FastifyContextConfig {
    /** True for the few routes that work without a token. */
    public?: boolean
  }
}

/** The signed-in user of a request. @throws UnauthenticatedError */
export function callerOf(request: FastifyRequest): Caller {
  if (!request.caller) throw new UnauthenticatedError('token_missing', 'A bearer token is needed')
  return request.caller
}

/** The caller, who must be an admin. @throws ForbiddenError */
export function adminOf(request: FastifyRequest): Caller {
  const caller = callerOf(request)
  if (!caller.isAdmin) throw new ForbiddenError('admin_only', 'Only an admin may do this')
  return caller
}
