import { SOCKET_PATH } from '@holdfast/protocol'
import type { FastifyPluginAsync } from 'fastify'
import type { RunnerHub } from '../../runners/registration/hub.js'
import { unknownRoute } from '../server/errors.js'
import { API_PREFIX } from '../route/paths.js'

export interface RunnerSocketDependencies {
  readonly hub: Pick<RunnerHub, 'accept'>
}

/**
 * The runners' WebSocket. No bearer token: a runner proves its key in the handshake, and nobody else gets past it. The
 * socket is handed over in the same tick, because messages that come before a handler is attached are lost.
 */
export function runnerSocketRoute({ hub }: RunnerSocketDependencies): FastifyPluginAsync {
  return async (app) => {
    const path = SOCKET_PATH.slice(API_PREFIX.length)
    app.route({
      method: 'GET',
      url: path,
      schema: { hide: true },
      config: { public: true },
      wsHandler: (socket, request) => hub.accept(socket, request.ip, request.raw.socket),
      // Without a WebSocket there is nothing here; said in the shape of every refusal.
      handler: () => {
        throw unknownRoute()
      },
    })
  }
}
