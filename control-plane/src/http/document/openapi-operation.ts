import type { FastifySchema, RouteOptions } from 'fastify'
import { auditNameOf } from '../route/audit-hook.js'
import { ErrorBody, MEANT_AS } from '../route/schemas.js'

/** The verbs for names of operations, by method. A POST whose path ends in a word is called after that word. */
const VERBS: Readonly<Record<string, string>> = { GET: 'get', POST: 'create', PUT: 'change', DELETE: 'delete' }

/** Methods whose body is always read, so that it can be refused. */
const WITH_BODY: readonly string[] = ['POST', 'PUT', 'PATCH', 'DELETE']

/**
 * Completes the description of a route: its name, its name in the audit trail, and all error answers that every route
 * can give.
 * @param path of the route below the prefix of the interface
 */
export function describedOperation(schema: FastifySchema, path: string, route: RouteOptions): FastifySchema {
  if (schema.hide) return schema
  const method = String(route.method)
  const audit = auditNameOf({ method, url: route.url, config: route.config })
  const responses: Record<string, unknown> = { ...commonRefusals(method, path, route) }
  // The ranges of statuses document unexpected errors.
  for (const [status, response] of Object.entries((schema.response ?? {}) as Record<string, unknown>)) {
    if (/^\d{3}$/.test(status)) responses[status] = response
  }
  return {
    ...asMeant(schema),
    operationId: schema.operationId ?? operationIdOf(method, path),
    response: responses,
    ...(audit ? { 'x-audit-action': audit.action } : {}),
  }
}

/**
 * The name of an operation without a name of its own: `POST /job/:id/approve` is `approveJob`, `GET /job/:id/events` is
 * `getJobEvents`, `PUT /user/:id` is `changeUser`.
 */
function operationIdOf(method: string, path: string): string {
  const parts = path.split('/').filter((part) => part !== '')
  const words = parts.filter((part) => !part.startsWith(':')).map(camelCase)
  const last = parts.at(-1) ?? ''
  const isAction = method === 'POST' && words.length > 1 && !last.startsWith(':')
  const [verb, nouns] = isAction
    ? [words.at(-1) ?? '', words.slice(0, -1)]
    : [VERBS[method] ?? method.toLowerCase(), words]
  return verb + nouns.map((word) => word.charAt(0).toUpperCase() + word.slice(1)).join('')
}

function camelCase(word: string): string {
  return word.replace(/-(.)/g, (_match, letter: string) => letter.toUpperCase())
}

/**
 * Error answers that every route can give: because of the token, the body, the limit of requests, or the state of the
 * service.
 */
function commonRefusals(method: string, path: string, route: RouteOptions): Record<string, typeof ErrorBody> {
  const { public: isPublic, duringStop, unlimited } = route.config ?? {}
  const statuses: number[] = [500]
  // 403 also for a first password that was not changed, and for an API token without the scope.
  if (!isPublic) statuses.push(401, 403)
  if (WITH_BODY.includes(method)) statuses.push(400, 413, 415)
  if (path.includes(':')) statuses.push(400)
  // For strangers who ask too often.
  if (!unlimited) statuses.push(429)
  if (!duringStop) statuses.push(503)
  return Object.fromEntries(statuses.map((status) => [status, ErrorBody]))
}

/** Parameters are texts. The document says what the text has to contain. */
function asMeant(schema: FastifySchema): FastifySchema {
  const shown = { ...schema }
  if (schema.params) shown.params = propertiesAsMeant(schema.params)
  if (schema.querystring) shown.querystring = propertiesAsMeant(schema.querystring)
  return shown
}

function propertiesAsMeant(schema: unknown): unknown {
  const { properties, ...rest } = schema as { properties?: Record<string, Record<string, unknown>> }
  if (!properties) return schema
  const shown = Object.entries(properties).map(([name, { [MEANT_AS]: type, ...property }]) => [
    name,
    type === undefined ? property : { ...property, type },
  ])
  return { ...rest, properties: Object.fromEntries(shown) as unknown }
}

declare module 'fastify' {
  interface FastifySchema {
    operationId?: string
  }
}
