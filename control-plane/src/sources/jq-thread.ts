import { Worker } from 'node:worker_threads'
import type { Timers } from '../time/timers.js'
import { SourceProblem } from './question.js'

/** Runs filters of jq, away from the thread that serves requests. */
export interface JqThread {
  /** @throws SourceProblem with what jq says, or because it took too long */
  run(value: unknown, filter: string): Promise<unknown>
  close(): Promise<void>
}

/** What the thread is to do. */
export interface JqOrder {
  readonly value: unknown
  readonly filter: string
}

/** What the thread reports: `ready` when jq is loaded, then how the filter ended. */
export type JqReport =
  | { readonly kind: 'ready' }
  | { readonly kind: 'done'; readonly value: unknown }
  | { readonly kind: 'failed'; readonly reason: string }

interface Waiting extends JqOrder {
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** How long one filter may take, in milliseconds. A filter can run for ever, and then its thread is ended. */
const LIMIT_MS = 5000
/** How long a new thread may take to load jq, in milliseconds. */
const READY_MS = 60_000
const TOO_LONG = `jq took longer than ${LIMIT_MS} ms`
/** Most filters that wait. */
const MAX_WAITING = 500

/**
 * The thread is made when the first filter comes, and works on one filter at a time. Each filter ends in its result, in
 * what jq says against it, or because it took too long; in the last case the next filter gets a new thread.
 * @param script the built jq-worker.js
 */
export function createJqThread(timers: Timers, script = new URL('./jq-worker.js', import.meta.url)): JqThread {
  const waiting: Waiting[] = []
  let worker: Worker | null = null
  let running: Waiting | null = null
  const limit = createLimit(timers, giveUp)
  let closed = false

  function goOn(): void {
    if (running !== null || closed) return
    running = waiting.shift() ?? null
    if (running === null) return
    const { value, filter } = running
    const isNew = worker === null
    const mine = (worker ??= start())
    mine.ref()
    if (isNew) limit.set(READY_MS, `jq was not ready within ${READY_MS} ms`)
    else limit.set(LIMIT_MS, TOO_LONG)
    mine.postMessage({ value, filter } satisfies JqOrder)
  }

  function start(): Worker {
    // The thread gets no environment variables, because a filter can read them (`env`).
    const made = new Worker(script, { env: {}, resourceLimits: { maxOldGenerationSizeMb: 256 } })
    made.on('message', (report: JqReport) => {
      if (report.kind === 'ready') limit.set(LIMIT_MS, TOO_LONG)
      else if (report.kind === 'done') end((one) => one.resolve(report.value))
      else end((one) => one.reject(new SourceProblem(`jq: ${report.reason}`)))
    })
    made.on('error', () => giveUp('jq broke down, perhaps because it needed too much memory'))
    made.on('exit', () => giveUp('jq ended'))
    return made
  }

  function giveUp(reason: string): void {
    void ended(worker)
    worker = null
    end((one) => one.reject(new SourceProblem(reason)))
  }

  function end(tell: (one: Waiting) => void): void {
    limit.clear()
    // An idle thread must not keep the program alive.
    worker?.unref()
    const one = running
    running = null
    if (one) tell(one)
    goOn()
  }

  return {
    run(value, filter) {
      if (closed) return Promise.reject(new SourceProblem('the service is stopping'))
      if (waiting.length >= MAX_WAITING) return Promise.reject(new SourceProblem('too many filters of jq wait'))
      return new Promise((resolve, reject) => {
        waiting.push({ value, filter, resolve, reject })
        goOn()
      })
    },
    async close() {
      closed = true
      limit.clear()
      const left = [...(running ? [running] : []), ...waiting.splice(0)]
      running = null
      for (const { reject } of left) reject(new SourceProblem('the service is stopping'))
      const last = worker
      worker = null
      await ended(last)
    },
  }
}

/** A limit of time, which is set anew for each thing that is waited for. */
function createLimit(timers: Timers, isOver: (reason: string) => void) {
  let clear = (): void => undefined
  return {
    set(ms: number, reason: string): void {
      clear()
      clear = timers.after(ms, () => isOver(reason))
    },
    clear: () => clear(),
  }
}

/** Ends a thread. What it still says is no news. */
async function ended(worker: Worker | null): Promise<void> {
  worker?.removeAllListeners()
  worker?.on('error', () => undefined)
  await worker?.terminate()
}
