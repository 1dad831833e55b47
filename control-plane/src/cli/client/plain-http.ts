import { UsageError } from '../errors.js'

/**
 * A password crosses plain http only when somebody says so: whoever is on the way could read it, or answer in the
 * service's place. The way to this machine itself is nobody else's.
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
