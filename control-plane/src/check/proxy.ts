import { doubtful, fine, type Finding } from '@holdfast/protocol'
import type { ControlPlaneSettings } from '../settings.js'

const SUBJECT = 'proxy'

type Settings = Pick<ControlPlaneSettings, 'tls' | 'listenHost' | 'trustProxy' | 'publicUrl'>

/** Checks whether clients can choose their address, and whether the cookie of the console is bound to TLS. */
export function checkProxy({ tls, listenHost, trustProxy, publicUrl }: Settings): Finding[] {
  if (trustProxy === null) return []
  const findings: Finding[] = []
  const isLoopback = /^(127\.|::1$|localhost$)/.test(listenHost)
  if ('hops' in trustProxy && !isLoopback) {
    const words = `TRUST_PROXY is a number, and the port is open at ${listenHost}: who reaches it without the proxy chooses its own address`
    findings.push(
      doubtful(SUBJECT, words, 'give TRUST_PROXY the addresses of the proxies, or set LISTEN_HOST=127.0.0.1'),
    )
  }
  if (tls === null && !publicUrl?.startsWith('https:')) {
    const words =
      'the cookie of the console is bound to TLS (Secure, __Host-) only while the proxy sets X-Forwarded-Proto'
    findings.push(doubtful(SUBJECT, words, 'set PUBLIC_URL=https://…, the address at which browsers reach the proxy'))
  }
  return findings.length > 0
    ? findings
    : [fine(SUBJECT, 'its words count, and the cookie of the console is bound to TLS')]
}
