import { get as httpGet } from 'node:http'
import { get as httpsGet } from 'node:https'
import { createServer } from 'node:net'
import { fine, type Finding, wrong } from '@holdfast/protocol'
import type { ControlPlaneSettings } from '../settings.js'

const ANSWER_MS = 10_000
const SUBJECT = 'port'

type Settings = Pick<ControlPlaneSettings, 'port' | 'listenHost' | 'tls' | 'baseUrl'>

/** Checks whether the port is free, or a control plane answers there already. */
export async function checkPort(settings: Settings): Promise<Finding[]> {
  const { port, listenHost } = settings
  const place = `${listenHost}:${port}`
  const problem = await listenProblem(port, listenHost)
  if (problem === null) return [fine(SUBJECT, `${place} is free`)]
  if (problem.code === 'EADDRINUSE') {
    if (await answersThere(settings)) return [fine(SUBJECT, `a control plane answers at ${place}`)]
    return [wrong(SUBJECT, `${place} is taken by another program`, `choose another PORT; ss -ltnp says who has it`)]
  }
  if (problem.code === 'EACCES') {
    const advice = 'choose one from 1024 up, or AmbientCapabilities=CAP_NET_BIND_SERVICE in the unit of the service'
    return [wrong(SUBJECT, `this user may not listen on port ${port}`, advice)]
  }
  return [wrong(SUBJECT, `${place}: ${problem.message}`, 'look at LISTEN_HOST: it must be an address of this host')]
}

/** Why this program cannot listen on the port; null: it can. It listens for a moment and closes every connection. */
function listenProblem(port: number, host: string): Promise<NodeJS.ErrnoException | null> {
  const server = createServer((socket) => socket.destroy())
  return new Promise((resolve) => {
    server.once('error', resolve)
    server.listen({ port, host }, () => server.close(() => resolve(null)))
  })
}

async function answersThere({ port, listenHost, tls, baseUrl }: Settings): Promise<boolean> {
  const host = ['0.0.0.0', '::'].includes(listenHost) ? 'localhost' : listenHost
  const path = `${baseUrl.replace(/\/+$/, '')}/api/v2/live`
  const options = { host, port, path, timeout: ANSWER_MS, agent: false }
  return new Promise((resolve) => {
    // The only question is whether a control plane answers, so no certificate is checked.
    const asked = tls === null ? httpGet(options) : httpsGet({ ...options, rejectUnauthorized: false })
    asked.once('response', (answer) => {
      answer.resume()
      resolve(answer.statusCode === 200)
    })
    asked.once('timeout', () => asked.destroy(new Error('no answer')))
    // A program that does not answer so is no control plane.
    asked.once('error', () => resolve(false))
  })
}
