import { readFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import swagger from '@fastify/swagger'
import swaggerUi from '@fastify/swagger-ui'
import type { FastifyInstance } from 'fastify'
import { completeDocument } from './openapi-document.js'
import { describedOperation } from './openapi-operation.js'
import { API_PREFIX } from '../route/paths.js'

/** The page runs only its own scripts and asks no other server. It also has to work without TLS. */
const PAGE_POLICY =
  "default-src 'self'; base-uri 'self'; frame-ancestors 'self'; object-src 'none'; img-src 'self' data:; font-src 'self' data:; script-src 'self'; style-src 'self' 'unsafe-inline'"

const DESCRIPTION = `Runs forms as Ansible jobs on approved runners.

Every refusal has the body of the schema Error: \`error\` is one sentence for people, \`code\` a stable word for programs.
The order of refusals is 401, 404, 403, 409. Any path that is not listed answers 404 with the code \`unknown_route\`, a path
that is no valid URL path 400 with \`invalid_path\`. HEAD is answered wherever GET is, except at the event stream.
Times are ISO 8601 in UTC with milliseconds, ids are integers. A later version may add fields to answers and values to
enumerations; clients ignore what they do not know.`

const TAGS = [
  { name: 'job', description: 'Launching, following and ending jobs' },
  { name: 'forms', description: 'What can be launched' },
  { name: 'events', description: 'What changed, live' },
  { name: 'runner', description: 'Runners and their join tokens' },
  { name: 'sign-in', description: 'Getting and ending tokens' },
  { name: 'profile', description: 'The caller: who they are, their password, their API tokens' },
  { name: 'users', description: 'Local accounts' },
  { name: 'credentials', description: 'What jobs sign in with' },
  { name: 'settings', description: 'What the pages show' },
  { name: 'designer', description: 'The lock of the designer' },
  { name: 'audit', description: 'Who changed what' },
  { name: 'monitoring', description: 'For probes and Prometheus' },
]

/** Serves the OpenAPI 3.1 document, made from the schemas that check the requests, and a page that shows it. */
export async function registerDocs(
  app: FastifyInstance,
  options: { readonly prefix: string; readonly version: string },
): Promise<void> {
  const base = options.prefix.slice(0, -API_PREFIX.length)
  await app.register(swagger, {
    openapi: {
      openapi: '3.1.0',
      info: {
        title: 'Holdfast',
        version: options.version,
        description: DESCRIPTION,
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
      },
      servers: [{ url: base === '' ? '/' : base }],
      tags: TAGS,
      components: {
        securitySchemes: {
          bearer: { type: 'http', scheme: 'bearer', description: 'An access token of a sign-in, or an API token' },
          basic: { type: 'http', scheme: 'basic', description: 'Username and password, only to sign in' },
        },
      },
      security: [{ bearer: [] }],
    },
    // The transform below removes the prefix.
    stripBasePath: false,
    transform: ({ schema, url, route }) => ({
      schema: schema && describedOperation(schema, url.slice(options.prefix.length), route),
      url: url.slice(base.length),
    }),
    transformObject: (document) =>
      'openapiObject' in document ? completeDocument(document.openapiObject) : document.swaggerObject,
  })
  // JSON is YAML, too. To write the document in other words of YAML keeps everybody waiting for 200 ms.
  const documentOf = app.swagger.bind(app) as () => object
  const textOrDocument = (asked?: { readonly yaml?: boolean }) =>
    asked?.yaml === true ? JSON.stringify(documentOf(), null, 2) : documentOf()
  app.swagger = textOrDocument as typeof app.swagger
  // The path is given here, because the package looks beside its own code, which is in another place in the bundle.
  const pages = join(dirname(fileURLToPath(import.meta.resolve('@fastify/swagger-ui/package.json'))), 'static')
  await app.register(swaggerUi, {
    baseDir: pages,
    logo: { type: 'image/svg+xml', content: await readFile(join(pages, 'logo.svg')) },
    routePrefix: `${options.prefix}/docs`,
    staticCSP: PAGE_POLICY,
    uiConfig: { validatorUrl: null },
  })
}
