import { createServer, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describeError, type Logger } from './log.js'
import { metricsText, type AgentFigures } from './metrics.js'

const LISTEN_AGAIN_MS = 5_000

/** Why the agent is not ready, in the order in which it is said. */
export type NotReady =
  | 'not connected to the control plane'
  | typeof UNTRUSTED
  | 'waiting for approval'
  | typeof TOKEN_NOT_TAKEN
  | 'draining'
  /** Why the agent takes no jobs, as a sentence. */
  | { readonly problem: string }

/** Said while the control plane shows a key that this runner does not trust. */
export const UNTRUSTED = 'the control plane shows another key than the one that this runner trusts'

/** Said while a runner with a join token waits for approval all the same. */
export const TOKEN_NOT_TAKEN = 'waiting for approval: the join token is unknown, used or expired'

/** What the probes ask the agent. */
export interface HealthProbe {
  notReady(): NotReady | null
  /** How jobs are kept apart, in a word. */
  isolation(): string
  figures(): AgentFigures
}

/** The agent's own small web server for probes. It answers nothing else. */
export interface HealthServer {
  /** @throws the system's error when the address is taken @returns the port */
  listen(host: string, port: number): Promise<number>
  /**
   * Listens, now or as soon as the address is free. Jobs need no probes, so the agent works without them meanwhile.
   * @param listening called once, with the port
   */
  keepListening(host: string, port: number, log: Logger, listening: (port: number) => void): Promise<void>
  close(): Promise<void>
}

/** A server that does not listen yet. */
export function createHealthServer(probe: HealthProbe): HealthServer {
  const answers: Record<string, (response: ServerResponse) => void> = {
    '/live': (response) => {
      json(response, 200, { status: 'live' })
    },
    '/ready': (response) => {
      const reason = probe.notReady()
      const isolation = probe.isolation()
      if (reason === null) json(response, 200, { status: 'ready', isolation })
      else {
        const words = typeof reason === 'string' ? reason : reason.problem
        json(response, 503, { status: 'not ready', reason: words, isolation })
      }
    },
    '/metrics': (response) => {
      answer(response, 200, 'text/plain; version=0.0.4; charset=utf-8', metricsText(probe.figures()))
    },
  }
  const server: Server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0] ?? ''
    const found = Object.hasOwn(answers, path) ? answers[path] : undefined
    if (!found) json(response, 404, { error: 'there is only /live, /ready and /metrics' })
    else if (request.method !== 'GET' && request.method !== 'HEAD') json(response, 405, { error: 'only GET is served' })
    else found(response)
  })
  let timer: NodeJS.Timeout | undefined
  let isClosed = false
  server.requestTimeout = 5_000
  server.maxConnections = 50

  const listen = (host: string, port: number): Promise<number> =>
    new Promise((resolve, reject) => {
      server.once('error', reject)
      server.listen(port, host, () => {
        server.off('error', reject)
        resolve((server.address() as AddressInfo).port)
      })
    })

  return {
    listen,
    async keepListening(host, port, log, listening) {
      let said = ''
      const attempt = async (): Promise<void> => {
        try {
          listening(await listen(host, port))
        } catch (error) {
          const problem = describeError(error)
          if (problem !== said) log.error({ problem }, 'probes are not answered; jobs go on, and it is tried again')
          said = problem
          if (isClosed) return
          timer = setTimeout(() => void attempt(), LISTEN_AGAIN_MS)
          timer.unref()
        }
      }
      await attempt()
    },
    async close() {
      isClosed = true
      clearTimeout(timer)
      if (!server.listening) return
      await new Promise<void>((resolve) => {
        server.close(() => {
          resolve()
        })
        server.closeAllConnections()
      })
    },
  }
}

function json(response: ServerResponse, status: number, body: object): void {
  answer(response, status, 'application/json; charset=utf-8', JSON.stringify(body))
}

function answer(response: ServerResponse, status: number, type: string, text: string): void {
  response.writeHead(status, { 'content-type': type, 'cache-control': 'no-store' })
  response.end(text)
}
