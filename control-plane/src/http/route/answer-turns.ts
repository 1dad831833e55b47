import type { FastifyRequest } from 'fastify'
import { createTurns } from '../../time/turns.js'
import { callerOf } from './guards.js'

/** Parts of long answers that are made at once. One person has half of these places at most. */
const MAX_AT_ONCE = 4
/** Long answers of one person that are open at once. Each keeps up to 1 MiB in memory while it waits for its reader. */
const MAX_OPEN_OF_ONE = 50

/** The turns of one long answer. */
export interface AnswerTurn {
  /** Waits until the person may have one more open answer. Returns the function to call when it has ended. */
  begin(): Promise<() => void>
  /** Makes one part of the answer when its turn comes. */
  inTurn<Result>(work: () => Promise<Result>): Promise<Result>
}

/** Gives the turns of an answer to a request. */
export type AnswerTurns = (request: FastifyRequest) => AnswerTurn

/**
 * Makes the turns of long answers. A person who asks for many of them gets no more turns than a person who asks for one.
 * A turn ends with its part, so an answer that waits for its reader has none.
 */
export function createAnswerTurns(): AnswerTurns {
  const parts = createTurns({ most: MAX_AT_ONCE })
  const open = createTurns({ most: MAX_OPEN_OF_ONE, isShort: true })
  return (request) => {
    const { type, username } = callerOf(request)
    const person = `${type}/${username}`
    return {
      begin: () => open.take(person, person),
      async inTurn(work) {
        const leave = await parts.take('', person)
        try {
          return await work()
        } finally {
          leave()
        }
      },
    }
  }
}
