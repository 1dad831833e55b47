import { randomBytes } from 'node:crypto'
import { type QuickJSContext, newQuickJSWASMModuleFromVariant } from 'quickjs-emscripten-core'
import { messageOf } from '../../errors.js'
import { MAX_LEVELS, isDeeperThan } from '../../texts/value-levels.js'
import type { AskInScript, Evaluated, Evaluator } from '../check/evaluator.js'
import { callsOwnFunctions } from '../fields/server-functions.js'
import { type OriginMarks, createOriginMarks } from './origin-marks.js'
import { giveOwnFunctions } from './own-functions.js'
import { runInEngine } from './run-script.js'
import { type ScriptContext, makeScriptContext } from './script-context.js'
import { type HandedOver, readScript } from './script-origins.js'
import { TIME_FUNCTION, timePrelude } from './host/prelude-time.js'
import { createHostIntl } from './host/intl.js'

/**
 * JavaScript and patterns run in QuickJS, a separate engine inside WebAssembly. It has no files, no network and no
 * modules. Patterns run there, too. RE2 does not know some syntax that forms use (`(?=…)`, `\1`), and the engine of
 * Node.js cannot be interrupted.
 *
 * Time is counted in ticks of the engine. So an expression that runs on an idle machine is not refused on a busy one. A
 * wide limit in real time stops expressions with long ticks. A few built-in functions run very long between two ticks.
 * So callers use this in a thread that can be ended.
 */
const TICKS_OF_ONE = 200
const TICKS_OF_ALL = 4000
const MAX_MS = 1000
/** Characters of one result. */
const MAX_RESULT_LENGTH = 1024 * 1024

/** An evaluator for one check of one launch. The caller closes it afterwards. */
export interface QuickJsEvaluator extends Evaluator {
  /** False when the engine broke down: it must not be used again. */
  close(): boolean
}

/** Opens evaluators. */
export interface OpenEvaluator {
  /**
   * @param now the present time for expressions, in milliseconds
   * @param functions the file with the functions of the installation
   */
  (now: number, functions?: string): QuickJsEvaluator
  /** Prepares the context of the next evaluator. This takes half of the time of a usual check. */
  prepare(): void
}

/**
 * Loads the engine.
 * @param locale FORMS_LOCALE, for scripts that name none; null: that of the machine
 */
export async function loadQuickJs(locale: string | null = null): Promise<OpenEvaluator> {
  const engine = await newQuickJSWASMModuleFromVariant(import('@jitl/quickjs-wasmfile-release-sync'))
  const intl = createHostIntl(locale)
  let ready: ScriptContext | null = null
  const take = () => {
    const made = ready ?? makeScriptContext(engine, intl)
    ready = null
    return made
  }
  const prepare = () => {
    ready ??= makeScriptContext(engine, intl)
  }
  const readFunctions = createFunctionsReader()
  return Object.assign(
    (now: number, functions?: string) =>
      openEvaluator(take, now, functions === undefined ? null : { text: functions, read: readFunctions(functions) }),
    { prepare },
  )
}

/** The file with the functions of an installation, and what it hands over to the functions that ask. */
interface OwnFunctions {
  readonly text: string
  readonly read: HandedOver
}

const NOTHING_READ: HandedOver = { texts: [], others: [], placeholders: [], handing: new Map() }

/** Reads `functions.js`. The file is the same in nearly all checks. */
function createFunctionsReader(): (text: string) => HandedOver {
  let last: { readonly text: string; readonly read: HandedOver } | null = null
  return (text) => {
    if (last?.text !== text) last = { text, read: readScript(text, true, new Map()) ?? NOTHING_READ }
    return last.read
  }
}

const TOO_DEEP = `what it asks is nested deeper than ${MAX_LEVELS} levels`

/** The answer for a script that asks without permission. */
const MAY_NOT_ASK: AskInScript = (name) => ({
  reason: `fn.${name} asks a source, which only an expression of a field without runLocal can`,
})

function openEvaluator(take: () => ScriptContext, now: number, functions: OwnFunctions | null): QuickJsEvaluator {
  const marks = createOriginMarks(`hf${randomBytes(12).toString('hex')}`)
  let scripts: ScriptContext | null = null
  /** Patterns have their own context, so that no expression can change the meaning of `test` there. */
  let patterns: QuickJSContext | null = null
  let broken = false
  let ticks = 0
  let ticksOfAll = 0
  let began = 0
  /** These values are for the script that runs now. */
  let ask = MAY_NOT_ASK
  let isAsking = false

  function answerScript(question: string): string {
    const [name, marked] = JSON.parse(question) as [string, unknown[]]
    if (isDeeperThan(marked, MAX_LEVELS + 1)) return JSON.stringify({ reason: TOO_DEEP })
    const { value, parts } = marks.read(marked)
    const answer = ask(name, value as unknown[], parts)
    if (answer === null) isAsking = true
    return JSON.stringify(answer === null ? { pending: true } : withMarks(name, answer, marks))
  }

  function contextFor(kind: 'expressions' | 'patterns'): QuickJSContext {
    if (!scripts) {
      scripts = take()
      scripts.bind({ now, ask: answerScript })
      scripts.runtime.setInterruptHandler(() => {
        ticks += 1
        ticksOfAll += 1
        return ticks > TICKS_OF_ONE || ticksOfAll > TICKS_OF_ALL || performance.now() - began > MAX_MS
      })
    }
    return kind === 'patterns' ? (patterns ??= scripts.runtime.newContext()) : scripts.context
  }

  function bounded(kind: 'expressions' | 'patterns', run: (context: QuickJSContext) => unknown): Evaluated {
    if (broken) return { ok: false, reason: 'the sandbox broke down' }
    if (ticksOfAll > TICKS_OF_ALL) return { ok: false, reason: 'the expressions of this form take too long together' }
    ticks = 0
    began = performance.now()
    try {
      return resultOf(run(contextFor(kind)), marks)
    } catch (error) {
      // After a trap of WebAssembly the engine cannot be used any more. Errors of the script itself are plain errors.
      if (error instanceof RangeError || (error instanceof Error && error.name === 'RuntimeError')) broken = true
      return { ok: false, reason: marks.strip(messageOf(error)) }
    }
  }

  const loadFor = createExtras(functions, marks, (run) => bounded('expressions', run))

  return {
    evaluate(script, parent, isExpression = false, asking = MAY_NOT_ASK) {
      ask = asking
      isAsking = false
      const missing = loadFor(script)
      if (missing) return missing
      const whole = wholeScript(script, parent, isExpression)
      const result = bounded('expressions', (context) => runInEngine(context, whole))
      // A script without its answer may have gone on. Then its result does not count.
      return isAsking ? { ok: false, reason: 'it asks a source', isAsking } : result
    },
    mark: (script, valueOf) => marks.markScript(script, functions?.read.handing ?? new Map(), valueOf),
    matches(pattern, text) {
      const script = `JSON.stringify(new RegExp(${JSON.stringify(pattern)}).test(${JSON.stringify(text)}))`
      return bounded('patterns', (context) => runInEngine(context, script))
    },
    close() {
      if (broken) return false
      try {
        scripts?.context.dispose()
        patterns?.dispose()
        scripts?.runtime.dispose()
        return true
      } catch {
        return false
      }
    },
  }
}

/** What `fn.fnCredentials` gives names a secret in the place of it. Only the service can have made that text. */
function withMarks(name: string, answer: object, marks: OriginMarks): object {
  if (name !== 'fnCredentials' || !('ok' in answer)) return answer
  const { ok } = answer
  if (typeof ok !== 'object' || ok === null || !('password' in ok) || typeof ok.password !== 'string') return answer
  return { ok: { ...ok, password: marks.markText(ok.password, 'author') } }
}

/**
 * Makes the function that loads what few scripts need, when the first script names it: times, and the functions of the
 * installation. It gives what went wrong, or null.
 */
function createExtras(
  functions: OwnFunctions | null,
  marks: OriginMarks,
  run: (load: (context: QuickJSContext) => unknown) => Evaluated,
): (script: string) => Evaluated | null {
  let hasTime = false
  let own: Evaluated | null = null
  return (script) => {
    const called = callsOwnFunctions(script) ? functions : null
    if (!hasTime && (script + (called?.text ?? '')).includes(TIME_FUNCTION)) {
      hasTime = true
      run((context) => runInEngine(context, timePrelude()))
    }
    if (called === null || called.text === '') return null
    own ??= run((context) => giveOwnFunctions(context, marks.markFunctions(called.text, called.read)))
    return own.ok ? null : own
  }
}

/** The script with the values that it names, as a script that returns JSON. */
function wholeScript(script: string, parent: unknown, isExpression: boolean): string {
  const named = script.includes('__parent__') ? `var __parent__=JSON.parse(${quoted(parent)});` : ''
  const text = JSON.stringify(script)
  const body = isExpression ? asExpression(text) : `return eval(${text})`
  // It runs inside a function, so that the names that it declares are gone afterwards.
  const value = `(function(){${named}${body}})()`
  return `(function(v){return v instanceof Promise?v.then(JSON.stringify):JSON.stringify(v)})(${value})`
}

/**
 * It is first read as an expression, so that `{a: 1}` is an object and not a block. Statements run unchanged. An
 * `await` needs a function around it.
 */
function asExpression(text: string): string {
  const ways = [`"("+${text}+"\\n)"`, text, `"(async()=>("+${text}+"\\n))()"`]
  const [first, second, last] = ways.map((way) => `return eval(${way})`)
  const unlessSyntax = 'if(!(error instanceof SyntaxError))throw error;'
  return `try{${first}}catch(error){${unlessSyntax}try{${second}}catch(other){if(!(other instanceof SyntaxError)||!/\\bawait\\b/.test(${text}))throw other;${last}}}`
}

function quoted(value: unknown): string {
  return JSON.stringify(JSON.stringify(value ?? {}))
}

function resultOf(marked: unknown, marks: OriginMarks): Evaluated {
  if (typeof marked !== 'string') return { ok: true, value: undefined }
  const json = marks.strip(marked)
  if (json.length > MAX_RESULT_LENGTH) return { ok: false, reason: 'the result is too large' }
  const value: unknown = JSON.parse(json)
  return isDeeperThan(value, MAX_LEVELS) ? { ok: false, reason: 'the result is nested too deep' } : { ok: true, value }
}
