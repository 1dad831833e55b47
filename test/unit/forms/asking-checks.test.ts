import { setImmediate as turn } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { CheckInput, CheckResult } from '../../../control-plane/src/forms/check/context.js'
import { type Asking, createAskingChecks } from '../../../control-plane/src/forms/sandbox/asking-checks.js'
import { ALL_TYPED } from '../../../control-plane/src/sources/origins.js'
import type { Answer, Asked } from '../../../control-plane/src/sources/question.js'
import { heldTimers } from '../../api/held-timers.js'

const WAIT_MS = 5000
const question = (name: string): Asked => ({
  question: { kind: 'function', name, given: [], origins: ALL_TYPED },
  field: name,
  keepMs: null,
})

/** Checks whose rounds are scripted, and sources that answer when the test says so. */
function made(
  askedIn: (round: number, answers: ReadonlyMap<string, Answer>) => readonly string[],
  isAnswering = false,
) {
  const { timers, move, count } = heldTimers()
  const asked: string[] = []
  const open = new Map<string, (answer: Answer) => void>()
  const rounds: ReadonlyMap<string, Answer>[] = []
  const checks = {
    check(input: CheckInput) {
      const answers = new Map(input.answers)
      rounds.push(answers)
      const names = askedIn(rounds.length, answers)
      const result: Partial<CheckResult> = { extravars: { round: rounds.length } }
      return Promise.resolve({ ...result, ...(names.length > 0 ? { asked: names.map(question) } : {}) } as CheckResult)
    },
  }
  const sources = {
    ask({ field }: Asked): Promise<Answer> {
      asked.push(field)
      if (isAnswering) return Promise.resolve({ ok: true, value: field })
      return new Promise((resolve) => open.set(field, resolve))
    },
  }
  const { check } = createAskingChecks(checks, sources as never, timers)
  const start = (more: Partial<Asking> = {}) =>
    check({} as CheckInput, { caller: 'ann', waitMs: WAIT_MS, mayUse: () => true, mayReuse: false, ...more })
  const answer = async (...names: string[]) => {
    for (const name of names) {
      open.get(name)?.({ ok: true, value: name })
      // The next one comes a little later, but in the same turn.
      for (let at = 0; at < 5; at += 1) await Promise.resolve()
    }
    for (let at = 0; at < 10; at += 1) await turn()
  }
  return { start, answer, asked, rounds, move, count }
}
const valuesOf = (answers: ReadonlyMap<string, Answer>) =>
  [...answers.values()].map((answer) => (answer.ok ? answer.value : answer.reason))

test('a check that asks nothing is one round, and leaves no timer', async () => {
  const { start, rounds, count } = made(() => [])
  expect((await start()).extravars).toEqual({ round: 1 })
  expect([rounds.length, count()]).toEqual([1, 0])
})

test('each answer begins the next round, answers that come together only one, and no question is asked twice', async () => {
  const { start, answer, asked, rounds, count } = made((_, answers) =>
    ['a', 'b', 'c', 'a'].filter((name) => !valuesOf(answers).includes(name)),
  )
  const result = start()
  await answer()
  await answer('a', 'b')
  expect(rounds.map(valuesOf)).toEqual([[], ['a', 'b']])
  await answer('c')
  expect((await result).extravars).toEqual({ round: 3 })
  expect(asked).toEqual(['a', 'b', 'c'])
  expect(count()).toBe(0)
})

test('when the time is over, the check ends with what is known, and sources may go on', async () => {
  const { start, answer, rounds, move, count } = made(() => ['a'])
  const result = start()
  await answer()
  move(WAIT_MS - 1)
  await answer()
  expect(rounds).toHaveLength(1)
  move(1)
  expect((await result).asked).toMatchObject([{ field: 'a' }])
  expect([rounds.length, count()]).toEqual([2, 0])
})

test('nobody waits for a caller who is gone: before the check, or during it', async () => {
  const before = made(() => ['a'])
  await before.start({ signal: AbortSignal.abort() })
  expect([before.rounds.length, before.asked]).toEqual([1, ['a']])
  const during = made(() => ['a'])
  const gone = new AbortController()
  const result = during.start({ signal: gone.signal })
  await during.answer()
  gone.abort()
  await result
  expect([during.rounds.length, during.count()]).toEqual([2, 0])
})

test('a check leaves nothing behind at the signal of its caller', async () => {
  const listeners = new Set<unknown>()
  const signal = {
    aborted: false,
    addEventListener: (_: string, listener: unknown) => listeners.add(listener),
    removeEventListener: (_: string, listener: unknown) => listeners.delete(listener),
  } as unknown as AbortSignal
  const { start, answer } = made((round) => (round === 1 ? ['a'] : []))
  const result = start({ signal })
  await answer()
  expect(listeners.size).toBe(1)
  await answer('a')
  await result
  expect(listeners.size).toBe(0)
})

test('a check asks 1000 questions, and the next ones are answered by a refusal', async () => {
  const names = Array.from({ length: 1002 }, (_, at) => `q${at}`)
  const { start, answer, asked, rounds } = made((round) => (round === 1 ? names : []))
  const result = start()
  await answer()
  await result
  expect(asked).toEqual(names.slice(0, 1000))
  expect(valuesOf(rounds[1] ?? new Map())).toEqual([
    'the form asks more than 1000 questions',
    'the form asks more than 1000 questions',
  ])
})

test('questions that were answered count, too', async () => {
  const { start, asked } = made(
    (round) => Array.from({ length: round < 4 ? 400 : 0 }, (_, at) => `${round}-${at}`),
    true,
  )
  await start()
  expect(asked).toHaveLength(1000)
})

test('a form whose questions change in each round comes to its end after 100 rounds', async () => {
  const { start, rounds } = made((round) => [`q${round}`], true)
  expect((await start()).extravars).toEqual({ round: 100 })
  expect(rounds).toHaveLength(100)
})
