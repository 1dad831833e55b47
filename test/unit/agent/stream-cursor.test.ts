import { MAX_PAYLOAD_BYTES } from '@holdfast/protocol'
import { describe, expect, test } from 'vitest'
import { StreamCursor } from '../../../runner-agent/src/spool/stream-cursor.js'

/** How far one stream of a job has come on its way to the control plane. */
function cursorAt(size: number, sent = 0, stream: 'output' | 'events' = 'output'): StreamCursor {
  const cursor = new StreamCursor(stream)
  cursor.grow(size)
  cursor.advance(sent)
  return cursor
}

test('a file that has the same length as before did not grow', () => {
  const cursor = new StreamCursor('output')
  expect([cursor.grow(0), cursor.grow(5), cursor.grow(5), cursor.grow(3)]).toEqual([false, true, false, true])
  expect(cursor.remaining).toBe(3)
})

test('nothing remains of a file that is shorter than what was sent of it', () => {
  const cursor = cursorAt(10, 10)
  cursor.grow(4)
  expect([cursor.remaining, cursor.next(100)]).toEqual([0, null])
})

describe('the next piece', () => {
  test.each([
    ['needs room for all of its bytes', 10, 9, null],
    ['fits exactly', 10, 10, { offset: 0, length: 10 }],
    ['is no larger than a frame', MAX_PAYLOAD_BYTES + 1, Infinity, { offset: 0, length: MAX_PAYLOAD_BYTES }],
    ['is not there when nothing is to be sent', 0, 10, null],
  ])('%s', (_, size, room, expected) => {
    expect(cursorAt(size).next(room)).toEqual(expected)
  })

  test('begins after what was sent', () => {
    expect(cursorAt(10, 4).next(100)).toEqual({ offset: 4, length: 6 })
  })
})

describe('an acknowledgement', () => {
  test('of less than an earlier one changes nothing', () => {
    const cursor = cursorAt(10, 8)
    cursor.acknowledge(6)
    cursor.acknowledge(2)
    expect([cursor.unacknowledged, cursor.sent]).toEqual([2, 8])
  })

  test('of exactly what was sent lets a piece go on that was read before', () => {
    const cursor = cursorAt(10, 8)
    const { turn } = cursor
    cursor.acknowledge(8)
    expect([cursor.turn, cursor.sent, cursor.unacknowledged]).toEqual([turn, 8, 0])
  })

  test('of more than was sent goes on from there, and a piece that was read before is not sent', () => {
    const cursor = cursorAt(10, 4)
    const { turn } = cursor
    cursor.acknowledge(9)
    expect([cursor.sent, cursor.unacknowledged]).toEqual([9, 0])
    expect(cursor.turn).toBeGreaterThan(turn)
  })
})

describe('a limit of the control plane', () => {
  test('takes back what was sent beyond it, and nothing more is to be sent', () => {
    const cursor = cursorAt(10, 8)
    const { turn } = cursor
    cursor.stopAt(5)
    expect([cursor.sent, cursor.unacknowledged, cursor.remaining]).toEqual([5, 5, 0])
    expect(cursor.turn).toBeGreaterThan(turn)
    cursor.grow(20)
    expect(cursor.remaining).toBe(0)
  })

  test('above what was sent leaves the bytes up to it', () => {
    const cursor = cursorAt(10, 2)
    cursor.stopAt(5)
    expect([cursor.sent, cursor.next(100)]).toEqual([2, { offset: 2, length: 3 }])
  })

  test('lets the stream be complete, and does not count after a rewind', () => {
    const cursor = cursorAt(10, 5)
    cursor.endAt(10)
    expect(cursor.complete).toBe(false)
    cursor.stopAt(5)
    expect(cursor.complete).toBe(true)
    cursor.startFrom(3)
    expect([cursor.complete, cursor.remaining, cursor.unacknowledged]).toEqual([false, 7, 0])
  })
})

test.each([
  ['before its end is known', null, 10, false],
  ['when a byte is missing', 10, 9, false],
  ['when all was sent', 10, 10, true],
])('%s a stream is complete or not', (_, end, sent, expected) => {
  const cursor = cursorAt(10, sent)
  if (end !== null) cursor.endAt(end)
  expect(cursor.complete).toBe(expected)
})

describe('what was read', () => {
  const lines = Buffer.from('{"a":1}\n{"b"')

  test('goes out as it is when it is output', () => {
    expect(cursorAt(12).cut(lines)).toEqual({ length: 12, final: false })
  })

  test('goes out up to the last whole line when it is events', () => {
    expect(cursorAt(12, 0, 'events').cut(lines)).toEqual({ length: 8, final: false })
  })

  test.each([
    ['one byte before the end', 13, { length: 8, final: false }],
    ['at the end', 12, { length: 12, final: true }],
    ['beyond the end', 11, { length: 12, final: true }],
  ])('of events is all of it at the end of the stream: %s', (_, end, expected) => {
    const cursor = cursorAt(12, 0, 'events')
    cursor.endAt(end)
    expect(cursor.cut(lines)).toEqual(expected)
  })

  test.each([
    ['waits for its rest while it is shorter than a frame', MAX_PAYLOAD_BYTES - 1, 0],
    ['goes out when it fills a frame', MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES],
  ])('of a line without its end %s', (_, size, length) => {
    const cursor = cursorAt(size, 0, 'events')
    expect(cursor.cut(Buffer.alloc(size, 'x'))).toEqual({ length, final: false })
  })

  test('of a line without its end is not read again before the file has grown, or the stream has ended', () => {
    const half = Buffer.from('{"b"')
    const grown = cursorAt(4, 0, 'events')
    grown.cut(half)
    expect([grown.remaining, grown.next(100)]).toEqual([0, null])
    grown.grow(5)
    expect(grown.remaining).toBe(5)
    const ended = cursorAt(4, 0, 'events')
    ended.cut(half)
    ended.endAt(4)
    expect(ended.remaining).toBe(4)
    const again = cursorAt(4, 0, 'events')
    again.cut(half)
    again.startFrom(0)
    expect(again.remaining).toBe(4)
  })
})
