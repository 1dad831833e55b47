import { SOCKET_PATH } from '@holdfast/protocol'

/** The socket's address below the app's: http becomes ws, https wss; a path of the app's address is a prefix. */
export function socketAddress(appUrl: URL): string {
  const address = new URL(appUrl)
  address.protocol = appUrl.protocol === 'https:' ? 'wss:' : 'ws:'
  address.pathname = appUrl.pathname.replace(/\/+$/, '') + SOCKET_PATH
  address.search = ''
  address.hash = ''
  return address.href
}
