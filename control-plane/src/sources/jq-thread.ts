import { Worker } from 'node:worker_threads'
import type { Timers } from '../time/timers.js'
import { SourceProblem } from './question.js'

/** A thread that runs one filter of jq at a time. */
export interface JqThread {
  /** @throws SourceProblem with what jq says, or because it took longer than `limitMs`, or because of the signal */
  run(order: JqOrder, limitMs: number, signal: AbortSignal): Promise<unknown>
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

interface Running {
  readonly limitMs: number
  readonly resolve: (value: unknown) => void
  readonly reject: (error: Error) => void
}

/** Why a filter has no result when its signal was aborted. */
export const NOBODY_WAITS = 'jq: nobody waits for it any more'
/** How long a new thread may take to load jq, in milliseconds. */
const READY_MS = 60_000

/**
 * The thread is made when the first filter comes. A filter that takes too long, or that nobody waits for any more, ends
 * it, and the next filter gets a new one.
 * @param script the built jq-worker.js
 */
export function createJqThread(timers: Timers, script = new URL('./jq-worker.js', import.meta.url)): JqThread {
  let worker: Worker | null = null
  let running: Running | null = null
  const limit = createLimit(timers, giveUp)

  function begin(order: JqOrder, next: Running): void {
    running = next
    const isNew = worker === null
    const mine = (worker ??= start())
    mine.ref()
    if (isNew) limit.set(READY_MS, `jq was not ready within ${READY_MS} ms`)
    else limitRun(next)
    mine.postMessage(order)
  }

  function limitRun({ limitMs }: Running): void {
    limit.set(limitMs, `jq took longer than ${limitMs} ms`)
  }

  function start(): Worker {
    // The thread gets no environment variables, because a filter can read them (`env`).
    const made = new Worker(script, { env: {}, resourceLimits: { maxOldGenerationSizeMb: 256 } })
    made.on('message', (report: JqReport) => {
      if (report.kind === 'ready') {
        if (running) limitRun(running)
      } else if (report.kind === 'done') end((one) => one.resolve(report.value))
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

  function end(tell: (one: Running) => void): void {
    limit.clear()
    // An idle thread must not keep the program alive.
    worker?.unref()
    const one = running
    running = null
    if (one) tell(one)
  }

  return {
    async run(order, limitMs, signal) {
      const stop = () => giveUp(NOBODY_WAITS)
      signal.addEventListener('abort', stop, { once: true })
      try {
        return await new Promise((resolve, reject) => begin(order, { limitMs, resolve, reject }))
      } finally {
        signal.removeEventListener('abort', stop)
      }
    },
    async close() {
      limit.clear()
      const one = running
      running = null
      one?.reject(new SourceProblem('the service is stopping'))
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
