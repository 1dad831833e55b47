import { randomUUID } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import helmet from '@fastify/helmet'
import websocket from '@fastify/websocket'
import { MAX_SOCKET_MESSAGE_BYTES, SOCKET_PATH, SUBPROTOCOL_PREFIX } from '@holdfast/protocol'
import fastify, {
  type FastifyBaseLogger,
  type FastifyInstance,
  type FastifyPluginAsync,
  type FastifyReply,
  type FastifyRequest,
  type FastifyServerOptions,
  LogController,
} from 'fastify'
import type { AuditTrail } from '../audit/trail.js'
import { InvalidInputError, UnavailableError } from '../errors.js'
import { foreignText } from '../secrets/foreign-text.js'
import type { Timers } from '../time/timers.js'
import { registerAudit } from './route/audit-hook.js'
import { type Authentication, registerAuthentication } from './route/authentication.js'
import { registerBodyParsing } from './server/bodies.js'
import { registerDocs } from './document/docs.js'
import {
  PRIVATE,
  answerBrokenRequest,
  WrongMethodError,
  refuseExpectations,
  refuseTunnels,
  registerErrorHandling,
  sendError,
  unknownRoute,
} from './server/errors.js'
import { type KnownPaths, noteKnownPaths } from './server/known-paths.js'
import { type HttpMeters, registerHttpMeters } from './route/meters.js'
import { takeConnectionTurns } from './server/connection-turns.js'
import { compileSchemasLate } from './server/late-schemas.js'
import type { PageFiles } from './pages/page-files.js'
import { pageRoutes, sendUnknownPage } from './pages/pages.js'
import { API_PREFIX, prefixOf } from './route/paths.js'
import { keepPeerAddresses } from './server/peer-addresses.js'
import { endUnreadAnswers } from './server/unread-answers.js'
import { endUnreadBodies } from './server/unread-bodies.js'
import { registerForwarded } from './server/forwarded.js'
import { type TrustedProxies, isProxy } from './server/trusted-proxies.js'
import { endUnusedConnections } from './server/unused-connections.js'
import { registerRateLimit } from './route/rate-limit.js'
import { registerUpgrades } from './server/upgrades.js'

/** What the HTTP application needs. */
export interface AppDependencies {
  readonly logger: FastifyBaseLogger
  /** Prefix of every path, `/` for none. */
  readonly baseUrl: string
  /** Whose `X-Forwarded-*` headers count; null: nobody's. */
  readonly trustProxy: TrustedProxies | null
  /** PUBLIC_URL says that browsers use TLS. */
  readonly isPublicTls: boolean
  /** API_BODY_LIMIT_MB in bytes: the most that a launch may have. */
  readonly bodyLimitBytes: number
  /** Certificate chain and key in PEM when the service does TLS by itself. */
  readonly tls: { readonly cert: string | Buffer; readonly key: string | Buffer } | null
  /** The service's own version, for the documentation page. */
  readonly version: string
  readonly authentication: Authentication
  readonly trail: AuditTrail
  /** AUTH_RATE_LIMIT: requests a minute from one address to each route that works with passwords and tokens; 0: no limit. */
  readonly authRateLimit: number
  readonly meters: HttpMeters
  readonly timers: Timers
  /** The pages of the console; null: none are served. */
  readonly pages: PageFiles | null
  /** The resources, each a plugin with paths relative to {@link API_PREFIX}. */
  readonly plugins: readonly FastifyPluginAsync[]
}

/** Builds the HTTP application, ready to listen or for `inject`. It closes none of the parts that were passed in. */
export async function buildApp(deps: AppDependencies): Promise<FastifyInstance> {
  const app = fastify(serverOptions(deps))
  const prefix = prefixOf(deps.baseUrl) + API_PREFIX

  const turns = takeConnectionTurns(app, deps.tls !== null)
  compileSchemasLate(app, { coerceTypes: false, removeAdditional: false, useDefaults: true, allErrors: false })
  app.decorateRequest('caller', null)
  registerErrorHandling(app)
  keepPeerAddresses(app)
  const knownPaths = noteKnownPaths(app)
  // Before every other hook, because the plugin must know of a connection that a hook refuses.
  await app.register(websocket, {
    errorHandler: (error, socket, request) => {
      // Errors of the other side have a code. They are not errors of this service, and no place of it is to blame.
      if ('code' in error) request.log.info({ reason: foreignText(error, []) }, 'a WebSocket ended with an error')
      else request.log.error({ err: error }, 'a WebSocket ended with an error')
      socket.terminate()
    },
    options: {
      maxPayload: MAX_SOCKET_MESSAGE_BYTES,
      perMessageDeflate: false,
      // The owner of the socket answers pings itself, while the answers are read.
      autoPong: false,
      // A socket of another contract is accepted too. The handshake then says which side has to be updated.
      handleProtocols: (offered) => [...offered].find((name) => name.startsWith(SUBPROTOCOL_PREFIX)) ?? false,
    },
  })
  // This comes before every hook that answers by itself, so that its answers have these headers, too.
  await app.register(helmet, {
    contentSecurityPolicy: { directives: { upgradeInsecureRequests: null } },
    // The header must not change other names of the domain.
    strictTransportSecurity: { includeSubDomains: false },
  })
  registerForwarded(app, { trusted: deps.trustProxy, isTls: deps.tls !== null || deps.isPublicTls })
  registerUpgrades(app, prefixOf(deps.baseUrl) + SOCKET_PATH, turns)
  registerEveryRequest(app, knownPaths, deps)
  refuseExpectations(app)
  refuseTunnels(app)
  endUnusedConnections(app, deps.tls !== null)
  endUnreadBodies(app, deps.timers)
  endUnreadAnswers(app, deps.timers)
  registerHttpMeters(app, { meters: deps.meters, basePath: prefixOf(deps.baseUrl) })
  registerBodyParsing(app, { timers: deps.timers, limitBytes: deps.bodyLimitBytes })
  await registerDocs(app, { prefix, version: deps.version })
  if (deps.pages) await app.register(pageRoutes(deps.pages), { prefix: prefixOf(deps.baseUrl) })
  await app.register(
    async (api) => {
      registerAudit(api, deps.trail)
      const limitStrangers = await registerRateLimit(api, deps.authRateLimit)
      registerAuthentication(api, deps.authentication, limitStrangers)
      for (const plugin of deps.plugins) await api.register(plugin)
    },
    { prefix },
  )
  await app.ready()
  return app
}

function serverOptions(deps: AppDependencies): FastifyServerOptions {
  const options: FastifyServerOptions = {
    loggerInstance: deps.logger,
    logController: new LogController({ disableRequestLogging: true, requestIdLogLabel: 'requestId' }),
    genReqId: requestIdOf,
    // Of these headers our own hook leaves one entry each, or none, before anything reads them.
    trustProxy: (peer: string | undefined, hop: number) =>
      hop === 0 && deps.trustProxy !== null && isProxy(deps.trustProxy, peer),
    // Our own hook answers with the error body of the service.
    return503OnClosing: false,
    clientErrorHandler: answerBrokenRequest,
    frameworkErrors: (error, request, reply) => {
      sendError(error, request as never, reply as never)
    },
    routerOptions: {
      ignoreTrailingSlash: true,
      maxParamLength: 500,
      querystringParser: (text) => Object.fromEntries(new URLSearchParams(text)),
    },
  }
  // Our own hook refuses a request without Host, with the error body of the service.
  const server = { requireHostHeader: false }
  return deps.tls
    ? ({ ...options, https: { ...server, ...deps.tls } } as FastifyServerOptions)
    : ({ ...options, http: server } as FastifyServerOptions)
}

/** The caller's own request id if it can be logged safely, or else a new one. */
function requestIdOf(request: IncomingMessage): string {
  const given = request.headers['x-request-id']
  return typeof given === 'string' && /^[A-Za-z0-9._:-]{1,64}$/.test(given) ? given : randomUUID()
}

/**
 * The work for every request, also for unknown paths: its id, the answer while the service stops, and its line in the
 * log.
 */
function registerEveryRequest(
  app: FastifyInstance,
  knownPaths: KnownPaths,
  { pages, baseUrl }: Pick<AppDependencies, 'pages' | 'baseUrl'>,
): void {
  const api = `${prefixOf(baseUrl)}/api/`
  const assets = `${prefixOf(baseUrl)}/assets/`
  let closing = false
  app.addHook('preClose', async () => {
    closing = true
  })
  app.addHook('onRequest', async (request, reply) => {
    reply.headers({ 'x-request-id': request.id, 'cache-control': PRIVATE })
    if (closing && !request.routeOptions.config.duringStop) {
      throw new UnavailableError('stopping', 'The service is stopping')
    }
    if (request.headers.host === undefined && request.raw.httpVersion === '1.1') {
      throw new InvalidInputError('host_missing', 'The header Host is missing')
    }
    // Answered here, before any body is read.
    if (request.is404) {
      const isOfPrograms = request.url.startsWith(api) || request.url.startsWith(assets)
      const page =
        isOfPrograms || knownPaths.methodsOf(pathOf(request)).length > 0 ? null : sendUnknownPage(pages, request, reply)
      return page ?? answerWithoutRoute(request, reply, knownPaths)
    }
  })
  app.addHook('onResponse', async (request, reply) => {
    const level = request.routeOptions.config.duringStop ? 'debug' : 'info'
    request.log[level](
      {
        method: request.method,
        path: request.routeOptions.url ?? request.url.split('?', 1)[0],
        status: reply.statusCode,
        ms: Math.round(reply.elapsedTime),
      },
      'request',
    )
  })
}

const pathOf = ({ url }: FastifyRequest) => url.split('?', 1)[0] ?? ''

/** For a path that exists with other methods, the answer names them. @throws NotFoundError, WrongMethodError */
function answerWithoutRoute(request: FastifyRequest, reply: FastifyReply, knownPaths: KnownPaths): unknown {
  const methods = knownPaths.methodsOf(pathOf(request))
  if (methods.length === 0) throw unknownRoute()
  void reply.header('allow', [...methods, 'OPTIONS'].join(', '))
  if (request.method !== 'OPTIONS') throw new WrongMethodError(request.method, methods)
  return reply.status(204).send()
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for probes. They answer while the service stops, and are not logged. */
    duringStop?: boolean
  }
}
