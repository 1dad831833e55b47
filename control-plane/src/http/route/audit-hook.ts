import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { AuditNote, AuditRecord, AuditTrail } from '../../audit/trail.js'
import { API_PREFIX } from './paths.js'

/** The name of a route in the audit trail. */
export interface AuditName {
  /** `<kind>.<verb>`, such as `job.abort`. A verb of {@link READING} says that the route only reads. */
  readonly action: string
  /** The kind of object that the route changes. */
  readonly kind: string
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The request's record in the audit trail; null when it changes nothing, or when no record is wanted. */
    audit: AuditRecord | null
  }
  interface FastifyContextConfig {
    /** The route's name in the audit trail, where the name from its method and path would mislead. */
    audit?: AuditName
  }
}

/** Actions that only read. They have records only where a setting asks for them. */
const READING = /\.(read|download)$/
/** The methods that change something, and what each does. */
const VERBS: Readonly<Record<string, string>> = { POST: 'create', PUT: 'change', PATCH: 'change', DELETE: 'delete' }

/**
 * The name of a route in the audit trail; null for a route that changes nothing. Every other route has a name, because
 * it follows from method and path: `POST /job/:id/abort` is `job.abort`, `PUT /user/:id` is `user.change`.
 */
export function auditNameOf(route: {
  readonly method: string
  readonly url: string
  readonly config?: { readonly audit?: AuditName }
}): AuditName | null {
  // A browser can only GET, and some GET requests of a sign-in change something.
  if (route.config?.audit) return route.config.audit
  const usual = VERBS[route.method]
  if (usual === undefined) return null
  const path = route.url.slice(route.url.indexOf(API_PREFIX) + API_PREFIX.length)
  const parts = path.split('/').filter((part) => part !== '')
  const [kind = 'service', ...rest] = parts.filter((part) => !part.startsWith(':'))
  // The last word of a POST's path names the action, unless the path has only that word.
  const saysItself = route.method === 'POST' && rest.length > 0 && !parts.at(-1)?.startsWith(':')
  const verb = saysItself ? [] : [usual]
  return { kind, action: [kind, ...rest, ...verb].join('.') }
}

/**
 * Makes the record of every request that would change something. It has to be registered before the check of the token,
 * so that refused requests have records, too. A request without a valid token to a route that needs one has no record,
 * because anybody could fill the database with such records.
 */
export function registerAudit(scope: FastifyInstance, trail: AuditTrail): void {
  scope.decorateRequest('audit', null)
  scope.addHook('onRequest', async (request) => {
    const { method, url = '', config } = request.routeOptions
    const name = auditNameOf({ method: String(method), url, config })
    if (!name || (READING.test(name.action) && !trail.keepsReads)) return
    const { action, kind } = name
    request.audit = trail.begin({ action, kind, address: request.ip, requestId: request.id })
    const { id } = request.params as { id?: unknown }
    // Other texts in a path may be typing errors, or even passwords, which must not be stored.
    if (typeof id === 'string' && /^\d{1,15}$/.test(id)) request.audit.note({ id })
  })
  scope.addHook('preHandler', (request, _reply, done) => {
    if (!request.audit) return done()
    noteCaller(request)
    request.audit.run(done)
  })
  scope.addHook('preSerialization', async (request, reply, payload) => {
    // The id of a new object comes with the answer.
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

/** Adds facts that only the handler knows to the record of a request. Never add values, passwords or tokens. */
export function noteAudit(request: FastifyRequest, note: AuditNote): void {
  request.audit?.note(note)
}

function noteCaller(request: FastifyRequest): void {
  const { caller } = request
  if (caller) noteAudit(request, { user: { name: caller.username, type: caller.type, id: caller.id } })
}
