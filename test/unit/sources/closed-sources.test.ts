import { expect, test } from 'vitest'
import type { Functions } from '../../../control-plane/src/sources/functions.js'
import type { Asked } from '../../../control-plane/src/sources/question.js'
import { createSources } from '../../../control-plane/src/sources/sources.js'
import { heldTimers } from '../../api/held-timers.js'

const STOPPING = { ok: false, reason: 'the service is stopping' }
const asker = { mayUse: () => true, mayReuse: true }
const asked = (name: string, keepMs: number | null = null): Asked => ({
  question: { kind: 'function', name, given: [], template: `${name}()` },
  field: 'f',
  keepMs,
})

/** Sources whose functions answer when the test says so, with times that only the test moves. */
function held() {
  const { timers, move } = heldTimers()
  const calls: { name: string; answer: (value: unknown) => void; fail: (error: Error) => void }[] = []
  const functions: Functions = {
    call: ({ name }) => new Promise((answer, fail) => calls.push({ name, answer, fail })),
    rightsIn: () => '',
    close: () => Promise.resolve(),
  }
  const log = { warn: () => undefined }
  const clock = { ms: 0 }
  const steady = { now: () => clock.ms }
  const sources = createSources({ functions, databases: null, timers, steady, log, limitMs: 5000 })
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
