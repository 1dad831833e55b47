import { Worker } from 'node:worker_threads'
import { TooManyError, UnavailableError } from '../../errors.js'
import type { Timers } from '../../time/timers.js'
import type { CheckInput, CheckResult } from '../check/context.js'
import { runInThread } from './check-thread.js'
import type { WorkerSettings } from './worker-messages.js'

/** Checks of launches, outside of the thread that serves requests. */
export interface LaunchChecks {
  /**
   * @param callerKey the caller of the check. Callers take turns, so that many or slow checks of one caller do not
   * delay another
   * @throws TooManyError when this caller has too many waiting, UnavailableError when the service stops
   */
  check(input: CheckInput, callerKey: string): Promise<CheckResult>
  close(): Promise<void>
}

/** How launches are checked. */
export interface LaunchChecksDependencies {
  readonly log: { warn(fields: object, text: string): void }
  readonly timers: Timers
  /** FORMS_LOCALE. */
  readonly locale?: string | null
  /** Most threads. Each is made at its first use and kept. */
  readonly threads?: number
  /** Checks of one caller that may wait. */
  readonly mostWaiting?: number
  /** The built check-worker.js. */
  readonly script?: URL
}

interface Waiting {
  readonly input: CheckInput
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
export function createLaunchChecks(deps: LaunchChecksDependencies): LaunchChecks {
  const { log, timers, threads = 2, mostWaiting = 200 } = deps
  const script = deps.script ?? new URL('./check-worker.js', import.meta.url)
  const workerOptions = {
    workerData: { locale: deps.locale ?? null } satisfies WorkerSettings,
    resourceLimits: { maxOldGenerationSizeMb: HEAP_MB, stackSizeMb: STACK_MB },
  }
  /** The callers in the order of their turns, each with its checks. */
  const turns = new Map<string, Waiting[]>()
  const idle: Worker[] = []
  const busy = new Map<Worker, { leave: () => void }>()
  const running = new Set<Waiting>()
  let closed = false

  function goOn(): void {
    while (!closed && (idle.length > 0 || busy.size < threads)) {
      const next = takeTurn(turns)
      if (!next) return
      const worker = idle.pop() ?? new Worker(script, workerOptions)
      run(worker, next)
    }
  }

  function run(worker: Worker, check: Waiting): void {
    const work = { leave: (): void => undefined }
    busy.set(worker, work)
    running.add(check)
    work.leave = runInThread(worker, check.input, { log, timers }, ({ result, isFit }) => {
      busy.delete(worker)
      running.delete(check)
      if (isFit && !closed) {
        keepIdle(worker)
      } else {
        void worker.terminate()
      }
      goOn()
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
    check(input, callerKey) {
      if (closed) return Promise.reject(stopping())
      const waiting = turns.get(callerKey) ?? []
      if (waiting.length >= mostWaiting) {
        return Promise.reject(
          new TooManyError('too_many_launches', 'Too many of your launches wait for their check', 5),
        )
      }
      return new Promise((resolve, reject) => {
        waiting.push({ input, resolve, reject })
        turns.set(callerKey, waiting)
        goOn()
      })
    },
    async close() {
      closed = true
      const left = [...running, ...[...turns.values()].flat()]
      turns.clear()
      running.clear()
      for (const { reject } of left) reject(stopping())
      // Nothing of a check may stay, because its timer would delay the end of the program.
      for (const { leave } of busy.values()) leave()
      const workers = [...idle.splice(0), ...busy.keys()]
      busy.clear()
      await Promise.all(workers.map((worker) => worker.terminate()))
    },
  }
}

/** The next check, of the caller whose turn it is; null: none waits. */
function takeTurn(turns: Map<string, Waiting[]>): Waiting | null {
  const [turn] = turns
  if (!turn) return null
  const [key, checks] = turn
  const next = checks.shift() ?? null
  turns.delete(key)
  // A caller with more checks waits behind the other callers.
  if (checks.length > 0) turns.set(key, checks)
  return next
}

function stopping(): UnavailableError {
  return new UnavailableError('stopping', 'The service is stopping')
}
