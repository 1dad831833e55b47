import type { Clock } from '../time/clock.js'
import type { Databases } from '../databases/query-type.js'
import { messageOf } from '../errors.js'
import type { Timers } from '../time/timers.js'
import { createTurns } from '../time/turns.js'
import { MAX_LEVELS, isDeeperThan } from '../texts/value-levels.js'
import { createAnswerCache } from './answer-cache.js'
import { type Functions, refuseForbiddenDatabase } from './functions.js'
import { type OpenWork, createOpenQuestions } from './open-questions.js'
import {
  type Answer,
  type Asked,
  type Asker,
  type Question,
  SourceProblem,
  type Work,
  questionKeyOf,
} from './question.js'

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
/** The answer when nobody waits for it any more. It is not kept. */
const GONE: Answer = { ok: false, reason: 'nobody waits for the answer any more' }
/**
 * Most questions that one source gets at a time. The others wait, and their time limit runs while they wait. So a slow source
 * delays nothing but the questions to itself. People take turns, and one person never has all places.
 */
const MAX_OF_SOURCE = 8

/**
 * Makes the {@link Sources}. A question first waits for its turn, then it is asked, then it is answered. People who ask the
 * same question meanwhile get the same answer, but a launch always asks anew. Each question ends with the answer of the
 * source, with its error, after the time limit, or because nobody waits for it any more.
 */
export function createSources(deps: SourcesDependencies): Sources {
  const { functions, timers, log, limitMs } = deps
  const cache = createAnswerCache(deps.steady)
  const open = createOpenQuestions(timers)
  const turns = createTurns({ most: MAX_OF_SOURCE })
  let closed = false

  async function ask(asked: Asked, asker: Asker, work: OpenWork): Promise<Answer> {
    const { signal, stop } = work
    let isLate = false
    const cancel = timers.after(limitMs, () => {
      isLate = true
      stop()
    })
    try {
      const value = await answerInTurn(asked.question, { ...asker, ...work })
      // Databases and ssh answer with values of their own. A check of a launch goes through them with recursions.
      if (isDeeperThan(value, MAX_LEVELS))
        throw new SourceProblem(`its answer is nested deeper than ${MAX_LEVELS} levels`)
      return { ok: true, value: value ?? null }
    } catch (error) {
      if (isLate && !closed) {
        return { ok: false, reason: `its source did not answer within ${Math.round(limitMs / 1000)} s` }
      }
      if (signal.aborted && !closed) return GONE
      if (closed) return { ok: false, reason: 'the service is stopping' }
      if (error instanceof SourceProblem) return { ok: false, reason: error.message }
      log.warn({ field: asked.field, err: error }, 'a source of a form failed with an unexpected error')
      return { ok: false, reason: 'asking its source failed; the log of the service says why' }
    } finally {
      cancel()
      stop()
    }
  }

  async function answerInTurn(question: Question, asker: Asker & Work): Promise<unknown> {
    const source = sourceOf(question)
    const leave = source === null ? null : await turns.take(source, asker.callers, asker.signal)
    try {
      return await Promise.race([answerOf(deps, question, asker), aborted(asker.signal)])
    } finally {
      leave?.()
    }
  }

  return {
    async ask(asked, asker) {
      if (closed) return { ok: false, reason: 'the service is stopping' }
      if (!asker.mayReuse) return open.ask(null, asker, (work) => ask(asked, asker, work))
      // The rights of the asker are a part of the key. So nobody gets an answer that other rights have given.
      const key = questionKeyOf(asked.question) + functions.rightsIn(asked.question, asker)
      const known = cache.find(key)
      if (known) return known
      return open.ask(key, asker, async (work) => {
        const got = await ask(asked, asker, work)
        if (got !== GONE) cache.keep(key, got, got.ok ? Math.min(asked.keepMs ?? KEEP_MS, MAX_KEEP_MS) : KEEP_FAILED_MS)
        return got
      })
    },
    async close() {
      closed = true
      await open.close()
      await functions.close()
    },
  }
}

async function answerOf(
  { functions, databases }: Pick<SourcesDependencies, 'functions' | 'databases'>,
  question: Question,
  asker: Asker & Work,
): Promise<unknown> {
  if (question.kind === 'function') return functions.call(question, asker)
  if (databases === null) throw new SourceProblem('this service cannot ask databases')
  refuseForbiddenDatabase(question, asker)
  const { config, text, values } = question
  const value = (name: string) => (Object.hasOwn(values, name) ? values[name] : null)
  const { callers, signal } = asker
  const { rows, truncated } = await databases.ask({ config, text, value, callers, signal }).catch((error: unknown) => {
    // The errors of databases are sentences for people.
    throw new SourceProblem(messageOf(error))
  })
  if (truncated) throw new SourceProblem(`the database has more than the ${rows.length} rows that a form may get`)
  return rows
}

/**
 * A key of the source that a question goes to. Questions with one key share the limit {@link MAX_OF_SOURCE}. Null:
 * databases and jq have turns of their own.
 */
function sourceOf(question: Question): string | null {
  if (question.kind === 'query' || question.name === 'fnJq') return null
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
