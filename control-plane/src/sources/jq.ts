import type { Timers } from '../time/timers.js'
import { createTurns } from '../time/turns.js'
import { type JqThread, NOBODY_WAITS, createJqThread } from './jq-thread.js'
import { SourceProblem, type Work } from './question.js'

/** Runs filters of jq, away from the thread that serves requests. */
export type Jq = ReturnType<typeof createJq>

/** For whom a filter runs. */
export interface JqWork extends Work {
  /** True: a person may have chosen the text of the filter. Then it has less time. */
  readonly isFromValue?: boolean
}

/** How long a filter of the author may take, in milliseconds. A filter can run for ever, and then its thread is ended. */
const LIMIT_MS = 5000
/** How long a filter may take that contains what a person filled in. */
const FROM_VALUE_LIMIT_MS = 1000
/** One caller has one thread at a time, and leaves the other one to others. */
const THREADS = 2

/**
 * Each filter waits for its turn, then it has a thread for itself. It ends in its result, in what jq says against it,
 * because it took too long, or because its signal was aborted.
 * @param script the built jq-worker.js
 */
export function createJq(timers: Timers, script?: URL) {
  const turns = createTurns({ most: THREADS })
  const idle: JqThread[] = []
  const all = new Set<JqThread>()
  let closed = false

  function takeThread(): JqThread {
    const thread = idle.pop() ?? createJqThread(timers, script)
    all.add(thread)
    return thread
  }

  async function runInTurn(value: unknown, filter: string, asked: JqWork): Promise<unknown> {
    const leave = await turns.take('', asked.callers, asked.signal)
    try {
      asked.signal.throwIfAborted()
      if (closed) throw stopping()
      const thread = takeThread()
      const limitMs = asked.isFromValue === true ? FROM_VALUE_LIMIT_MS : LIMIT_MS
      try {
        return await thread.run({ value, filter }, limitMs, asked.signal)
      } finally {
        idle.push(thread)
      }
    } finally {
      leave()
    }
  }

  return {
    /** @throws SourceProblem with what jq says, or because it took too long, or because nobody waits any more */
    async run(value: unknown, filter: string, asked: JqWork): Promise<unknown> {
      if (closed) throw stopping()
      try {
        return await runInTurn(value, filter, asked)
      } catch (error) {
        throw error instanceof SourceProblem ? error : new SourceProblem(NOBODY_WAITS)
      }
    },
    async close(): Promise<void> {
      // What waits gets its turn now, and is refused.
      closed = true
      await Promise.all([...all].map((thread) => thread.close()))
    },
  }
}

function stopping(): SourceProblem {
  return new SourceProblem('the service is stopping')
}
