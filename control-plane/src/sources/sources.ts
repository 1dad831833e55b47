import type { Clock } from '../time/clock.js'
import type { Databases } from '../databases/query-type.js'
import { messageOf } from '../errors.js'
import type { Timers } from '../time/timers.js'
import { createTurns } from '../time/turns.js'
import { MAX_LEVELS, isDeeperThan } from '../value-levels.js'
import { createAnswerCache } from './answer-cache.js'
import { type Functions, refuseForbiddenDatabase } from './functions.js'
import { type Answer, type Asked, type Asker, type Question, SourceProblem, questionKeyOf } from './question.js'

/** Asks what lies outside of this service, for fields of forms. */
export interface Sources {
  /** Never rejects. When there is no answer, the result says why. */
  ask(asked: Asked, asker: Asker): Promise<Answer>
  close(): Promise<void>
}

/** What asking needs of other parts. */
export interface SourcesDependencies {
  readonly functions: Functions
  readonly databases: Databases | null
  readonly timers: Timers
  /** A clock that never jumps. */
  readonly steady: Clock
  readonly log: { warn(fields: object, text: string): void }
  /** SOURCE_TIMEOUT_SECONDS, in milliseconds. */
  readonly limitMs: number
}

/** How long an answer is good for when its field does not say, in milliseconds. */
const KEEP_MS = 60_000
/** How long a failure is kept as the answer, in milliseconds. So a source that fails is not asked again at once. */
const KEEP_FAILED_MS = 3_000
/** The longest time that an answer is kept, whatever its field says, in milliseconds. */
const MAX_KEEP_MS = 24 * 60 * 60_000
/**
 * Most questions that one source gets at a time. The others wait, and their time limit runs while they wait. So a slow source
 * delays nothing but the questions to itself.
 */
const MAX_OF_SOURCE = 8

/**
 * Makes the {@link Sources}. A question first waits for its turn, then it is asked, then it is answered. People who ask the
 * same question meanwhile get the same answer, but a launch always asks anew. Each question ends with the answer of the
 * source, with its error, or after the time limit.
 */
export function createSources(deps: SourcesDependencies): Sources {
  const { functions, databases, timers, log, limitMs } = deps
  const cache = createAnswerCache(deps.steady)
  const shared = new Map<string, Promise<Answer>>()
  const open = new Set<AbortController>()
  const turns = createTurns(MAX_OF_SOURCE)
  let closed = false

  async function ask(asked: Asked, asker: Asker): Promise<Answer> {
    const stop = new AbortController()
    open.add(stop)
    const cancel = timers.after(limitMs, () => stop.abort())
    const { question } = asked
    try {
      const leave = await turns.take(sourceOf(question), stop.signal)
      try {
        const value = await Promise.race([answerOf(question, asker, stop.signal), aborted(stop.signal)])
        // Databases and ssh answer with values of their own. A check of a launch goes through them with recursions.
        if (isDeeperThan(value, MAX_LEVELS))
          throw new SourceProblem(`its answer is nested deeper than ${MAX_LEVELS} levels`)
        return { ok: true, value: value ?? null }
      } finally {
        leave()
      }
    } catch (error) {
      if (stop.signal.aborted && !closed) {
        return { ok: false, reason: `its source did not answer within ${Math.round(limitMs / 1000)} s` }
      }
      if (closed) return { ok: false, reason: 'the service is stopping' }
      if (error instanceof SourceProblem) return { ok: false, reason: error.message }
      log.warn({ field: asked.field, err: error }, 'a source of a form failed with an unexpected error')
      return { ok: false, reason: 'asking its source failed; the log of the service says why' }
    } finally {
      cancel()
      stop.abort()
      open.delete(stop)
    }
  }

  async function answerOf(question: Question, asker: Asker, signal: AbortSignal): Promise<unknown> {
    if (question.kind === 'function') return functions.call(question, asker, signal)
    if (databases === null) throw new SourceProblem('this service cannot ask databases')
    refuseForbiddenDatabase(question, asker)
    const { config, text, values } = question
    const value = (name: string) => (Object.hasOwn(values, name) ? values[name] : null)
    const { rows, truncated } = await databases.ask({ config, text, value, signal }).catch((error: unknown) => {
      // The errors of databases are sentences for people.
      throw new SourceProblem(messageOf(error))
    })
    if (truncated) throw new SourceProblem(`the database has more than the ${rows.length} rows that a form may get`)
    return rows
  }

  return {
    async ask(asked, asker) {
      if (closed) return { ok: false, reason: 'the service is stopping' }
      if (!asker.mayReuse) return ask(asked, asker)
      // The rights of the asker are a part of the key. So nobody gets an answer that other rights have given.
      const key = questionKeyOf(asked.question) + functions.rightsIn(asked.question, asker)
      const known = cache.find(key)
      if (known) return known
      const running = shared.get(key)
      if (running) return running
      const answer = ask(asked, asker).then((got) => {
        shared.delete(key)
        cache.keep(key, got, got.ok ? Math.min(asked.keepMs ?? KEEP_MS, MAX_KEEP_MS) : KEEP_FAILED_MS)
        return got
      })
      shared.set(key, answer)
      return answer
    },
    async close() {
      closed = true
      for (const stop of open) stop.abort()
      await Promise.allSettled([...shared.values()])
      await functions.close()
    },
  }
}

/** A key of the source that a question goes to. Questions with one key share the limit {@link MAX_OF_SOURCE}. */
function sourceOf(question: Question): string {
  if (question.kind === 'query') return JSON.stringify(question.config ?? null)
  if (question.name === 'fnSsh') return `fnSsh ${String(question.given[1])}`
  const url = question.name.startsWith('fnRest') ? question.given[1] : null
  return typeof url === 'string' && URL.canParse(url) ? new URL(url).host : question.name
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const fail = () => reject(new SourceProblem('it was not answered in time'))
    if (signal.aborted) fail()
    else signal.addEventListener('abort', fail, { once: true })
  })
}
