import { MAX_LEVELS, isDeeperThan } from '../../../texts/value-levels.js'
import { type HostIntl } from './intl.js'
import { HOST_WEB } from './web.js'

/** Longest question and answer, in characters. */
const MAX_CHARACTERS = 4 * 1024 * 1024

/**
 * Answers a call of a script to the machine outside of its engine: JSON in, JSON out, so that only data passes. A
 * refusal is an answer, too, with the name of its error. It never throws.
 * @param question `[function, ...arguments]`; numbers and dates that JSON cannot hold are `{"$": text}`, see `valueOf`
 */
export function answerHostCall(question: string, intl: HostIntl): string {
  try {
    if (question.length > MAX_CHARACTERS) throw new RangeError('the text is too long')
    const asked = JSON.parse(question) as unknown[]
    if (isDeeperThan(asked, MAX_LEVELS)) throw new RangeError('the values are nested too deep')
    const answer = JSON.stringify({ ok: answerOf(asked, intl) ?? null })
    if (answer.length > MAX_CHARACTERS) throw new RangeError('the result is too long')
    return answer
  } catch (error) {
    const { name, message } = error instanceof Error ? error : new Error(String(error))
    return JSON.stringify({ name, message })
  }
}

function answerOf([name, ...given]: readonly unknown[], intl: HostIntl): unknown {
  const values = given.map(valueOf)
  const text = (at: number) => String(values[at])
  switch (name) {
    case 'use':
      return intl.use(text(0), values[1], values[2], text(3), (given[4] as unknown[]).map(valueOf))
    case 'supportedLocalesOf':
      return intl.supportedLocalesOf(text(0), values[1], values[2])
    case 'canonicalLocales':
      return intl.canonicalLocales(values[0])
    case 'changeCase':
      return intl.changeCase(text(0), values[1], values[2] === true)
    default: {
      if (typeof name !== 'string' || !Object.hasOwn(HOST_WEB, name)) throw new TypeError('there is no such function')
      return (HOST_WEB[name as keyof typeof HOST_WEB] as (...values: unknown[]) => unknown)(...values)
    }
  }
}

/** The value behind `{"$": "undefined"}`, `{"$": "-0"}`, `{"$": "NaN"}`, `{"$": "12n"}`, or the JSON value itself. */
function valueOf(given: unknown): unknown {
  if (typeof given !== 'object' || given === null || !('$' in given)) return given
  const text = String(given.$)
  if (text === 'undefined') return undefined
  return text.endsWith('n') ? BigInt(text.slice(0, -1)) : Number(text)
}
