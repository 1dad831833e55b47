import { messageOf } from '../errors.js'
import type { Timers } from '../timers.js'
import { type BusMessage, readLetter, writeLetter } from './messages.js'

/** Bytes of one letter; PostgreSQL takes less than 8000. */
const MAX_LETTER_BYTES = 7000

/** How long letters are apart at least, in milliseconds: what comes meanwhile is in the next one, each message once. */
const REST_MS = 50

export interface BusListener {
  received(message: BusMessage): void
  /** Messages may have been lost: everything is to be looked at. */
  missed(): void
}

/**
 * Tells the other nodes where to look. Whoever changed something calls it after the commit; within a node the parts tell
 * each other directly. A message may be lost, so whoever listens also looks by itself every two seconds or so.
 */
export interface Bus {
  /** Returns at once and never throws. */
  publish(message: BusMessage): void
  /** Calls the listener for each message of another node until the returned function is called. */
  subscribe(listener: BusListener): () => void
  /** Sends what waits, within reason. */
  close(): Promise<void>
}

/** What carries letters from each node to all others. */
export interface Post {
  /** Rejects when the letter cannot be sent now. */
  send(letter: string): Promise<void>
  close(): Promise<void>
}

/** What a post calls. */
export interface PostListener {
  arrived(letter: string): void
  /** The post works from now on; what was sent before that is lost. */
  connected(): void
}

/** The bus of a process that has no others beside it. */
export const SILENT_BUS: Bus = {
  publish: () => undefined,
  subscribe: () => () => undefined,
  close: () => Promise.resolve(),
}

/**
 * A bus over a post.
 *   idle → sending (at once, so that a lone message is quick) → resting → sending … as long as there is something → idle
 * A letter that cannot be sent is dropped: who should have had it looks by itself.
 */
export function createBus(deps: {
  readonly nodeId: string
  readonly openPost: (listener: PostListener) => Post
  readonly timers: Timers
  readonly log: { warn(fields: object, text: string): void }
}): Bus {
  const { nodeId, timers, log } = deps
  const listeners = new Set<BusListener>()
  /** What waits, as JSON: the same message waits once. */
  const waiting = new Set<string>()
  let phase: 'idle' | 'sending' | 'resting' | 'closed' = 'idle'
  let sending: Promise<void> = Promise.resolve()
  let stopRest = (): void => undefined
  let hasFailed = false

  const post = deps.openPost({
    arrived(text) {
      const letter = readLetter(text)
      if (letter === null || letter.from === nodeId) return
      for (const message of letter.messages) for (const listener of listeners) listener.received(message)
    },
    connected() {
      for (const listener of listeners) listener.missed()
    },
  })

  function nextLetter(): string {
    const messages: string[] = []
    let bytes = 0
    for (const message of waiting) {
      bytes += Buffer.byteLength(message) + 1
      if (messages.length > 0 && bytes > MAX_LETTER_BYTES) break
      messages.push(message)
      waiting.delete(message)
    }
    return writeLetter(nodeId, messages)
  }

  async function send(): Promise<void> {
    try {
      await post.send(nextLetter())
      hasFailed = false
    } catch (error) {
      if (!hasFailed)
        log.warn({ reason: messageOf(error) }, 'the other nodes could not be told; they look by themselves')
      hasFailed = true
    }
  }

  function start(): void {
    phase = 'sending'
    sending = send().then(() => {
      if (phase === 'closed') return
      phase = 'resting'
      stopRest = timers.after(REST_MS, () => {
        if (waiting.size > 0) start()
        else phase = 'idle'
      })
    })
  }

  return {
    publish(message) {
      if (phase === 'closed') return
      waiting.add(JSON.stringify(message))
      if (phase === 'idle') start()
    },
    subscribe(listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    async close() {
      if (phase === 'closed') return
      phase = 'closed'
      stopRest()
      await sending
      if (waiting.size > 0) await send()
      await post.close()
    },
  }
}
