import type { FastifyRequest } from 'fastify'
import type { Caller } from '../../auth/sessions/caller.js'
import type { TokenScope } from '../../auth/roles/token-scopes.js'
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
    /** True for probes, and for public routes that ask for another proof: strangers may ask there without a limit. */
    unlimited?: boolean
    /** True for routes that work before a first password is changed. */
    beforePasswordChange?: boolean
    /** The scope that an API token needs; left out: the one that follows from method and path. */
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
 * The `onRequest` hook of a route for admins. It answers before the body is read, so that others get no information
 * about the body.
 */
export async function requireAdmin(request: FastifyRequest): Promise<void> {
  adminOf(request)
}

/**
 * The `onRequest` hook of a route in which admins change one object. The checks come in this order: the object exists,
 * the caller is an admin, and then the request itself.
 * @param find throws NotFoundError when there is none with that id
 */
export function requireAdminFor(find: (id: number, request: FastifyRequest) => Promise<unknown>) {
  return async (request: FastifyRequest): Promise<void> => {
    await find(idOf(request.params as { id: string }), request)
    adminOf(request)
  }
}
