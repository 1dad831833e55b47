import { UsageError } from '../errors.js'

/**
 * Refuses to send a password over plain http, unless the person allows it. Others in the network could read the password,
 * or answer in place of the service. A connection to this machine itself is safe.
 * @param insecure `--insecure`
 * @throws UsageError
 */
export function refusePlainHttp(server: string, insecure: boolean, environment: NodeJS.ProcessEnv): void {
  const { protocol, hostname } = new URL(server)
  if (protocol === 'https:' || isLoopback(hostname) || insecure) return
  if (/^(1|true|yes|on)$/i.test(environment.HOLDFAST_INSECURE ?? '')) return
  throw new UsageError(
    `${server} is plain http: anybody on the way could read the password. Use https://, or say --insecure ` +
      '(HOLDFAST_INSECURE=1) if the network is trusted.',
  )
}

/** Whether a host is this machine. */
function isLoopback(hostname: string): boolean {
  const host = hostname.toLowerCase().replace(/\.$/, '')
  return host === 'localhost' || host.endsWith('.localhost') || host === '[::1]' || /^127\.\d+\.\d+\.\d+$/.test(host)
}
