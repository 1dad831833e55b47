import { messageOf } from '../errors.js'
import { type HearingDependencies, createHearing } from './hearing.js'
import { type BusMessage, readLetter, writeLetter } from './messages.js'

/** Most bytes of one letter. PostgreSQL takes less than 8000. */
const MAX_LETTER_BYTES = 7000

/**
 * Shortest time between two letters, in milliseconds. Messages that arrive meanwhile go into the next letter, each of
 * them once.
 */
const REST_MS = 50

/** Who listens to a bus. */
export interface BusListener {
  received(message: BusMessage): void
  /** Messages may have been lost, so the listener has to look at everything. */
  missed(): void
}

/**
 * Tells other nodes where to look in the database. Code that has changed something calls it after the commit. Within
 * one node, the parts call each other directly. A message may be lost, so every listener also looks by itself, about
 * every two seconds.
 */
export interface Bus {
  /** Returns at once and never throws. */
  publish(message: BusMessage): void
  /** Calls the listener for each message of another node until the returned function is called. */
  subscribe(listener: BusListener): () => void
  /** What an admin should know, as a sentence; null: nothing. */
  trouble(): string | null
  /** Sends what waits, within a limited time. */
  close(): Promise<void>
}

/** Carries letters from each node to all other nodes. */
export interface Post {
  /** Rejects when the letter cannot be sent now. */
  send(letter: string): Promise<void>
  close(): Promise<void>
}

/** What a post calls. */
export interface PostListener {
  arrived(letter: string): void
  /** The post works from now on. Letters before that are lost. */
  connected(): void
}

/** The bus of a process without other nodes. */
export const SILENT_BUS: Bus = {
  publish: () => undefined,
  subscribe: () => () => undefined,
  trouble: () => null,
  close: () => Promise.resolve(),
}

/** What {@link createBus} needs of other parts. */
export interface BusDependencies extends Pick<HearingDependencies, 'timers' | 'log' | 'isAlone'> {
  readonly nodeId: string
  readonly openPost: (listener: PostListener) => Post
}

/**
 * A bus over a post. It sends the first message at once, rests, and then sends the messages that arrived meanwhile. A
 * letter that cannot be sent is dropped: the other nodes look by themselves. A node that does not hear calls its
 * listeners regularly instead.
 */
export function createBus(deps: BusDependencies): Bus {
  const { nodeId, timers, log } = deps
  const listeners = new Set<BusListener>()
  /** The waiting messages as JSON, so that equal messages wait once. */
  const waiting = new Set<string>()
  let phase: 'idle' | 'sending' | 'resting' | 'closed' = 'idle'
  let sending: Promise<void> = Promise.resolve()
  let stopRest = (): void => undefined
  let hasFailed = false

  const post = deps.openPost({
    arrived(text) {
      const letter = readLetter(text)
      if (letter === null) return
      if (letter.from === nodeId) return letter.messages.length === 0 ? hearing.heard() : undefined
      for (const message of letter.messages) for (const listener of listeners) listener.received(message)
    },
    connected() {
      look()
      hearing.test()
    },
  })
  const hearing = createHearing({ ...deps, send: () => post.send(writeLetter(nodeId, [])), look })
  hearing.test()

  function look(): void {
    for (const listener of listeners) listener.missed()
  }

  async function send(): Promise<void> {
    try {
      await post.send(writeLetter(nodeId, takeMessages(waiting)))
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
    trouble: () => hearing.trouble(),
    async close() {
      if (phase === 'closed') return
      phase = 'closed'
      stopRest()
      hearing.close()
      await sending
      if (waiting.size > 0) await send()
      await post.close()
    },
  }
}

/** Takes as many of the waiting messages as one letter may have. At least one. */
function takeMessages(waiting: Set<string>): string[] {
  const messages: string[] = []
  let bytes = 0
  for (const message of waiting) {
    bytes += Buffer.byteLength(message) + 1
    if (messages.length > 0 && bytes > MAX_LETTER_BYTES) break
    messages.push(message)
    waiting.delete(message)
  }
  return messages
}
