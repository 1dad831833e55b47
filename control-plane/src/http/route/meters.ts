import type { FastifyInstance } from 'fastify'
import { auditNameOf } from './audit-hook.js'

/** The facts about requests that the metrics count. */
export interface HttpMeters {
  requestEnded(request: {
    /**
     * The pattern of the path and not the path itself, so that the number of labels is limited. `other` for unknown
     * paths.
     */
    readonly route: string
    readonly method: string
    readonly status: number
    readonly seconds: number
  }): void
  /** A launch was answered. */
  launchAnswered(outcome: 'accepted' | 'refused'): void
}

const LAUNCHES: readonly string[] = ['job.launch', 'job.relaunch']

/**
 * Counts every request, also to unknown paths. Connections that stay open (event streams, sockets of runners) do not
 * count.
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
