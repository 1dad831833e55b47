import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../auth/caller.js'
import type { TokenScope } from '../../auth/token-scopes.js'
import { ForbiddenError, UnauthenticatedError } from '../../errors.js'
import { idOf } from './schemas.js'

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by the authentication hook on every route that is not marked public. */
    caller: Caller | null
  }
  interface FastifyContextConfig {
    /** True for the few routes that work without a token. */
    public?: boolean
    /** True for what may be done before a first password is changed. */
    beforePasswordChange?: boolean
    /** What an API token must have been made for; left out: what its method and path say. */
    scope?: TokenScope
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

/**
 * The `onRequest` of a route that is for admins: said before the body is read, since who may not do it need not learn
 * what it takes.
 */
export async function requireAdmin(request: FastifyRequest): Promise<void> {
  adminOf(request)
}

/**
 * The `onRequest` of a route that lets admins do something to one thing: that there is no such thing is said first,
 * then that only an admin may do it, and only then is anything of the request looked at.
 * @param find throws NotFoundError when there is none of that id
 */
export function requireAdminFor(find: (id: number, request: FastifyRequest) => Promise<unknown>) {
  return async (request: FastifyRequest): Promise<void> => {
    await find(idOf(request.params as { id: string }), request)
    adminOf(request)
  }
}
