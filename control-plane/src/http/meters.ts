import type { FastifyInstance } from 'fastify'
import { auditNameOf } from './audit-hook.js'

/** What the metrics count of requests. */
export interface HttpMeters {
  requestEnded(request: {
    /** The pattern of the path, never the path: there are as many as routes. `other` for what matches none. */
    readonly route: string
    readonly method: string
    readonly status: number
    /** Null for what stays open on purpose, such as the event stream. */
    readonly seconds: number | null
  }): void
  /** Somebody asked for a job. */
  launchAnswered(outcome: 'accepted' | 'refused'): void
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** True for routes whose answers stay open: how long is no measure of anything. */
    staysOpen?: boolean
  }
}

const LAUNCHES: readonly string[] = ['job.launch', 'job.relaunch']

/** Counts every request, known path or not. */
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
      seconds: config.staysOpen ? null : reply.elapsedTime / 1000,
    })
    const action = auditNameOf({ method: request.method, url: url ?? '', config })?.action
    if (action !== undefined && LAUNCHES.includes(action)) {
      meters.launchAnswered(reply.statusCode === 200 ? 'accepted' : 'refused')
    }
  })
}
