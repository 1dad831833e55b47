import type { Timers } from '../time/timers.js'
import { type Callers, createCallers } from '../time/callers.js'
import type { Answer, Asker, Work } from './question.js'

/** The questions that are open. */
export interface OpenQuestions {
  /**
   * Asks, or waits for the answer to the same question that somebody asked before.
   * @param key null: the question is asked for this asker alone
   * @param begin begins the question; never rejects
   */
  ask(
    key: string | null,
    asker: Pick<Asker, 'caller' | 'signal'>,
    begin: (work: OpenWork) => Promise<Answer>,
  ): Promise<Answer>
  /** Stops all of them. */
  close(): Promise<void>
}

/** Work on a question that can be stopped. */
export interface OpenWork extends Work {
  stop(): void
}

interface Open {
  readonly key: string | null
  readonly callers: Callers
  readonly stop: AbortController
  /** How many wait for the answer, by caller. */
  readonly askers: Map<string, number>
  answer: Promise<Answer>
  cancelEnd: () => void
}

/**
 * How long a question goes on that nobody waits for any more, in milliseconds. A page that evaluates a form again closes
 * its request and then sends the next one, which asks the same.
 */
const LINGER_MS = 2000
/** Most open questions of one caller. */
const MAX_OF_CALLER = 1000

/**
 * An open question belongs to all who wait for its answer. It ends with its answer. If all of them have gone, it is
 * stopped: at once if nobody else can join, or else after {@link LINGER_MS}.
 */
export function createOpenQuestions(timers: Timers): OpenQuestions {
  const all = new Set<Open>()
  const shared = new Map<string, Open>()
  /** How many questions each caller has begun. */
  const begun = new Map<string, number>()

  function open(key: string | null, caller: string, begin: (work: OpenWork) => Promise<Answer>): Open {
    const stop = new AbortController()
    const callers = createCallers(caller)
    const work = { callers, signal: stop.signal, stop: () => stop.abort() }
    const none = Promise.resolve<Answer>({ ok: false, reason: '' })
    const made: Open = { key, callers, stop, askers: new Map(), answer: none, cancelEnd: () => undefined }
    all.add(made)
    if (key !== null) shared.set(key, made)
    begun.set(caller, (begun.get(caller) ?? 0) + 1)
    made.answer = begin(work).finally(() => {
      made.cancelEnd()
      all.delete(made)
      if (key !== null && shared.get(key) === made) shared.delete(key)
      const left = (begun.get(caller) ?? 1) - 1
      if (left > 0) begun.set(caller, left)
      else begun.delete(caller)
    })
    return made
  }

  function join(one: Open, caller: string): void {
    one.cancelEnd()
    one.askers.set(caller, (one.askers.get(caller) ?? 0) + 1)
    one.callers.join(caller)
  }

  function leave(one: Open, caller: string): void {
    const left = (one.askers.get(caller) ?? 1) - 1
    if (left > 0) one.askers.set(caller, left)
    else {
      one.askers.delete(caller)
      one.callers.leave(caller)
    }
    if (one.askers.size > 0) return
    const end = () => {
      // Who asks from now on begins anew.
      if (one.key !== null && shared.get(one.key) === one) shared.delete(one.key)
      one.stop.abort()
    }
    if (one.key === null) end()
    else one.cancelEnd = timers.after(LINGER_MS, end)
  }

  return {
    async ask(key, { caller, signal }, begin) {
      const known = key === null ? undefined : shared.get(key)
      if (!known && (begun.get(caller) ?? 0) >= MAX_OF_CALLER) {
        return { ok: false, reason: `more than ${MAX_OF_CALLER} of your questions wait for their answers` }
      }
      const one = known ?? open(key, caller, begin)
      join(one, caller)
      let isWaiting = true
      const gone = () => {
        if (isWaiting) leave(one, caller)
        isWaiting = false
      }
      if (signal?.aborted) gone()
      signal?.addEventListener('abort', gone, { once: true })
      try {
        return await one.answer
      } finally {
        isWaiting = false
        signal?.removeEventListener('abort', gone)
      }
    },
    async close() {
      for (const { stop } of all) stop.abort()
      await Promise.allSettled([...all].map(({ answer }) => answer))
    },
  }
}
