/** What the event stream tells. `over`: nobody is signed in any more. */
export type StreamNews =
  | { readonly kind: 'hello'; readonly version: string; readonly database: string }
  | { readonly kind: 'changed'; readonly name: string }
  | { readonly kind: 'broken' }
  | { readonly kind: 'over' }

/** One event stream of the control plane, which comes back by itself until nobody is signed in. */
export interface EventStream {
  open(): void
  close(): void
}

const RETRY_MS = 3000

/**
 * Makes the stream, still closed.
 * @param server its address with the base URL
 */
export function createEventStream(server: string, tell: (news: StreamNews) => void): EventStream {
  let source: EventSource | null = null
  let retry: ReturnType<typeof setTimeout> | null = null

  function open() {
    if (source) return
    if (retry !== null) clearTimeout(retry)
    retry = null
    const opened = new EventSource(`${server}/api/v2/events`)
    source = opened
    opened.addEventListener('hello', (event) =>
      tell({ kind: 'hello', version: fieldOf(event, 'version'), database: event.lastEventId }),
    )
    opened.addEventListener('changed', (event) => tell({ kind: 'changed', name: fieldOf(event, 'name') }))
    opened.addEventListener('error', () => {
      if (source !== opened) return
      tell({ kind: 'broken' })
      // A stream that was refused does not come back by itself, and does not say why.
      if (opened.readyState === EventSource.CLOSED) void comeBack()
    })
  }

  async function comeBack() {
    source = null
    const status = await fetch(`${server}/api/v2/profile`).then(
      (answer) => answer.status,
      () => 0,
    )
    if (status === 401) return tell({ kind: 'over' })
    retry ??= setTimeout(() => {
      retry = null
      open()
    }, RETRY_MS)
  }

  return {
    open,
    close() {
      source?.close()
      source = null
      if (retry !== null) clearTimeout(retry)
      retry = null
    },
  }
}

function fieldOf(event: MessageEvent<string>, name: string): string {
  try {
    const data: unknown = JSON.parse(event.data)
    if (typeof data === 'object' && data !== null && name in data)
      return String((data as Record<string, unknown>)[name])
  } catch {
    // A later release may send something else.
  }
  return ''
}
