import { readFileSync } from 'node:fs'
import { type ClientRequestArgs, type IncomingMessage, request as httpRequest } from 'node:http'
import { request as httpsRequest } from 'node:https'
import { rootCertificates } from 'node:tls'
import { doubtful, fine, type Finding, wrong } from '@holdfast/protocol'
import { transportDoubt } from '../link/address.js'
import { ProxyAgent } from '../link/proxy.js'
import { adviceFor } from '../link/way-problem.js'
import type { Environment } from '../ground.js'
import { describeError } from '../log.js'
import type { AgentSettings } from '../settings.js'

const ANSWER_MS = 15_000
/** With a larger difference of the clocks, times of jobs look wrong. The `Date` of an answer is exact to a second. */
const LARGE_SKEW_MS = 5_000

type Way = Pick<AgentSettings, 'appUrl' | 'inbound' | 'tlsVerify' | 'proxy'>

/** Checks whether the control plane can be reached. It only asks whether the control plane is alive. */
export async function checkWay(settings: Way, environment: Environment, now: () => Date): Promise<Finding[]> {
  const { appUrl, inbound, tlsVerify, proxy } = settings
  if (appUrl === null) return [fine('control plane', `dials this agent at port ${inbound.port}`)]
  const address = new URL(appUrl)
  address.pathname = `${appUrl.pathname.replace(/\/+$/, '')}/api/v2/live`
  const through = proxy === null ? '' : ` through the proxy ${proxy.host}`
  try {
    const answer = await ask(address, settings, authoritiesOf(environment))
    if (answer.statusCode !== 200) {
      const words = `${address.href} answers ${answer.statusCode ?? 'nothing'}${through}`
      return [wrong('control plane', words, 'look at APP_URL: it is the address that people sign in at')]
    }
    const doubt = transportDoubt(appUrl, tlsVerify)
    return [
      fine('control plane', `${appUrl.href} answers${through}`),
      clockFinding(answer, now()),
      ...(doubt === null ? [] : [doubtful('transport', doubt, 'use https and a certificate that this host trusts')]),
    ]
  } catch (error) {
    const words = `${appUrl.href} cannot be reached${through}: ${describeError(error)}`
    return [wrong('control plane', words, adviceFor(error) ?? 'look at APP_URL, the network and firewalls between')]
  }
}

/**
 * The authorities that the agent will trust, when its settings name one more than those of this process: Node.js reads the
 * variable at its start only, and this process may have been started without it.
 */
function authoritiesOf({ NODE_EXTRA_CA_CERTS: path }: Environment): string[] | undefined {
  if (path === undefined || path === process.env.NODE_EXTRA_CA_CERTS) return undefined
  return [...rootCertificates, readFileSync(path, 'utf8')]
}

function clockFinding({ headers }: IncomingMessage, now: Date): Finding {
  const theirs = Date.parse(headers.date ?? '')
  if (Number.isNaN(theirs)) return doubtful('clock', 'the control plane does not say its time', 'compare it by hand')
  const seconds = Math.round((now.getTime() - theirs) / 1000)
  if (Math.abs(now.getTime() - theirs) <= LARGE_SKEW_MS) return fine('clock', 'as that of the control plane')
  const words = `${Math.abs(seconds)} s ${seconds > 0 ? 'ahead of' : 'behind'} the control plane`
  return doubtful('clock', words, 'run an NTP client on both hosts; jobs work all the same')
}

function ask(
  address: URL,
  { tlsVerify, proxy }: Pick<Way, 'tlsVerify' | 'proxy'>,
  authorities: string[] | undefined,
): Promise<IncomingMessage> {
  const isTls = address.protocol === 'https:'
  const options: ClientRequestArgs = { timeout: ANSWER_MS, agent: proxy === null ? false : new ProxyAgent(proxy) }
  return new Promise((resolve, reject) => {
    const asked = isTls
      ? httpsRequest(address, { ...options, rejectUnauthorized: tlsVerify, ca: authorities })
      : httpRequest(address, options)
    asked.once('response', (answer) => {
      answer.resume()
      resolve(answer)
    })
    asked.once('timeout', () => asked.destroy(new Error(`no answer for ${ANSWER_MS / 1000} s`)))
    asked.once('error', reject)
    asked.end()
  })
}
