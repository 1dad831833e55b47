import { describe, expect, test } from 'vitest'
import { LIVE_NAMES, createLiveEvents } from '../../control-plane/src/live/live-events.js'
import { createOpenStreams } from '../../control-plane/src/live/open-streams.js'
import type { Bus, BusListener } from '../../control-plane/src/nodes/bus.js'

describe('open streams', () => {
  const owner = (session: number, user = 'ann') => ({ sessionId: String(session), user })

  test('of a session are limited, and one that ended makes room, once', () => {
    const streams = createOpenStreams(2)
    const end = streams.add(owner(1))
    streams.add(owner(1))
    expect(() => streams.add(owner(1))).toThrow(
      expect.objectContaining({
        code: 'too_many_streams',
        message: 'A session may have 2 event streams open, a user 10; close one first',
        retryAfterSeconds: 3,
      }),
    )
    streams.add(owner(2))
    end()
    end()
    streams.add(owner(1))
    expect(() => streams.add(owner(1))).toThrow('A session may have 2')
  })

  test('of a user are limited over all sessions, and others have their own', () => {
    const streams = createOpenStreams(1)
    const ends = [1, 2, 3, 4, 5].map((session) => streams.add(owner(session)))
    expect(() => streams.add(owner(6))).toThrow('a user 5; close one first')
    streams.add(owner(6, 'bob'))
    ends[0]?.()
    streams.add(owner(7))
    expect(() => streams.add(owner(8))).toThrow('a user 5')
  })

  test('have no limit when it is 0', () => {
    const streams = createOpenStreams(0)
    for (let count = 0; count < 200; count += 1) streams.add(owner(1))
  })
})

describe('what changed', () => {
  function overBus() {
    const published: unknown[] = []
    let listener: BusListener | null = null
    const bus: Bus = {
      publish: (message) => void published.push(message),
      subscribe(given) {
        listener = given
        return () => undefined
      },
      close: () => Promise.resolve(),
    }
    const live = createLiveEvents(bus)
    const heard: string[] = []
    const stop = live.subscribe((name) => void heard.push(name))
    return { live, heard, published, stop, other: () => listener }
  }

  test('has one of four names', () => {
    expect(LIVE_NAMES).toEqual(['jobs', 'appearance', 'designer', 'runners'])
  })

  test.each(LIVE_NAMES)('is told here and at every other node: %s', (name) => {
    const { live, heard, published, other } = overBus()
    live.changed(name)
    expect([heard, published]).toEqual([[name], [{ topic: 'live', name }]])
    other()?.received({ topic: 'live', name })
    expect([heard, published.length]).toEqual([[name, name], 1])
  })

  test('is everything when messages may be lost, and nothing of a name that is not known', () => {
    const { heard, other, stop } = overBus()
    other()?.received({ topic: 'live', name: 'of a later release' })
    other()?.received({ topic: 'queued', runner: 1 })
    expect(heard).toEqual([])
    other()?.missed()
    expect(heard).toEqual([...LIVE_NAMES])
    stop()
    other()?.missed()
    expect(heard).toHaveLength(4)
  })
})
