import { SettingsError } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { atMostEvery } from '../../../control-plane/src/time/at-most-every.js'
import { durationOf } from '../../../control-plane/src/time/durations.js'
import { freshLook } from '../../../control-plane/src/time/fresh-look.js'
import { type Callers, createCallers } from '../../../control-plane/src/time/callers.js'
import { type TurnOptions, createTurns } from '../../../control-plane/src/time/turns.js'

/** Lets everything run that waits for nothing else. */
const settle = () => new Promise((resolve) => setImmediate(resolve))

describe('turns', () => {
  /** Who asks for turns, and who got one. A name such as `ann 2` is of the caller `ann`. */
  function asking(options: TurnOptions) {
    const turns = createTurns(options)
    const got: string[] = []
    const leaving = new Map<string, () => void>()
    const ask = (who: string, name = 'it', callers: string | Callers = who.split(' ')[0] ?? '') => {
      const stop = new AbortController()
      void turns.take(name, callers, stop.signal).then(
        (leave) => {
          leaving.set(who, leave)
          got.push(who)
        },
        (error: Error) => got.push(`${who}: ${error.message}`),
      )
      return () => stop.abort()
    }
    const leave = async (who: string) => {
      leaving.get(who)?.()
      await settle()
    }
    return { ask, got, leave }
  }
  const short = (most: number) => asking({ most, isShort: true })
  const LATE = 'the turn did not come in time'

  test('are given to so many at a time, and to one caller in the order of the asking', async () => {
    const { ask, got, leave } = short(2)
    for (const who of ['a 1', 'a 2', 'a 3', 'a 4', 'a 5']) ask(who)
    await settle()
    expect(got).toEqual(['a 1', 'a 2'])
    await leave('a 1')
    expect(got).toEqual(['a 1', 'a 2', 'a 3'])
    await leave('a 3')
    await leave('a 2')
    expect(got).toEqual(['a 1', 'a 2', 'a 3', 'a 4', 'a 5'])
  })

  test('of one name do not wait for those of another', async () => {
    const { ask, got } = short(1)
    ask('a 1')
    ask('a 2')
    ask('a 3', 'other')
    await settle()
    expect(got).toEqual(['a 1', 'a 3'])
  })

  test('are for the caller who has fewest, then for the one who waits longest', async () => {
    const { ask, got, leave } = short(1)
    for (const who of ['a 1', 'a 2', 'a 3', 'a 4', 'b 1', 'c 1', 'b 2']) ask(who)
    await settle()
    for (let turn = 0; turn < 7; turn += 1) await leave(got.at(-1) ?? '')
    expect(got).toEqual(['a 1', 'b 1', 'c 1', 'a 2', 'b 2', 'a 3', 'a 4'])
    const two = short(2)
    for (const who of ['a 1', 'a 2', 'a 3', 'b 1', 'b 2']) two.ask(who)
    await settle()
    await two.leave('a 1')
    await two.leave('a 2')
    expect(two.got).toEqual(['a 1', 'a 2', 'b 1', 'a 3'])
  })

  test('of slow work leave free as many places as one caller has, and everybody finds one', async () => {
    const { ask, got, leave } = asking({ most: 8 })
    for (const who of ['a 1', 'a 2', 'a 3', 'a 4', 'a 5', 'a 6']) ask(who)
    await settle()
    expect(got).toEqual(['a 1', 'a 2', 'a 3', 'a 4'])
    for (const who of ['b 1', 'b 2', 'b 3', 'c 1', 'c 2', 'd 1', 'e 1']) ask(who)
    await settle()
    expect(got.slice(4)).toEqual(['b 1', 'b 2', 'c 1', 'd 1'])
    await leave('a 1')
    expect(got.slice(8)).toEqual(['e 1'])
    for (const who of ['a 2', 'a 3', 'a 4', 'b 1', 'b 2', 'c 1', 'd 1', 'e 1']) await leave(who)
    expect(new Set(got.slice(9))).toEqual(new Set(['a 5', 'a 6', 'b 3', 'c 2']))
  })

  test('are not waited for any longer by who gives up, and those behind keep their places', async () => {
    const { ask, got, leave } = short(1)
    ask('a 1')
    const [second, third] = [ask('a 2'), ask('a 3')]
    ask('a 4')
    third()
    await settle()
    expect(got).toEqual(['a 1', `a 3: ${LATE}`])
    second()
    await leave('a 1')
    expect(got.slice(2)).toEqual([`a 2: ${LATE}`, 'a 4'])
    await leave('a 4')
    ask('a 5')
    await settle()
    expect(got.at(-1)).toBe('a 5')
  })

  test('that come at the moment of giving up are passed on', async () => {
    const { ask, got, leave } = short(1)
    ask('a 1')
    const stop = ask('a 2')
    ask('a 3')
    await settle()
    stop()
    await leave('a 1')
    expect(got).toEqual(['a 1', `a 2: ${LATE}`, 'a 3'])
  })

  test('for work that several share come with the first turn of one of them', async () => {
    const { ask, got, leave } = asking({ most: 2 })
    const callers = createCallers('a')
    ask('a 1')
    ask('a 2')
    ask('shared', 'it', callers)
    await settle()
    expect(got).toEqual(['a 1'])
    // A place is free, and it is for another caller.
    callers.join('b')
    await settle()
    expect(got).toEqual(['a 1', 'shared'])
    await leave('shared')
    const others = createCallers('a')
    others.join('b')
    others.leave('b')
    ask('a 3', 'it', others)
    await settle()
    expect(got).toEqual(['a 1', 'shared'])
    others.leave('a')
    expect([...others.keys]).toEqual(['a'])
  })

  test('are refused to what came last of a caller with too many, or of the one who has most', async () => {
    const waiting = { ofOne: 3, ofAll: 5, tooMany: () => new Error('too many') }
    const { ask, got } = asking({ most: 1, waiting })
    for (const who of ['a 1', 'a 2', 'a 3', 'a 4', 'a 5', 'b 1', 'b 2', 'c 1', 'c 2', 'c 3']) ask(who)
    await settle()
    expect(got).toEqual(['a 1', 'a 5: too many', 'a 4: too many', 'c 2: too many', 'c 3: too many'])
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
