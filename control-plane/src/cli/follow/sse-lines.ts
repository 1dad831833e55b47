/** One event of a server-sent event stream. */
export interface ServerSentEvent {
  readonly event: string
  readonly data: string
}

/**
 * Reads the events of a stream. Other lines (`retry:`, comments) are left out.
 * @param heard called whenever bytes arrive, because they show that the server is there
 */
export async function* serverSentEvents(
  body: AsyncIterable<Uint8Array>,
  heard: () => void,
): AsyncGenerator<ServerSentEvent> {
  const decoder = new TextDecoder()
  let text = ''
  let event = 'message'
  let data: string[] = []
  for await (const bytes of body) {
    heard()
    text += decoder.decode(bytes, { stream: true })
    const lines = text.split(/\r\n|\n|\r/)
    text = lines.pop() ?? ''
    for (const line of lines) {
      if (line === '') {
        if (data.length > 0) yield { event, data: data.join('\n') }
        event = 'message'
        data = []
        continue
      }
      const colon = line.indexOf(':')
      const field = colon < 0 ? line : line.slice(0, colon)
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '')
      if (field === 'event') event = value
      if (field === 'data') data.push(value)
    }
  }
}
