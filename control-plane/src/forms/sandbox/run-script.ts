import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core'

/** The value of a script. @throws Error with the reason when the script fails */
export function runInEngine(context: QuickJSContext, script: string): unknown {
  const result = context.evalCode(script, 'expression.js')
  if (result.error) return fail(context, result.error)
  const value = settled(context, result.value)
  try {
    return context.dump(value) as unknown
  } finally {
    value.dispose()
  }
}

/**
 * The result may be a promise, because functions that ask return promises. It is resolved at once, or it waits for an
 * answer that is not known.
 */
function settled(context: QuickJSContext, value: QuickJSHandle): QuickJSHandle {
  const jobs = context.runtime.executePendingJobs()
  if (jobs.error) {
    value.dispose()
    return fail(context, jobs.error)
  }
  const state = context.getPromiseState(value)
  if (state.type === 'fulfilled' && state.notAPromise) return value
  value.dispose()
  if (state.type === 'pending') throw new Error('it waits for a promise that nobody keeps')
  return state.type === 'fulfilled' ? state.value : fail(context, state.error)
}

function fail(context: QuickJSContext, handle: QuickJSHandle): never {
  const error: unknown = context.dump(handle)
  handle.dispose()
  throw new Error(reasonOf(error))
}

function reasonOf(error: unknown): string {
  if (typeof error !== 'object' || error === null || !('message' in error)) return String(error)
  const message = String(error.message)
  return message === 'interrupted' ? 'it takes too long' : message.slice(0, 200)
}
