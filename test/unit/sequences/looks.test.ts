import { expect, test } from 'vitest'
import type { Turn } from '../../../control-plane/src/sequences/advance.js'
import { Looks } from '../../../control-plane/src/sequences/looks.js'

const REST: Turn = { result: 'rest', others: [] }
const settle = () => new Promise((resolve) => setImmediate(resolve))

/** Looks whose steps end when the test says so. */
function heldLooks() {
  const begun: number[] = []
  const failures: [number, unknown][] = []
  const open: { end(turn: Turn): void; fail(error: Error): void }[] = []
  const looks = new Looks(
    (jobId) => {
      begun.push(jobId)
      return new Promise((resolve, reject) => open.push({ end: resolve, fail: reject }))
    },
    (jobId, error) => failures.push([jobId, error]),
  )
  return {
    looks,
    begun,
    failures,
    /** Ends the oldest step that is under way. */
    async end(turn: Turn = REST) {
      open.shift()?.end(turn)
      await settle()
    },
    async fail(error: Error) {
      open.shift()?.fail(error)
      await settle()
    },
  }
}

test('a job is looked at until it rests', async () => {
  const { looks, begun, end } = heldLooks()
  let isDone = false
  void looks.look(1).then(() => (isDone = true))
  await end({ result: 'taken', others: [] })
  await end({ result: 'taken', others: [] })
  expect([begun, isDone]).toEqual([[1, 1, 1], false])
  await end()
  expect([begun, isDone]).toEqual([[1, 1, 1], true])
})

test('who asks during a look gets one more look after it, and no second one at the same time', async () => {
  const { looks, begun, end } = heldLooks()
  const first = looks.look(1)
  looks.begin(1)
  const asked = looks.look(1)
  await settle()
  expect(begun).toEqual([1])
  await end()
  expect(begun).toEqual([1, 1])
  await end()
  await Promise.all([first, asked])
  expect(begun).toEqual([1, 1])
})

test('a job that rested is looked at again when somebody asks, and jobs do not wait for each other', async () => {
  const { looks, begun, end } = heldLooks()
  looks.begin(1)
  looks.begin(2)
  await end()
  await end()
  looks.begin(1)
  expect(begun).toEqual([1, 2, 1])
  await end()
})

test('a step that did something for other jobs has them looked at, too', async () => {
  const { looks, begun, end } = heldLooks()
  looks.begin(1)
  await end({ result: 'rest', others: [2, 3] })
  expect(begun).toEqual([1, 2, 3])
  await end()
  await end()
  await looks.allDone()
})

test('a failure is told, and the job can be looked at again', async () => {
  const { looks, begun, failures, fail, end } = heldLooks()
  const done = looks.look(1)
  const error = new Error('the database is away')
  await fail(error)
  await done
  expect(failures).toEqual([[1, error]])
  looks.begin(1)
  expect(begun).toEqual([1, 1])
  await end()
})

test('after the stop no look begins, and one that is under way ends with its step', async () => {
  const { looks, begun, end } = heldLooks()
  expect(looks.isClosed).toBe(false)
  const done = looks.look(1)
  looks.begin(1)
  looks.stop()
  expect(looks.isClosed).toBe(true)
  looks.begin(2)
  let isDone = false
  const all = looks.allDone().then(() => (isDone = true))
  await settle()
  expect(isDone).toBe(false)
  await end({ result: 'taken', others: [3] })
  await Promise.all([done, all])
  expect(begun).toEqual([1])
})
