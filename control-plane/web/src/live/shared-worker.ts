/*
 * One worker for all tabs of the browser. It holds their event stream, because a browser opens only six connections to
 * a server. A tab sends `open` when somebody is signed in, `over` when they have signed out, and `bye` when it is
 * closed.
 */
import { type EventStream, type StreamNews, createEventStream } from './stream.js'

/** What a tab says. */
export type TabWord = { readonly kind: 'open'; readonly server: string } | { readonly kind: 'over' | 'bye' }

const tabs = new Set<MessagePort>()
let stream: EventStream | null = null
let last: StreamNews | null = null

function tell(news: StreamNews) {
  if (news.kind !== 'changed') last = news
  for (const tab of tabs) tab.postMessage(news)
  if (news.kind === 'over') end()
}

function end() {
  stream?.close()
  stream = null
}

function hear(tab: MessagePort, word: TabWord) {
  switch (word.kind) {
    case 'open':
      tabs.add(tab)
      if (!stream) {
        last = null
        stream = createEventStream(word.server, tell)
        stream.open()
      } else if (last) tab.postMessage(last)
      return
    case 'over':
      return tell({ kind: 'over' })
    case 'bye':
      tabs.delete(tab)
      if (tabs.size === 0) end()
  }
}

addEventListener('connect', (event) => {
  const [tab] = (event as MessageEvent).ports
  if (!tab) return
  tab.onmessage = (message: MessageEvent<TabWord>) => hear(tab, message.data)
})
