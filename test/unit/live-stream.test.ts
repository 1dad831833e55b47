import fc from 'fast-check'
import { expect, test } from 'vitest'
import { LIVE_NAMES, type LiveName } from '../../control-plane/src/live/live-events.js'
import { createPings } from '../../control-plane/src/live/pings.js'
import { createLiveStream } from '../../control-plane/src/live/stream.js'
import { heldTimers } from '../api/held-timers.js'
import { covers } from '../interface/covers.js'

/** A stream whose reader takes everything while `accepts` says so. */
function opened() {
  const { timers, move, count } = heldTimers()
  const state = { accepts: true, written: [] as string[], ends: 0 }
  const write = (text: string) => {
    state.written.push(text)
    return state.accepts
  }
  const pings = createPings({ timers, aliveOf: async (ids) => new Set(ids), onFailure: () => undefined })
  const reader = { sessionId: 'ann', write, end: () => void (state.ends += 1) }
  const stream = createLiveStream(reader, { timers, pings, hello: { version: '9', database: 'd' } })
  const names = () => state.written.flatMap((text) => /"name":"(\w+)"/.exec(text)?.[1] ?? [])
  return { stream, state, names, move, count }
}

test('a name is sent at most once a second, and the last change is always sent', () => {
  covers('live-2.rate', 'limit.event-rate', 'live-detail.first-and-last')
  const step = fc.record({ wait: fc.integer({ min: 0, max: 1500 }), name: fc.constantFrom(...LIVE_NAMES) })
  const slow = fc.record({ wait: fc.integer({ min: 0, max: 900 }), drains: fc.boolean() })
  fc.assert(
    fc.property(fc.array(fc.oneof(step, slow), { maxLength: 60 }), (steps) => {
      const { stream, state, names, move } = opened()
      let time = 0
      const sent: { name: LiveName; at: number }[] = []
      const lastChange = new Map<LiveName, number>()
      const note = () => {
        for (const name of names().slice(sent.length)) sent.push({ name: name as LiveName, at: time })
      }
      const pass = (ms: number) => {
        // Small steps, so that the time of what timers write is known.
        for (let left = ms; left > 0; left -= 10) {
          time += Math.min(10, left)
          move(Math.min(10, left))
          note()
        }
      }
      const drain = () => {
        state.accepts = true
        stream.drained()
      }
      for (const action of steps) {
        pass(action.wait)
        if ('name' in action) {
          stream.changed(action.name)
          lastChange.set(action.name, time)
        } else if (action.drains) drain()
        else state.accepts = false
        note()
      }
      drain()
      note()
      pass(1500)
      for (const name of LIVE_NAMES) {
        const times = sent.filter((event) => event.name === name).map((event) => event.at)
        times.slice(1).forEach((at, index) => expect(at - (times[index] ?? 0)).toBeGreaterThanOrEqual(1000))
        const last = lastChange.get(name)
        if (last !== undefined) expect(times.at(-1)).toBeGreaterThanOrEqual(last)
      }
      stream.close()
    }),
  )
})

test('a reader that reads from time to time stays, and one that does not read for long is disconnected', () => {
  const { stream, state, move, count } = opened()
  for (let minute = 0; minute < 10; minute += 1) {
    state.accepts = false
    stream.changed('jobs')
    move(50_000)
    state.accepts = true
    stream.drained()
    move(10_000)
  }
  expect(state.ends).toBe(0)
  state.accepts = false
  stream.changed('jobs')
  move(120_000)
  expect([state.ends, count()]).toEqual([1, 0])
})
