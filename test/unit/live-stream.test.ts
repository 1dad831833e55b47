import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIVE_NAMES, type LiveName } from '../../control-plane/src/live/live-events.js'
import { type LiveStream, createLiveStream } from '../../control-plane/src/live/stream.js'
import { heldTimers } from '../api/held-timers.js'
import { covers } from '../interface/covers.js'

let held: ReturnType<typeof heldTimers>
let written: string[]
let accepts: boolean
let alive: () => Promise<boolean>
let ended: number
let stream: LiveStream

beforeEach(() => {
  held = heldTimers()
  written = []
  accepts = true
  alive = () => Promise.resolve(true)
  ended = 0
  stream = open()
})

function open(): LiveStream {
  const reader = {
    write(text: string) {
      written.push(text)
      return accepts
    },
    end() {
      ended += 1
    },
    isAlive: () => alive(),
  }
  return createLiveStream(reader, { timers: held.timers, version: '9' })
}

const names = () => written.flatMap((text) => /"name":"(\w+)"/.exec(text)?.[1] ?? [])
const pings = () => written.filter((text) => text === ': ping\n\n').length
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

test('hello comes first and asks for three seconds', () => {
  expect(written).toEqual(['retry: 3000\nevent: hello\ndata: {"version":"9"}\n\n'])
})

describe('changes', () => {
  test('the first goes at once, as an event of one name', () => {
    stream.changed('jobs')
    expect(written[1]).toBe('event: changed\ndata: {"name":"jobs"}\n\n')
  })

  test('more within the second become one at its end', () => {
    for (let count = 0; count < 10; count += 1) stream.changed('jobs')
    expect(names()).toEqual(['jobs'])
    held.move(1000)
    expect(names()).toEqual(['jobs'])
    held.move(100)
    expect(names()).toEqual(['jobs', 'jobs'])
    held.move(10_000)
    expect(names()).toEqual(['jobs', 'jobs'])
  })

  test('names do not wait for each other', () => {
    for (const name of LIVE_NAMES) stream.changed(name)
    expect(names()).toEqual([...LIVE_NAMES])
  })

  test('after a quiet second the next goes at once again', () => {
    stream.changed('jobs')
    held.move(1100)
    stream.changed('jobs')
    expect(names()).toEqual(['jobs', 'jobs'])
  })

  test('whatever happens: never two of a name within a second, and the last change is always told', () => {
    covers('live-2.rate', 'limit.event-rate', 'live-detail.first-and-last')
    const step = fc.record({ wait: fc.integer({ min: 0, max: 1500 }), name: fc.constantFrom(...LIVE_NAMES) })
    const slow = fc.record({ wait: fc.integer({ min: 0, max: 900 }), drains: fc.boolean() })
    fc.assert(
      fc.property(fc.array(fc.oneof(step, slow), { maxLength: 60 }), (steps) => {
        held = heldTimers()
        written = []
        accepts = true
        const one = open()
        let time = 0
        const sent: { name: LiveName; at: number }[] = []
        const lastChange = new Map<LiveName, number>()
        const move = (ms: number) => {
          // Small steps, so that the time of what timers write is known.
          for (let left = ms; left > 0; left -= 10) {
            time += Math.min(10, left)
            held.move(Math.min(10, left))
            note()
          }
        }
        const note = () => {
          for (const name of names().slice(sent.length)) sent.push({ name: name as LiveName, at: time })
        }
        for (const action of steps) {
          move(action.wait)
          if ('name' in action) {
            one.changed(action.name)
            lastChange.set(action.name, time)
          } else {
            accepts = action.drains
            if (action.drains) one.drained()
          }
          note()
        }
        accepts = true
        one.drained()
        note()
        move(1500)
        for (const name of LIVE_NAMES) {
          const times = sent.filter((event) => event.name === name).map((event) => event.at)
          times.slice(1).forEach((at, index) => expect(at - (times[index] ?? 0)).toBeGreaterThanOrEqual(1000))
          const last = lastChange.get(name)
          if (last !== undefined) expect(times.at(-1)).toBeGreaterThanOrEqual(last)
        }
        one.close()
      }),
    )
  })
})

describe('a slow reader', () => {
  test('gets nothing more until it has drained, then every name once', () => {
    accepts = false
    stream.changed('jobs')
    const before = written.length
    for (let count = 0; count < 1000; count += 1) for (const name of LIVE_NAMES) stream.changed(name)
    held.move(5000)
    expect(written).toHaveLength(before)
    accepts = true
    stream.drained()
    expect(names().slice(1).sort()).toEqual([...LIVE_NAMES].sort())
  })

  test('is given up after a minute of silence', () => {
    accepts = false
    stream.changed('jobs')
    held.move(59_000)
    expect(ended).toBe(0)
    held.move(1000)
    expect(ended).toBe(1)
    expect(pings()).toBe(0)
    expect(held.count()).toBe(0)
  })

  test('that reads now and then is kept', () => {
    for (let minute = 0; minute < 10; minute += 1) {
      accepts = false
      stream.changed('jobs')
      held.move(50_000)
      accepts = true
      stream.drained()
      held.move(10_000)
    }
    expect(ended).toBe(0)
  })
})

describe('pings', () => {
  test('come every fifteen seconds', () => {
    held.move(14_999)
    expect(pings()).toBe(0)
    held.move(1)
    expect(pings()).toBe(1)
    held.move(60_000)
    expect(pings()).toBe(5)
  })

  test('end the stream when the session is over', async () => {
    alive = () => Promise.resolve(false)
    held.move(15_000)
    await settled()
    expect(ended).toBe(1)
    const before = written.length
    stream.changed('jobs')
    stream.drained()
    held.move(60_000)
    expect([written.length, ended, held.count()]).toEqual([before, 1, 0])
  })
})

test('closing ends it once and takes every timer along', () => {
  stream.changed('jobs')
  stream.changed('jobs')
  stream.close()
  stream.close()
  expect([ended, held.count()]).toEqual([1, 0])
  stream.changed('jobs')
  expect(names()).toEqual(['jobs'])
})
