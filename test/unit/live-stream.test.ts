import fc from 'fast-check'
import { beforeEach, describe, expect, test } from 'vitest'
import { LIVE_NAMES, type LiveName } from '../../control-plane/src/live/live-events.js'
import { type Pings, createPings } from '../../control-plane/src/live/pings.js'
import { type LiveStream, createLiveStream } from '../../control-plane/src/live/stream.js'
import { heldTimers } from '../api/held-timers.js'
import { covers } from '../interface/covers.js'

let held: ReturnType<typeof heldTimers>
let written: string[]
let accepts: boolean
let pings: Pings
let sessions: Set<string>
/** Which sessions were looked up, one entry for each look. */
let looks: (readonly string[])[]
let lookFails: boolean
let failures: unknown[]
let ended: number
let stream: LiveStream

beforeEach(() => {
  held = heldTimers()
  written = []
  accepts = true
  sessions = new Set(['ann'])
  looks = []
  lookFails = false
  failures = []
  pings = pingsOf()
  ended = 0
  stream = open()
})

function pingsOf(): Pings {
  return createPings({
    timers: held.timers,
    async aliveOf(sessionIds) {
      looks.push(sessionIds)
      if (lookFails) throw new Error('the database is away')
      return new Set(sessionIds.filter((id) => sessions.has(id)))
    },
    onFailure: (error) => void failures.push(error),
  })
}

function open(sessionId = 'ann'): LiveStream {
  const reader = {
    sessionId,
    write(text: string) {
      written.push(text)
      return accepts
    },
    end() {
      ended += 1
    },
  }
  return createLiveStream(reader, { timers: held.timers, pings, hello: { version: '9', database: 'd' } })
}

const names = () => written.flatMap((text) => /"name":"(\w+)"/.exec(text)?.[1] ?? [])
const pinged = () => written.filter((text) => text === ': ping\n\n').length
const settled = () => new Promise<void>((resolve) => setImmediate(resolve))

test('hello comes first and sets the retry time to three seconds', () => {
  expect(written).toEqual(['retry: 3000\nevent: hello\ndata: {"version":"9"}\nid: d\n\n'])
})

describe('changes', () => {
  test('the first is sent at once, as an event with one name', () => {
    stream.changed('jobs')
    expect(written[1]).toBe('event: changed\ndata: {"name":"jobs"}\n\n')
  })

  test('several within the second become one at its end', () => {
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

  test('after a second without changes the next is sent at once again', () => {
    stream.changed('jobs')
    held.move(1100)
    stream.changed('jobs')
    expect(names()).toEqual(['jobs', 'jobs'])
  })

  test('a name is sent at most once a second, and the last change is always sent', () => {
    covers('live-2.rate', 'limit.event-rate', 'live-detail.first-and-last')
    const step = fc.record({ wait: fc.integer({ min: 0, max: 1500 }), name: fc.constantFrom(...LIVE_NAMES) })
    const slow = fc.record({ wait: fc.integer({ min: 0, max: 900 }), drains: fc.boolean() })
    fc.assert(
      fc.property(fc.array(fc.oneof(step, slow), { maxLength: 60 }), (steps) => {
        held = heldTimers()
        pings = pingsOf()
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
  test('gets nothing more until it has read everything, then every name once', () => {
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

  test('is disconnected after a minute without reading', () => {
    accepts = false
    stream.changed('jobs')
    held.move(59_000)
    expect(ended).toBe(0)
    held.move(1000)
    expect(ended).toBe(1)
    expect(pinged()).toBe(0)
    expect(held.count()).toBe(0)
  })

  test('stays connected when it reads from time to time', () => {
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
    expect(pinged()).toBe(0)
    held.move(1)
    expect(pinged()).toBe(1)
    held.move(60_000)
    expect(pinged()).toBe(5)
  })

  test('end the stream within a second after its session', async () => {
    sessions.clear()
    held.move(1000)
    await settled()
    expect(ended).toBe(1)
    const before = written.length
    stream.changed('jobs')
    stream.drained()
    held.move(60_000)
    expect([written.length, ended, held.count()]).toEqual([before, 1, 0])
  })
})

describe('many streams', () => {
  test('have one timer, and their sessions are looked up together, each once', async () => {
    for (let count = 0; count < 50; count += 1) open(count % 2 === 0 ? 'ann' : 'bob')
    sessions.add('bob')
    expect(held.count()).toBe(1)
    held.move(15_000)
    await settled()
    expect([pinged(), looks]).toEqual([51, [['ann', 'bob']]])
  })

  test('that were opened at different times are each pinged every fifteen seconds', () => {
    const opened = [0]
    for (let time = 0; time < 14_000; time += 700) {
      held.move(700)
      open()
      opened.push(time + 700)
    }
    held.move(15_000 - (opened.at(-1) ?? 0))
    const first = pinged()
    expect(first).toBeGreaterThan(0)
    held.move(15_000)
    expect(pinged()).toBe(first + opened.length)
    held.move(45_000)
    expect(pinged()).toBe(first + opened.length * 4)
  })

  test('end only with their own session', async () => {
    open('bob')
    sessions.add('eve')
    open('eve')
    held.move(15_000)
    await settled()
    expect(ended).toBe(1)
    held.move(15_000)
    expect(pinged()).toBe(3 + 2)
  })

  test('stay open while the sessions cannot be looked up, and the failure is reported', async () => {
    lookFails = true
    sessions.clear()
    held.move(15_000)
    await settled()
    expect([ended, failures]).toEqual([0, [new Error('the database is away')]])
    lookFails = false
    held.move(15_000)
    await settled()
    expect(ended).toBe(1)
  })

  test('stop the timer when the last one ends, and a new one starts it again', () => {
    stream.close()
    expect(held.count()).toBe(0)
    open()
    held.move(15_000)
    expect(pinged()).toBe(1)
  })
})

test('closing ends the stream once and cancels every timer', () => {
  stream.changed('jobs')
  stream.changed('jobs')
  stream.close()
  stream.close()
  expect([ended, held.count()]).toEqual([1, 0])
  stream.changed('jobs')
  expect(names()).toEqual(['jobs'])
})
