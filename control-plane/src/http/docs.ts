import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance, FastifySchema, RouteOptions } from 'fastify'
import { auditNameOf } from './audit-hook.js'

/** The page runs its own scripts only and asks no foreign server; it must also work without TLS. */
const PAGE_POLICY =
  "default-src 'self'; base-uri 'self'; frame-ancestors 'self'; object-src 'none'; img-src 'self' data:; font-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'"

/** Serves the OpenAPI 3.1 document, made from the schemas that check the requests, and a page that shows it. */
export async function registerDocs(
  app: FastifyInstance,
  options: { readonly prefix: string; readonly version: string },
): Promise<void> {
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Holdfast',
        version: options.version,
        description: 'Runs forms as Ansible jobs on approved runners.',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      components: { securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } } },
      security: [{ bearer: [] }],
    },
    transform: ({ schema, url, route }) => ({ schema: withAuditAction(schema, route), url }),
  })
  await app.register(swaggerUi, {
    routePrefix: `${options.prefix}/docs`,
    staticCSP: PAGE_POLICY,
    uiConfig: { validatorUrl: null },
  })
}

/** Says in the document under which name an operation stands in the audit trail. */
function withAuditAction(schema: FastifySchema, route: RouteOptions): FastifySchema {
  const name = auditNameOf({ method: String(route.method), url: route.url, config: route.config })
  return name && schema ? { ...schema, ...{ 'x-audit-action': name.action } } : schema
}
