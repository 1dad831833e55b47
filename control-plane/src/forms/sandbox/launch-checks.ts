import { Worker } from 'node:worker_threads'
import { TooManyError, UnavailableError } from '../../errors.js'
import type { Timers } from '../../time/timers.js'
import { createTurns } from '../../time/turns.js'
import type { CheckInput, CheckResult } from '../check/context.js'
import { runInThread } from './check-thread.js'
import type { WorkerSettings } from './worker-messages.js'

/** Checks of launches, outside of the thread that serves requests. */
export type LaunchChecks = ReturnType<typeof createLaunchChecks>

/** How launches are checked. */
export interface LaunchChecksDependencies {
  readonly log: { warn(fields: object, text: string): void }
  readonly timers: Timers
  /** FORMS_LOCALE. */
  readonly locale?: string | null
  /** Most threads. Each is made at its first use and kept. One caller never has the last one. */
  readonly threads?: number
  /** Checks of one caller that may wait. */
  readonly mostWaiting?: number
  /** The built check-worker.js. */
  readonly script?: URL
}

interface Running {
  readonly resolve: (result: CheckResult) => void
  readonly reject: (error: Error) => void
}

/** Megabytes of the heap of a thread. A check that needs more ends the thread, not the control plane. */
const HEAP_MB = 512
const STACK_MB = 8

/**
 * States of a thread: it waits for a check, or works on one, or is ended. Each check ends in exactly one of: its result,
 * a refusal because it took too long or ran out of memory, an error because the service stops.
 */
export function createLaunchChecks(deps: LaunchChecksDependencies) {
  const { log, timers, threads = 3, mostWaiting = 200 } = deps
  const script = deps.script ?? new URL('./check-worker.js', import.meta.url)
  const workerOptions = {
    workerData: { locale: deps.locale ?? null } satisfies WorkerSettings,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: STACK_MB },
  }
  const tooMany = () => new TooManyError('too_many_launches', 'Too many of your launches wait for their check', 5)
  const turns = createTurns({ most: threads, waiting: { ofOne: mostWaiting, ofAll: 10 * mostWaiting, tooMany } })
  const idle: Worker[] = []
  const busy = new Map<Worker, { leave: () => void }>()
  const running = new Set<Running>()
  let closed = false

  function run(input: CheckInput, check: Running): void {
    const worker = idle.pop() ?? new Worker(script, workerOptions)
    const work = { leave: (): void => undefined }
    busy.set(worker, work)
    running.add(check)
    work.leave = runInThread(worker, input, { log, timers }, ({ result, isFit }) => {
      busy.delete(worker)
      running.delete(check)
      if (isFit && !closed) {
        keepIdle(worker)
      } else {
        void worker.terminate()
      }
      check.resolve(result)
    })
  }

  /** An idle thread does not keep the program alive. The listener notices when it dies. */
  function keepIdle(worker: Worker): void {
    worker.unref()
    worker.on('error', () => idle.splice(idle.indexOf(worker), 1))
    idle.push(worker)
  }

  return {
    /**
     * @param callerKey the caller of the check. Callers take turns, so that many or slow checks of one caller do not
     * delay another
     * @param signal when it is aborted, a check that still waits is dropped. One that has begun goes on, because it
     * ends soon
     * @throws TooManyError when this caller has too many waiting, UnavailableError when the service stops; an Error
     * when the signal is aborted
     */
    async check(input: CheckInput, callerKey: string, signal?: AbortSignal): Promise<CheckResult> {
      if (closed) throw stopping()
      const leave = await turns.take('', callerKey, signal)
      try {
        // At a stop, what waits gets its turn and is refused.
        if (closed) throw stopping()
        return await new Promise((resolve, reject) => run(input, { resolve, reject }))
      } finally {
        leave()
      }
    },
    async close(): Promise<void> {
      closed = true
      for (const { reject } of running) reject(stopping())
      running.clear()
      // Nothing of a check may stay, because its timer would delay the end of the program.
      for (const { leave } of busy.values()) leave()
      const workers = [...idle.splice(0), ...busy.keys()]
      busy.clear()
      await Promise.all(workers.map((worker) => worker.terminate()))
    },
  }
}

function stopping(): UnavailableError {
  return new UnavailableError('stopping', 'The service is stopping')
}
