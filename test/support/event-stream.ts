import { type IncomingMessage, request } from 'node:http'
import { waitFor } from './wait.js'

/** An open stream of live events. */
export interface EventStream {
  readonly response: IncomingMessage
  /** Everything that came, as it came. */
  text(): string
  /** The data of each `changed`, in order. */
  changes(): unknown[]
  close(): void
}

/** Opens the stream of live events of a service and waits for its hello. */
export async function openEventStream(
  address: string,
  token: string,
  headers: Readonly<Record<string, string>> = {},
): Promise<EventStream> {
  const asked = request(`${address}/api/v2/events`, { headers: { authorization: `Bearer ${token}`, ...headers } })
  const response = await new Promise<IncomingMessage>((resolve, reject) => {
    asked.on('error', reject).on('response', resolve).end()
  })
  let text = ''
  response.setEncoding('utf8').on('data', (piece: string) => (text += piece))
  response.on('error', () => undefined)
  await waitFor('the hello of the live events', () => text.includes('event: hello\ndata: ') && text.endsWith('\n\n'))
  return {
    response,
    text: () => text,
    changes: () =>
      [...text.matchAll(/event: changed\ndata: (.*)\n\n/g)].map((match) => JSON.parse(match[1] ?? '') as unknown),
    close: () => void asked.destroy(),
  }
}
