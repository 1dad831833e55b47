import { request } from 'node:http'
import { once } from 'node:events'
import type { IncomingMessage } from 'node:http'
import type { Product } from '../../support/product.js'
import { waitFor } from '../../support/wait.js'

/** An open stream of live events. */
export interface LiveWatch {
  /** How often it was said that jobs changed. */
  changes(): number
  close(): void
}

/** Opens a stream of live events and waits for its hello. A restart of the control plane ends it. */
export async function watchLive({ address, admin }: Product): Promise<LiveWatch> {
  const asked = request(`${address}/api/v2/events`, { headers: { authorization: `Bearer ${admin.token}` } })
  asked.on('error', () => undefined)
  asked.end()
  const [response] = (await once(asked, 'response')) as [IncomingMessage]
  let text = ''
  response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  response.on('error', () => undefined)
  await waitFor('the hello of the live events', () => text.includes('event: hello'))
  return {
    changes: () => text.split('event: changed\ndata: {"name":"jobs"}').length - 1,
    close: () => void asked.destroy(),
  }
}
