import { describe, expect, test } from 'vitest'
import type { Databases } from '../../../control-plane/src/databases/query-type.js'
import type { Functions } from '../../../control-plane/src/sources/functions.js'
import { ALL_TYPED } from '../../../control-plane/src/sources/origins.js'
import type { Asked, Question } from '../../../control-plane/src/sources/question.js'
import { createSources } from '../../../control-plane/src/sources/sources.js'
import { heldTimers } from '../../api/held-timers.js'
import { allWritten } from './origins.js'

const STOPPING = { ok: false, reason: 'the service is stopping' }
const asker = { mayUse: () => true, mayReuse: true, caller: 'ann' }
const asked = (name: string, keepMs: number | null = null): Asked => ({
  question: { kind: 'function', name, given: [], origins: ALL_TYPED },
  field: 'f',
  keepMs,
})

/** Sources whose functions answer when the test says so, with times that only the test moves. */
function held(more: Partial<Functions> = {}, databases: Databases | null = null) {
  const { timers, move } = heldTimers()
  const calls: { name: string; answer: (value: unknown) => void; fail: (error: Error) => void }[] = []
  const functions: Functions = {
    call: ({ name }) => new Promise((answer, fail) => calls.push({ name, answer, fail })),
    rightsIn: () => '',
    close: () => Promise.resolve(),
    ...more,
  }
  const log = { warn: () => undefined }
  const clock = { ms: 0 }
  const steady = { now: () => clock.ms }
  const sources = createSources({ functions, databases, timers, steady, log, limitMs: 5000 })
  return { sources, calls, move, clock }
}

/** Asking takes its turn first. */
const calledTimes = async (calls: readonly unknown[], times: number) => {
  await expect.poll(() => calls.length).toBe(times)
}

test('a stop answers open questions, and all later ones', async () => {
  const { sources, calls } = held()
  const open = sources.ask(asked('fnSlow'), asker)
  await calledTimes(calls, 1)
  await sources.close()
  expect(await open).toEqual(STOPPING)
  expect(await sources.ask(asked('fnSlow'), asker)).toEqual(STOPPING)
  expect(await sources.ask(asked('fnSlow'), { ...asker, mayReuse: false })).toEqual(STOPPING)
  expect(calls).toHaveLength(1)
})

test('a source that does not answer in time is not a stop', async () => {
  const { sources, calls, move } = held()
  const open = sources.ask(asked('fnSlow'), asker)
  await calledTimes(calls, 1)
  move(5000)
  expect(await open).toEqual({ ok: false, reason: 'its source did not answer within 5 s' })
})

test('an answer is shared and kept for its time, and a failure for 3 s', async () => {
  const { sources, calls, clock } = held()
  const both = [sources.ask(asked('fnA', 10_000), asker), sources.ask(asked('fnA', 10_000), asker)]
  await calledTimes(calls, 1)
  calls[0]?.answer([1])
  expect(await Promise.all(both)).toEqual([
    { ok: true, value: [1] },
    { ok: true, value: [1] },
  ])
  clock.ms = 9_999
  expect(await sources.ask(asked('fnA'), asker)).toEqual({ ok: true, value: [1] })
  expect(calls).toHaveLength(1)

  clock.ms = 10_001
  const again = sources.ask(asked('fnA'), asker)
  await calledTimes(calls, 2)
  calls[1]?.fail(new Error('away'))
  const failed = { ok: false, reason: 'asking its source failed; the log of the service says why' }
  expect(await again).toEqual(failed)
  clock.ms += 2_999
  expect(await sources.ask(asked('fnA'), asker)).toEqual(failed)
  clock.ms += 2
  const third = sources.ask(asked('fnA'), asker)
  await calledTimes(calls, 3)
  calls[2]?.answer(undefined)
  expect(await third).toEqual({ ok: true, value: null })
})

test('an answer is kept for a minute when its field says nothing, and for a day at most', async () => {
  const { sources, calls, clock } = held()
  const ask = async (name: string, keepMs: number | null, isAsked: boolean) => {
    const before = calls.length
    const open = sources.ask(asked(name, keepMs), asker)
    if (isAsked) {
      await calledTimes(calls, before + 1)
      calls[before]?.answer(name)
    }
    expect(await open).toEqual({ ok: true, value: name })
    expect(calls).toHaveLength(before + (isAsked ? 1 : 0))
  }
  const DAY = 24 * 60 * 60_000
  await ask('fnUsual', null, true)
  await ask('fnLong', 10 * DAY, true)
  clock.ms = 59_999
  await ask('fnUsual', null, false)
  clock.ms = 60_000
  await ask('fnUsual', null, true)
  clock.ms = DAY - 1
  await ask('fnLong', 10 * DAY, false)
  clock.ms = DAY
  await ask('fnLong', 10 * DAY, true)
})

test('one source gets four questions of one person at a time and eight of all, and others do not wait for it', async () => {
  const { sources, calls } = held()
  const askers = { ...asker, mayReuse: false }
  const url = (host: string, path: number) => ['get', `https://${host}/${path}`]
  const rest = (host: string, path: number): Asked => ({
    ...asked(''),
    question: { kind: 'function', name: 'fnRestBasic', given: url(host, path), origins: ALL_TYPED },
  })
  const ask = (caller: string, path: number) => sources.ask(rest('one.test', path), { ...askers, caller })
  const open = Array.from({ length: 5 }, (_, path) => ask('ann', path))
  await calledTimes(calls, 4)
  open.push(sources.ask(rest('other.test', 0), askers), sources.ask(asked('fnJq'), askers))
  await calledTimes(calls, 6)
  open.push(...['bob', 'bob', 'cem', 'dan', 'eve', 'fay'].map((caller, at) => ask(caller, at + 5)))
  await calledTimes(calls, 10)
  calls[0]?.answer(1)
  await calledTimes(calls, 11)
  for (const call of [...calls]) call.answer(1)
  await calledTimes(calls, 13)
  for (const call of calls) call.answer(1)
  expect(await Promise.all(open)).toEqual(open.map(() => ({ ok: true, value: 1 })))
})

test('a launch always asks anew, and who has other rights gets no answer of others', async () => {
  const { sources, calls } = held({ rightsIn: (_, { mayUse }) => String(mayUse('svc')) })
  const ask = async (more: Partial<typeof asker>) => {
    const before = calls.length
    const open = sources.ask(asked('fnA', 1000), { ...asker, ...more })
    await new Promise((resolve) => setImmediate(resolve))
    const isAsked = calls.length > before
    calls[before]?.answer(before)
    return [isAsked, await open]
  }
  expect(await ask({})).toEqual([true, { ok: true, value: 0 }])
  expect(await ask({})).toEqual([false, { ok: true, value: 0 }])
  expect(await ask({ mayReuse: false })).toEqual([true, { ok: true, value: 1 }])
  expect(await ask({ mayUse: () => false })).toEqual([true, { ok: true, value: 2 }])
})

describe('a question to a database', () => {
  const query: Asked = {
    field: 'f',
    keepMs: null,
    question: { kind: 'query', config: 'main', origins: allWritten('main'), text: 'select 1', values: { a: 1 } },
  }

  test('is refused without databases', async () => {
    expect(await held().sources.ask(query, asker)).toEqual({ ok: false, reason: 'this service cannot ask databases' })
  })

  test('is refused when a value chose a database that the asker may not use', async () => {
    const chosen = { ...query, question: { ...query.question, origins: ALL_TYPED } as Question }
    const databases = { ask: () => Promise.reject(new Error('not asked')), close: () => Promise.resolve() }
    expect(await held({}, databases).sources.ask(chosen, { ...asker, mayUse: () => false })).toEqual({
      ok: false,
      reason: "your roles do not allow the credential 'main'",
    })
  })

  test('has its rows as the answer, unless there are more than a form may get', async () => {
    const answers = [
      { rows: [{ n: 1 }], truncated: false },
      { rows: [{ n: 1 }], truncated: true },
    ]
    const values: unknown[] = []
    const databases: Databases = {
      ask({ value }) {
        values.push(value('a'), value('b'), value('toString'))
        const next = answers.shift()
        return next ? Promise.resolve(next) : Promise.reject(new Error('the database is away'))
      },
      close: () => Promise.resolve(),
    }
    const { sources } = held({}, databases)
    const ask = () => sources.ask(query, { ...asker, mayReuse: false })
    expect(await ask()).toEqual({ ok: true, value: [{ n: 1 }] })
    expect(await ask()).toEqual({ ok: false, reason: 'the database has more than the 1 rows that a form may get' })
    expect(await ask()).toEqual({ ok: false, reason: 'the database is away' })
    expect(values.slice(0, 3)).toEqual([1, null, null])
  })
})
