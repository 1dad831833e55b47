import { describe, expect, test } from 'vitest'
import { startSweeps } from '../../control-plane/src/time/sweeps.js'
import type { Timers } from '../../control-plane/src/time/timers.js'

/** Sweeps whose timer and whose sweep end when the test says so. */
function heldSweeps() {
  let tick: () => void = () => undefined
  const timers: Timers = {
    after: () => () => undefined,
    every: (_, run) => {
      tick = run
      return () => (tick = () => undefined)
    },
  }
  const ends: ((error?: Error) => void)[] = []
  const warnings: string[] = []
  let begun = 0
  const sweeps = startSweeps(
    { timers, log: { warn: (_, text) => void warnings.push(text) } },
    {
      everyMs: 1000,
      failure: 'it failed',
      sweep: () => {
        begun += 1
        return new Promise((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve())))
      },
    },
  )
  return { sweeps, warnings, tick: () => tick(), begun: () => begun, end: (error?: Error) => ends.shift()?.(error) }
}

/** Lets everything run that waits for nothing else. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('sweeps', () => {
  test('that take longer than their period do not queue up: at most one waits', async () => {
    const held = heldSweeps()
    await settle()
    expect(held.begun()).toBe(1)
    for (let period = 0; period < 20; period += 1) held.tick()
    held.end()
    await settle()
    expect(held.begun()).toBe(2)
    held.end()
    await settle()
    expect(held.begun()).toBe(2)
    held.tick()
    await settle()
    expect(held.begun()).toBe(3)
    held.end()
    await held.sweeps.close()
  })

  test('that a caller waits for begin when the current one has ended, and end for the caller as they end', async () => {
    const held = heldSweeps()
    await settle()
    const course: string[] = []
    const done = held.sweeps.inTurn(() => Promise.resolve(void course.push('ran')))
    const failed = held.sweeps.inTurn(() => Promise.reject(new Error('no')))
    const after = held.sweeps.inTurn(() => Promise.resolve(void course.push('after')))
    await settle()
    expect(course).toEqual([])
    held.end()
    await done
    await expect(failed).rejects.toThrow('no')
    await after
    expect(course).toEqual(['ran', 'after'])
    expect(held.warnings).toEqual([])
    await held.sweeps.close()
  })

  test('that failed are logged, and the next one begins', async () => {
    const held = heldSweeps()
    await settle()
    held.end(new Error('the disk is full'))
    await settle()
    expect(held.warnings).toEqual(['it failed; tried again later'])
    held.tick()
    await settle()
    expect(held.begun()).toBe(2)
    held.end()
    await held.sweeps.close()
  })
})
