import { getHeapStatistics } from 'node:v8'
import { parentPort, workerData } from 'node:worker_threads'
import { messageOf } from '../../errors.js'
import { checkForm } from '../check/check-form.js'
import { loadQuickJs } from './quickjs.js'
import type { CheckOrder, CheckReport, WorkerSettings } from './worker-messages.js'

const MAX_CHARACTERS = 8 * 1024 * 1024
/** A thread whose heap became so large is ended. One of the largest values leaves such a heap, and V8 would keep it. */
const MAX_KEPT_HEAP_BYTES = 64 * 1024 * 1024

/**
 * The thread in which launches are checked, one after the other. If something takes too long in here (a script, a
 * pattern, YAML of many megabytes), nobody else has to wait. The control plane ends the thread and makes another one.
 */
const port = parentPort
if (!port) throw new Error('this file is run as a worker')
const engine = loadQuickJs((workerData as WorkerSettings).locale)
// An engine that cannot be loaded is reported by the first check.
engine.then((open) => open.prepare()).catch(() => undefined)
const report = (message: CheckReport) => port.postMessage(message)

/**
 * Most characters of the variables of a check. Otherwise a form that uses a long value in many of its fields would fill
 * the memory of the control plane, which gets the result.
 */
function mostOf(values: CheckOrder['input']['values']): number {
  return Math.max(MAX_CHARACTERS, 4 * JSON.stringify(values).length)
}

port.on('message', ({ input }: CheckOrder) => {
  engine
    .then((open) => {
      report({ kind: 'begins' })
      const evaluator = open(input.now, input.functions)
      const result = checkForm(input, evaluator, (field) => report({ kind: 'at', field }))
      const made = JSON.stringify([result.extravars, result.shown ?? null]).length
      if (made > (input.isShowing ? 2 : 1) * mostOf(input.values)) {
        throw new Error('made far more variables of the values than they are long')
      }
      const isFit = evaluator.close() && getHeapStatistics().total_heap_size <= MAX_KEPT_HEAP_BYTES
      report({ kind: 'done', result, isFit })
      // While nobody waits.
      if (isFit) open.prepare()
    })
    .catch((error: unknown) => report({ kind: 'failed', reason: messageOf(error) }))
})
