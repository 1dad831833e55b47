import type { QuickJSContext, QuickJSWASMModule } from 'quickjs-emscripten-core'
import { ASKING_FUNCTIONS, SERVER_FUNCTIONS } from '../fields/server-functions.js'
import { answerHostCall } from './host/host-call.js'
import type { HostIntl } from './host/intl.js'
import { HELPERS_PRELUDE } from './host/prelude-helpers.js'
import { INTL_PRELUDE } from './host/prelude-intl.js'
import { WEB_PRELUDE } from './host/prelude-web.js'

const MEMORY_BYTES = 16 * 1024 * 1024
const STACK_BYTES = 256 * 1024

/** The facts about the check for which a context is used. */
export interface ContextUse {
  /** The present time for scripts, in milliseconds. */
  readonly now: number
  /** Answers a script that asks: JSON in, JSON out. */
  readonly ask: (question: string) => string
}

/** An engine with a context that contains everything that scripts may use. It is for one check. */
export type ScriptContext = ReturnType<typeof makeScriptContext>

/** Makes a context. It is the same for every check, so it can be made in advance. */
export function makeScriptContext(engine: QuickJSWASMModule, intl: HostIntl) {
  let use: ContextUse = { now: 0, ask: () => JSON.stringify({ pending: true }) }
  const runtime = engine.newRuntime()
  runtime.setMemoryLimit(MEMORY_BYTES)
  runtime.setMaxStackSize(STACK_BYTES)
  const context = runtime.newContext()
  givePresent(context, () => use.now)
  giveHostFunctions(context, intl, (question) => use.ask(question))
  return {
    runtime,
    context,
    /** Sets the check. Before that, no script may run. */
    bind(given: ContextUse): void {
      use = given
    },
  }
}

/** Expressions see the time of the launch, the same one in each. */
function givePresent(context: QuickJSContext, now: () => number): void {
  const present = context.newFunction('present', () => context.newNumber(now()))
  const give = context.unwrapResult(context.evalCode(PRESENT_PRELUDE, 'prelude.js'))
  context.unwrapResult(context.callFunction(give, context.undefined, present)).dispose()
  for (const handle of [give, present]) handle.dispose()
}

const PRESENT_PRELUDE = `(function (present) {
  const Real = Date
  const now = () => present()
  globalThis.Date = new Proxy(Real, {
    apply: () => new Real(present()).toString(),
    construct: (target, given) => (given.length === 0 ? new Real(present()) : new Real(...given)),
    get: (target, key) => (key === 'now' ? now : Reflect.get(target, key)),
  })
})`

/**
 * Gives the scripts of a context the functions of the machine that they may call: texts of dates and numbers, sorting,
 * addresses, base64. All results are computed from the arguments. Nothing reaches files or a network.
 */
function giveHostFunctions(context: QuickJSContext, intl: HostIntl, ask: (question: string) => string): void {
  const host = context.newFunction('host', (question) =>
    context.newString(answerHostCall(context.getString(question), intl)),
  )
  for (const prelude of [INTL_PRELUDE, WEB_PRELUDE]) {
    const give = context.unwrapResult(context.evalCode(prelude, 'prelude.js'))
    context.unwrapResult(context.callFunction(give, context.undefined, host)).dispose()
    give.dispose()
  }
  host.dispose()
  // Sources are asked outside of the engine. A script gets a known answer, or learns that there is none yet.
  const asking = context.newFunction('ask', (question) => context.newString(ask(context.getString(question))))
  const helpers = context.unwrapResult(context.evalCode(HELPERS_PRELUDE, 'prelude.js'))
  const names = context.unwrapResult(context.evalCode(JSON.stringify([SERVER_FUNCTIONS, ASKING_FUNCTIONS])))
  context.unwrapResult(context.callFunction(helpers, context.undefined, names, asking)).dispose()
  for (const handle of [helpers, names, asking]) handle.dispose()
}
