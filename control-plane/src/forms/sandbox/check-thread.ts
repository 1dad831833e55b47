import type { Worker } from 'node:worker_threads'
import { messageOf } from '../../errors.js'
import type { CheckInput, CheckResult } from '../check/context.js'
import { NOTHING_WRONG } from '../check/report.js'
import type { CheckOrder, CheckReport } from './worker-messages.js'

/** How long a new thread may take until it is ready. That is a matter of the machine, not of the form. */
const READY_MS = 60_000

/** How one check in a thread ended. */
export interface ThreadEnd {
  readonly result: CheckResult
  /** Whether the thread can do another check. */
  readonly isFit: boolean
}

/**
 * Does one check in a thread.
 * @param options.limitMs how long the check may take, from when the thread is ready
 * @param ended called once, also when the check was given up. The thread has no listeners of this check then.
 */
export function runInThread(
  worker: Worker,
  input: CheckInput,
  { log, limitMs }: { readonly log: { warn(fields: object, text: string): void }; readonly limitMs: number },
  ended: (end: ThreadEnd) => void,
): void {
  let at: string | null = null
  let timer = setTimeout(() => giveUp(`had no thread within ${READY_MS} ms`), READY_MS)

  const end = (result: CheckResult, isFit: boolean) => {
    clearTimeout(timer)
    worker.removeAllListeners()
    ended({ result, isFit })
  }
  const giveUp = (reason: string) => {
    log.warn({ field: at, reason }, 'the check of a launch was given up')
    end(tooMuch(at, reason), false)
  }

  worker.removeAllListeners()
  worker.on('message', (report: CheckReport) => {
    if (report.kind === 'begins') {
      clearTimeout(timer)
      timer = setTimeout(() => giveUp(`took longer than ${limitMs} ms`), limitMs)
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
}

/** A check that was given up says which field it was at, as one that could not be evaluated. */
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
