import { SOCKET_PATH } from '@holdfast/protocol'
import type { FastifyPluginAsync } from 'fastify'
import type { RunnerHub } from '../../runners/registration/hub/hub.js'
import { unknownRoute } from '../server/errors.js'
import { API_PREFIX } from '../route/paths.js'

/**
 * The WebSocket of the runners. It needs no bearer token: a runner proves its key in the handshake, and a connection
 * without such a proof gets no further. The socket is passed on in the same tick, because messages before a handler is
 * attached would be lost.
 */
export function runnerSocketRoute(deps: { readonly hub: Pick<RunnerHub, 'accept'> }): FastifyPluginAsync {
  const { hub } = deps
  return async (app) => {
    const path = SOCKET_PATH.slice(API_PREFIX.length)
    app.route({
      method: 'GET',
      url: path,
      schema: { hide: true },
      config: { public: true, unlimited: true },
      wsHandler: (socket, request) => hub.accept(socket, request.ip, request.raw.socket),
      // Without a WebSocket this path has nothing. The answer has the usual error body.
      handler: () => {
        throw unknownRoute()
      },
    })
  }
}
