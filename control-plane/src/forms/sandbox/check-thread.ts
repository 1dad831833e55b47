import type { Worker } from 'node:worker_threads'
import { messageOf } from '../../errors.js'
import type { Timers } from '../../time/timers.js'
import type { CheckInput, CheckResult } from '../check/context.js'
import { NOTHING_WRONG } from '../check/report.js'
import type { CheckOrder, CheckReport } from './worker-messages.js'

/** How long a new thread may take until it is ready. This depends on the machine, not on the form. */
const READY_MS = 60_000
/** How long one check may take, in milliseconds, from when its thread is ready. Then the thread is ended. */
const CHECK_LIMIT_MS = 10_000

/** How one check in a thread ended. */
export interface ThreadEnd {
  readonly result: CheckResult
  /** Whether the thread can do another check. */
  readonly isFit: boolean
}

/**
 * Does one check in a thread.
 * @param ended called once, also when the check was given up. By then the thread has no listeners of this check any
 * more
 * @returns leaves the check alone: `ended` is not called any more, and no timer and no listener stays
 */
export function runInThread(
  worker: Worker,
  input: CheckInput,
  { log, timers }: { readonly log: { warn(fields: object, text: string): void }; readonly timers: Timers },
  ended: (end: ThreadEnd) => void,
): () => void {
  let at: string | null = null
  let endTimer = timers.after(READY_MS, () => giveUp(`had no thread within ${READY_MS} ms`))

  const leave = () => {
    endTimer()
    worker.removeAllListeners()
    // What a thread says that is being ended is no news.
    worker.on('error', () => undefined)
  }
  const end = (result: CheckResult, isFit: boolean) => {
    leave()
    ended({ result, isFit })
  }
  const giveUp = (reason: string) => {
    log.warn({ field: at, reason }, 'the check of a launch was given up')
    end(tooMuch(at, reason), false)
  }

  worker.removeAllListeners()
  worker.on('message', (report: CheckReport) => {
    if (report.kind === 'begins') {
      endTimer()
      endTimer = timers.after(CHECK_LIMIT_MS, () => giveUp(`took longer than ${CHECK_LIMIT_MS} ms`))
    } else if (report.kind === 'at') at = report.field
    else if (report.kind === 'failed') giveUp(report.reason)
    else end(report.result, report.isFit)
  })
  worker.on('error', (error) => giveUp(messageOf(error)))
  worker.on('exit', () => giveUp('its thread ended'))
  worker.ref()
  try {
    worker.postMessage({ input } satisfies CheckOrder)
  } catch (error) {
    giveUp(messageOf(error))
  }
  return leave
}

/**
 * The result of a check that was given up names the field that was being evaluated, as a field that could not be
 * evaluated.
 */
function tooMuch(at: string | null, reason: string): CheckResult {
  const field = at ?? 'form'
  const errors = { [field]: [{ type: 'waiting', description: `the check of the values was given up: it ${reason}` }] }
  return {
    details: { ...NOTHING_WRONG, waiting: [field], validationErrors: errors },
    extravars: {},
    credentials: {},
    passwords: [],
  }
}
