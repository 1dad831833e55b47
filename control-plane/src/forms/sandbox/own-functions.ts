import type { QuickJSContext, QuickJSHandle } from 'quickjs-emscripten-core'

/** How the file with an installation's own functions is called in messages. */
const FUNCTIONS_FILE = 'functions.js'

/** Files of the product family take a logger from here. In the sandbox it says nothing. */
const LOGGER = /(?:^|\/)lib\/logger(?:\.js)?$/
const LOGGER_MODULE = `const none = () => undefined
export default { error: none, warn: none, notice: none, info: none, http: none, debug: none, silly: none }`

/** `fnc` with what the file exports by name, and with the functions of an object that is its default export. */
const GIVE_FUNCTIONS = `(function (exported) {
  const { default: more, ...named } = exported
  const all = { ...(typeof more === 'object' ? more : {}), ...named }
  const functions = Object.fromEntries(Object.entries(all).filter(([, value]) => typeof value === 'function'))
  globalThis.fnc = new Proxy(functions, {
    get(target, name) {
      if (typeof name === 'symbol' || Object.hasOwn(target, name)) return target[name]
      return () => {
        throw new Error('fnc.' + name + ' is not in ${FUNCTIONS_FILE}')
      }
    },
  })
})`

/**
 * Gives the scripts of a context the functions of an installation below `fnc`. They run in the sandbox like every script, and
 * may call what is below `fn`.
 * @param text the file, a module of JavaScript. It comes from whoever runs the service
 * @throws Error with the reason and, if it is known, the line
 */
export function giveOwnFunctions(context: QuickJSContext, text: string): void {
  const { runtime } = context
  runtime.setModuleLoader(
    (name) => (LOGGER.test(name) ? LOGGER_MODULE : { error: new Error(`it cannot import ${JSON.stringify(name)}`) }),
    (_base, name) => name,
  )
  const exported = exportsOf(context, text)
  const give = context.unwrapResult(context.evalCode(GIVE_FUNCTIONS, 'prelude.js'))
  context.unwrapResult(context.callFunction(give, context.undefined, exported)).dispose()
  for (const handle of [give, exported]) handle.dispose()
}

/** What the module exports. Handles that are not disposed of would break the engine at its end. */
function exportsOf(context: QuickJSContext, text: string): QuickJSHandle {
  const result = context.evalCode(text, FUNCTIONS_FILE, { type: 'module' })
  if (result.error) throw problemOf(result.error.consume((error) => context.dump(error) as unknown))
  const jobs = context.runtime.executePendingJobs()
  jobs.error?.dispose()
  const state = context.getPromiseState(result.value)
  if (state.type === 'fulfilled' && state.notAPromise) return result.value
  result.value.dispose()
  if (state.type === 'fulfilled') return state.value
  if (state.type === 'pending') throw problemOf('it waits for a promise that nobody keeps')
  throw problemOf(state.error.consume((error) => context.dump(error) as unknown))
}

function problemOf(error: unknown): Error {
  const { message = String(error), stack = '' } =
    typeof error === 'object' && error !== null ? (error as { message?: string; stack?: string }) : {}
  const line = /functions\.js:(\d+)/.exec(stack)?.[1]
  const isOld = /'(?:exports|module|require)' is not defined/.test(message)
  const reason = message === 'interrupted' ? 'it takes too long' : message
  const hint = isOld ? ': write it as a module, with export function' : ''
  return new Error(`${FUNCTIONS_FILE}${line === undefined ? '' : `, line ${line}`}: ${reason}${hint}`)
}
