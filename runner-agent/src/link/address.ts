import { SOCKET_PATH } from '@holdfast/protocol'

/** The address of the socket: http becomes ws, https becomes wss. A path in the address of the control plane is a prefix. */
export function socketAddress(appUrl: URL): string {
  const address = new URL(appUrl)
  address.protocol = appUrl.protocol === 'https:' ? 'wss:' : 'ws:'
  address.pathname = appUrl.pathname.replace(/\/+$/, '') + SOCKET_PATH
  address.search = ''
  address.hash = ''
  return address.href
}

/** A warning for an operator about the way to the control plane. Null: TLS protects it, or it does not leave this machine. */
export function transportDoubt(appUrl: URL, tlsVerify: boolean): string | null {
  const isLoopback = /^(localhost|.*\.localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(appUrl.hostname)
  if (isLoopback || (appUrl.protocol === 'https:' && tlsVerify)) return null
  const what = appUrl.protocol === 'https:' ? 'APP_TLS_VERIFY=0: any certificate is taken' : 'APP_URL is plain http'
  return (
    `${what}. Only the key of the control plane says whom this runner obeys: let it be known from the start, by a join token ` +
    'or RTE_SERVICE_FINGERPRINT. What crosses is sealed; how much and when can be seen'
  )
}
