import { SettingsError } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { atMostEvery } from '../../../control-plane/src/time/at-most-every.js'
import { createSteadyClock, isoTime } from '../../../control-plane/src/time/clock.js'
import { durationOf } from '../../../control-plane/src/time/durations.js'
import { freshLook } from '../../../control-plane/src/time/fresh-look.js'
import { within } from '../../../control-plane/src/time/time-limit.js'
import { createTurns } from '../../../control-plane/src/time/turns.js'

/** Lets everything run that waits for nothing else. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('turns', () => {
  /** Who asks for turns, and who got one. */
  function asking(most: number) {
    const turns = createTurns(most)
    const got: string[] = []
    const ask = (who: string, name = 'it') => {
      const stop = new AbortController()
      let leave: (() => void) | null = null
      const taken = turns.take(name, stop.signal).then(
        (given) => {
          leave = given
          got.push(who)
        },
        (error: Error) => void got.push(`${who}: ${error.message}`),
      )
      return { leave: () => leave?.(), stop: () => stop.abort(), taken }
    }
    return { ask, got }
  }

  test('are counted also after one inside has left while nobody waited', async () => {
    const { ask, got } = asking(2)
    const [first] = [ask('1'), ask('2')]
    await settle()
    first.leave()
    ask('3')
    ask('4')
    await settle()
    expect(got).toEqual(['1', '2', '3'])
  })

  test('are given to so many at a time, and then in the order of the asking', async () => {
    const { ask, got } = asking(2)
    const [first, second] = [ask('1'), ask('2')]
    const [third] = [ask('3'), ask('4'), ask('5')]
    await settle()
    expect(got).toEqual(['1', '2'])
    first.leave()
    await settle()
    expect(got).toEqual(['1', '2', '3'])
    second.leave()
    third.leave()
    await settle()
    expect(got).toEqual(['1', '2', '3', '4', '5'])
  })

  test('of one name do not wait for those of another', async () => {
    const { ask, got } = asking(1)
    ask('1')
    ask('2')
    ask('3', 'other')
    await settle()
    expect(got).toEqual(['1', '3'])
  })

  test('are given again when everybody has left', async () => {
    const { ask, got } = asking(2)
    for (let round = 0; round < 3; round += 1) {
      const both = [ask('a'), ask('b')]
      await settle()
      for (const { leave } of both) leave()
    }
    ask('c')
    ask('d')
    ask('e')
    await settle()
    expect(got).toEqual(['a', 'b', 'a', 'b', 'a', 'b', 'c', 'd'])
  })

  test('are not waited for any longer by who gives up, and those behind keep their places', async () => {
    const { ask, got } = asking(1)
    const first = ask('1')
    const second = ask('2')
    const third = ask('3')
    const fourth = ask('4')
    third.stop()
    await settle()
    expect(got).toEqual(['1', '3: the turn did not come in time'])
    second.stop()
    await settle()
    first.leave()
    await settle()
    expect(got.slice(2)).toEqual(['2: the turn did not come in time', '4'])
    fourth.leave()
    const fifth = ask('5')
    await fifth.taken
    expect(got.at(-1)).toBe('5')
  })

  test('are not given to who had given up before', async () => {
    const { ask, got } = asking(1)
    const first = ask('1')
    await settle()
    const signal = AbortSignal.abort()
    const turns = createTurns(1)
    await turns.take('x', signal)
    await expect(turns.take('x', signal)).rejects.toThrow('the turn did not come in time')
    first.leave()
    ask('2')
    await settle()
    expect(got).toEqual(['1', '2'])
  })

  test('that come at the moment of giving up are passed on', async () => {
    const { ask, got } = asking(1)
    const first = ask('1')
    const second = ask('2')
    ask('3')
    await settle()
    // The turn of the second one comes, but it hears of the end first.
    second.stop()
    first.leave()
    await settle()
    expect(got).toEqual(['1', '2: the turn did not come in time', '3'])
  })
})

describe('a check that runs at most every second', () => {
  function checking() {
    let now = 10_000
    let begun = 0
    const ends: (() => void)[] = []
    const look = atMostEvery(1000, { now: () => now }, () => {
      begun += 1
      return new Promise((resolve) => ends.push(resolve))
    })
    const looked = async (ms: number) => {
      now += ms
      const asked = look()
      ends.splice(0).forEach((end) => end())
      await asked
      return begun
    }
    return { looked, look, begun: () => begun, end: () => ends.splice(0).forEach((one) => one()) }
  }

  test('runs at once, and again after the whole time', async () => {
    const { looked } = checking()
    expect([await looked(0), await looked(999), await looked(1), await looked(0)]).toEqual([1, 1, 2, 2])
  })

  test('runs when the clock was set back', async () => {
    const { looked } = checking()
    await looked(0)
    expect(await looked(-1)).toBe(2)
  })

  test('is shared by those who ask while it runs', async () => {
    const { look, begun, end } = checking()
    const [one, other] = [look(), look()]
    expect([begun(), one === other]).toEqual([1, true])
    end()
    await one
  })
})

test('who asks while a look runs gets the next look, and all of them the same', async () => {
  const ends: ((error?: Error) => void)[] = []
  const look = freshLook(
    () => new Promise((resolve, reject) => ends.push((error) => (error ? reject(error) : resolve()))),
  )
  const first = look()
  const [second, third] = [look(), look()]
  expect([ends.length, first === second, second === third]).toEqual([1, false, true])
  ends[0]?.(new Error('it failed'))
  await expect(first).rejects.toThrow('it failed')
  await settle()
  expect(ends).toHaveLength(2)
  const fourth = look()
  ends[1]?.()
  await second
  await settle()
  expect(ends).toHaveLength(3)
  ends[2]?.()
  await fourth
  const fifth = look()
  expect(ends).toHaveLength(4)
  ends[3]?.()
  await fifth
})

test.each([
  ['90s', 90_000],
  ['1m', 60_000],
  ['2h', 7_200_000],
  ['7d', 604_800_000],
  ['1', 1000],
  [' 30m ', 1_800_000],
  ['999999999s', 999_999_999_000],
])('%j is %i ms', (text, ms) => {
  expect(durationOf('NAME', text)).toBe(ms)
})

test.each(['', '0', '0m', '-1h', '1.5h', '1w', 'h', '1000000000s', '1h30m'])('%j is no time', (text) => {
  expect(() => durationOf('NAME', text)).toThrow(
    new SettingsError(`NAME: must be a time such as 90s, 30m, 24h or 7d, not ${JSON.stringify(text)}`),
  )
})

test('a steady clock begins with the time of the other one and does not follow its jumps', () => {
  let [wall, elapsed] = [5000, 100]
  const clock = createSteadyClock({ now: () => wall }, () => elapsed)
  expect(clock.now()).toBe(5000)
  wall = 0
  elapsed = 350
  expect(clock.now()).toBe(5250)
})

test('a time is written in UTC, and no time stays none', () => {
  expect([isoTime(0), isoTime(null)]).toEqual(['1970-01-01T00:00:00.000Z', null])
})

test('a wait ends with what it waits for, or with its limit', async () => {
  const tooLate = () => new Error('too late')
  expect(await within(60_000, Promise.resolve(7), tooLate)).toBe(7)
  await expect(within(60_000, Promise.reject(new Error('no')), tooLate)).rejects.toThrow('no')
  await expect(within(1, new Promise(() => undefined), tooLate)).rejects.toThrow('too late')
})
