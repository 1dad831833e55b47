import { parentPort } from 'node:worker_threads'
import { messageOf } from '../../errors.js'
import { checkForm } from '../check/check-form.js'
import { loadQuickJs } from './quickjs.js'
import type { CheckOrder, CheckReport } from './worker-messages.js'

/**
 * The thread in which launches are checked, one after the other. Whatever takes too long in here (a script, a pattern,
 * YAML of many megabytes) holds up nobody else: the control plane ends the thread and makes another.
 */
const port = parentPort
if (!port) throw new Error('this file is run as a worker')
const engine = loadQuickJs()
const report = (message: CheckReport) => port.postMessage(message)

port.on('message', ({ input }: CheckOrder) => {
  engine
    .then((open) => {
      report({ kind: 'begins' })
      const evaluator = open(input.now)
      const result = checkForm(input, evaluator, (field) => report({ kind: 'at', field }))
      report({ kind: 'done', result, isFit: evaluator.close() })
    })
    .catch((error: unknown) => report({ kind: 'failed', reason: messageOf(error) }))
})
