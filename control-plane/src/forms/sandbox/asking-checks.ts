import { setMaxListeners } from 'node:events'
import { setImmediate as letOthersRun } from 'node:timers/promises'
import { HoldfastError, InvalidInputError } from '../../errors.js'
import type { Timers } from '../../time/timers.js'
import { type Answer, type Asked, type Asker, questionKeyOf } from '../../sources/question.js'
import type { Sources } from '../../sources/sources.js'
import type { CheckInput, CheckResult } from '../check/context.js'
import type { LaunchChecks } from './launch-checks.js'

/** How the sources of a check are asked. */
export interface Asking extends Asker {
  /** How long the check waits for all sources together, in milliseconds. */
  readonly waitMs: number
}

/** Checks values, and asks the sources that fields need for it. */
export type AskingChecks = ReturnType<typeof createAskingChecks>

/** How long a launch waits for its sources together, in milliseconds. */
export const LAUNCH_WAIT_MS = 60_000
/** Most questions of one check. A form whose questions change in each round would ask without end. */
const MAX_QUESTIONS = 1000
const MAX_ROUNDS = 100

/**
 * A check is done in rounds. Each round computes all fields with the known answers, and returns the open questions. All
 * of them are asked at the same time, outside of the sandbox. Each answer begins the next round. So fields that depend
 * on one field go on while another field still waits. A round takes milliseconds.
 */
export function createAskingChecks(checks: Pick<LaunchChecks, 'check'>, sources: Sources, timers: Timers) {
  return {
    /**
     * If a source does not answer in time, its field is under `waiting`, with the reason.
     * @throws TooManyError when this caller has too many waiting, UnavailableError when the service stops,
     * InvalidInputError when the signal is aborted while the check waits for its turn
     */
    async check(input: CheckInput, asking: Asking): Promise<CheckResult> {
      const answers = new Map<string, Answer>()
      const running = new Map<string, Promise<void>>()
      let isOver = false
      // With the end of the check its questions belong to those who wait for them, too. Without such they soon end.
      const left = new AbortController()
      // Each question listens, and there may be many.
      setMaxListeners(0, left.signal)
      const begin = (asked: Asked) => {
        const key = questionKeyOf(asked.question)
        if (running.has(key) || answers.has(key)) return
        if (running.size + answers.size >= MAX_QUESTIONS) {
          answers.set(key, { ok: false, reason: `the form asks more than ${MAX_QUESTIONS} questions` })
          return
        }
        const answered = sources.ask(asked, { ...asking, signal: left.signal }).then((answer) => {
          answers.set(key, answer)
          running.delete(key)
        })
        running.set(key, answered)
      }

      let cancel: () => void = () => undefined
      const end = new Promise<void>((resolve) => {
        const stop = () => {
          isOver = true
          resolve()
        }
        const cancelTimer = timers.after(asking.waitMs, stop)
        // The caller may be gone before the check begins.
        if (asking.signal?.aborted) stop()
        asking.signal?.addEventListener('abort', stop, { once: true })
        cancel = () => {
          cancelTimer()
          asking.signal?.removeEventListener('abort', stop)
        }
      })
      try {
        for (let round = 1; ; round += 1) {
          const before = answers.size
          const result = await checkInTurn({ ...input, answers }, asking)
          const asked = result.asked ?? []
          asked.forEach(begin)
          if (asked.length === 0 || isOver || round === MAX_ROUNDS) return result
          // A refusal of further questions counts as an answer that is known at once.
          if (answers.size === before) await Promise.race([...running.values(), end])
          // Answers that arrive together cause only one round.
          await letOthersRun()
        }
      } finally {
        cancel()
        left.abort()
      }
    },
  }

  async function checkInTurn(input: CheckInput, { caller, signal }: Asking): Promise<CheckResult> {
    try {
      return await checks.check(input, caller, signal)
    } catch (error) {
      if (error instanceof HoldfastError || !signal?.aborted) throw error
      throw new InvalidInputError('client_gone', 'The request was closed before its values were checked')
    }
  }
}
