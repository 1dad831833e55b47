import type { FastifyInstance } from 'fastify'
import { auditNameOf } from './audit-hook.js'

/** What the metrics count of requests. */
export interface HttpMeters {
  requestEnded(request: {
    /** The pattern of the path, never the path: there are as many as routes. `other` for what matches none. */
    readonly route: string
    readonly method: string
    readonly status: number
    readonly seconds: number
  }): void
  /** Somebody asked for a job. */
  launchAnswered(outcome: 'accepted' | 'refused'): void
}

const LAUNCHES: readonly string[] = ['job.launch', 'job.relaunch']

/**
 * Counts every request, known path or not. What stays open (event streams, runners' sockets) is taken out of the framework's
 * hands and is no request here.
 */
export function registerHttpMeters(
  app: FastifyInstance,
  { meters, basePath }: { readonly meters: HttpMeters; readonly basePath: string },
): void {
  app.addHook('onResponse', async (request, reply) => {
    const { url, config } = request.routeOptions
    meters.requestEnded({
      route: url === undefined ? 'other' : url.slice(basePath.length),
      method: request.method,
      status: reply.statusCode,
      seconds: reply.elapsedTime / 1000,
    })
    const action = auditNameOf({ method: request.method, url: url ?? '', config })?.action
    if (action !== undefined && LAUNCHES.includes(action)) {
      meters.launchAnswered(reply.statusCode === 200 ? 'accepted' : 'refused')
    }
  })
}
