import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuditNote, AuditRecord, AuditTrail } from '../../audit/trail.js'
import { API_PREFIX } from './paths.js'

/** What a route is called in the audit trail. */
export interface AuditName {
  /** `<kind>.<verb>`, such as `job.abort`. */
  readonly action: string
  /** What it is done to. */
  readonly kind: string
  /** It only reads: there is a record only where a setting asks for it. */
  readonly isRead?: boolean
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The request's record in the audit trail; null when it changes nothing, or nobody would want a record of it. */
    audit: AuditRecord | null
  }
  interface FastifyContextConfig {
    /** Its name in the audit trail, where the one that its method and path give would mislead. */
    audit?: AuditName
  }
}

const CHANGING_METHODS: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']
const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'change', PATCH: 'change', DELETE: 'delete' }

/**
 * The name of a route in the audit trail; null for one that changes nothing. No route can be forgotten: without a name
 * of its own it has the one of its method and path, so `POST /job/:id/abort` is `job.abort` and `PUT /user/:id` is
 * `user.change`.
 */
export function auditNameOf(route: {
  readonly method: string
  readonly url: string
  readonly config?: { readonly audit?: AuditName }
}): AuditName | null {
  // A browser can only GET, and may come back from somewhere to change something.
  if (route.config?.audit) return route.config.audit
  if (!CHANGING_METHODS.includes(route.method)) return null
  const path = route.url.slice(route.url.indexOf(API_PREFIX) + API_PREFIX.length)
  const parts = path.split('/').filter((part) => part !== '')
  const [kind = 'service', ...rest] = parts.filter((part) => !part.startsWith(':'))
  // The last word of a POST's path is what it does, unless that is all there is.
  const saysItself = route.method === 'POST' && rest.length > 0 && !parts.at(-1)?.startsWith(':')
  const verb = saysItself ? [] : [VERBS[route.method] ?? 'change']
  return { kind, action: [kind, ...rest, ...verb].join('.') }
}

/**
 * Keeps the record of every request that would change something. To be registered before the token is checked, so that
 * refusals are seen too. Not kept: requests of strangers to routes that need a token, since anybody could fill the
 * database with them.
 */
export function registerAudit(scope: FastifyInstance, trail: AuditTrail): void {
  scope.decorateRequest('audit', null)
  scope.addHook('onRequest', async (request) => {
    const { method, url = '', config } = request.routeOptions
    const name = auditNameOf({ method: String(method), url, config })
    if (!name || (name.isRead === true && !trail.keepsReads)) return
    const { action, kind } = name
    request.audit = trail.begin({ action, kind, address: request.ip, requestId: request.id })
    const { id } = request.params as { id?: unknown }
    // Anything else in a path may be a slip of the keyboard that nobody wants to see kept.
    if (typeof id === 'string' && /^\d{1,15}$/.test(id)) request.audit.note({ id })
  })
  scope.addHook('preHandler', (request, _reply, done) => {
    if (!request.audit) return done()
    noteCaller(request)
    request.audit.run(done)
  })
  scope.addHook('preSerialization', async (request, reply, payload) => {
    // What was just made is what it was done to.
    const id = (payload as { id?: unknown } | null)?.id
    if (reply.statusCode === 200 && typeof id === 'number' && request.audit?.noted.id === undefined) {
      request.audit?.note({ id })
    }
    return payload
  })
  scope.addHook('onSend', async (request, reply) => {
    noteCaller(request)
    if (request.caller || request.routeOptions.config.public) request.audit?.finish(reply.statusCode)
  })
}

/** Adds to the record of a request what only its handler knows. Never values, passwords or tokens. */
export function noteAudit(request: FastifyRequest, note: AuditNote): void {
  request.audit?.note(note)
}

function noteCaller(request: FastifyRequest): void {
  const { caller } = request
  if (caller) noteAudit(request, { user: { name: caller.username, type: caller.type, id: caller.id } })
}
