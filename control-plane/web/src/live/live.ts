import { signal } from '@preact/signals'
import { SERVER, WORKER_ADDRESS } from './address.js'
import type { TabWord } from './shared-worker.js'
import { type StreamNews, createEventStream } from './stream.js'
import { trusted } from './trusted.js'

/** The state of this tab's connection to the event stream of the browser. */
export type Connection =
  /** Nobody is signed in, or nothing has been heard yet. */
  | { readonly state: 'none' }
  | { readonly state: 'connected' }
  /** @property since in milliseconds since the epoch. @property isSaid it lasts so long that people should know */
  | { readonly state: 'lost'; readonly since: number; readonly isSaid?: boolean }

/** What changed: a name of the event stream, or everything after a connection came (back). */
export type Change = { readonly name: string } | 'everything'

/** Whether the control plane can be heard. */
export const connection = signal<Connection>({ state: 'none' })

/** The version of a control plane that is newer than this page; null: the page has the newest version. */
export const newerVersion = signal<string | null>(null)

const listeners = new Set<(change: Change) => void>()
const overListeners = new Set<() => void>()
let firstVersion: string | null = null
let firstDatabase: string | null = null
let say: ((word: TabWord) => void) | null = null

/** Calls back at every change, until the function that is given back is called. */
export function onChange(listener: (change: Change) => void): () => void {
  listeners.add(listener)
  return () => listeners.delete(listener)
}

/** Calls back when the session of this browser is over. */
export function onOver(listener: () => void): void {
  overListeners.add(listener)
}

/** Lets this tab hear the event stream from now on. Call it when somebody is signed in. */
export function startListening(): void {
  say ??= connect()
  say({ kind: 'open', server: SERVER })
}

/** Tells all tabs of the browser that nobody is signed in any more. */
export function tellOver(): void {
  say?.({ kind: 'over' })
}

function connect(): (word: TabWord) => void {
  if (typeof SharedWorker === 'undefined') return connectAlone()
  const { port } = new SharedWorker(trusted.createScriptURL(WORKER_ADDRESS), { type: 'module', name: 'holdfast' })
  port.onmessage = (message: MessageEvent<StreamNews>) => hear(message.data)
  addEventListener('pagehide', () => port.postMessage({ kind: 'bye' } satisfies TabWord))
  // A page that comes out of the cache of the browser goes on where it was.
  addEventListener('pageshow', (event) => {
    if (event.persisted) port.postMessage({ kind: 'open', server: SERVER } satisfies TabWord)
  })
  return (word) => port.postMessage(word)
}

/** A browser without shared workers: each tab has a stream of its own. */
function connectAlone(): (word: TabWord) => void {
  const stream = createEventStream(SERVER, hear)
  return (word) => {
    if (word.kind === 'open') stream.open()
    else stream.close()
    if (word.kind === 'over') hear({ kind: 'over' })
  }
}

function hear(news: StreamNews) {
  switch (news.kind) {
    case 'hello':
      // The database was restored, and numbers of jobs may be given again. So what this tab shows may belong to other
      // jobs now.
      if (news.database !== (firstDatabase ??= news.database)) return location.reload()
      firstVersion ??= news.version
      newerVersion.value = news.version === firstVersion ? null : news.version
      connection.value = { state: 'connected' }
      return tellListeners('everything')
    case 'changed':
      return tellListeners({ name: news.name })
    case 'broken':
      if (connection.value.state !== 'lost') connection.value = { state: 'lost', since: Date.now() }
      return
    case 'over':
      connection.value = { state: 'none' }
      for (const listener of overListeners) listener()
  }
}

function tellListeners(change: Change) {
  for (const listener of listeners) listener(change)
}
