import fc from 'fast-check'
import { MAX_PAYLOAD_BYTES } from '@holdfast/protocol'
import { expect, test } from 'vitest'
import { StreamCursor } from '../../../runner-agent/src/spool/stream-cursor.js'

/** How far one stream of a job has come on its way to the control plane. */
function cursorAt(size: number, sent = 0, stream: 'output' | 'events' = 'output'): StreamCursor {
  const cursor = new StreamCursor(stream)
  cursor.grow(size)
  cursor.advance(sent)
  return cursor
}

test.each([
  ['needs room for all of its bytes', 10, 0, 9, null],
  ['fits exactly', 10, 0, 10, { offset: 0, length: 10 }],
  ['is no larger than a frame', MAX_PAYLOAD_BYTES + 1, 0, Infinity, { offset: 0, length: MAX_PAYLOAD_BYTES }],
  ['is not there when nothing is to be sent', 0, 0, 10, null],
  ['begins after what was sent', 10, 4, 100, { offset: 4, length: 6 }],
])('the next piece %s', (_, size, sent, room, expected) => {
  expect(cursorAt(size, sent).next(room)).toEqual(expected)
})

type Act = (cursor: StreamCursor) => void
test.each<[string, Act, { sent: number; open: number; left: number; again: boolean }]>([
  ['a file that became shorter', (one) => one.grow(4), { sent: 8, open: 8, left: 0, again: false }],
  ['an acknowledgement of a part', (one) => one.acknowledge(6), { sent: 8, open: 2, left: 2, again: false }],
  [
    'an older one after it',
    (one) => [6, 2].forEach((to) => one.acknowledge(to)),
    { sent: 8, open: 2, left: 2, again: false },
  ],
  ['one of all that was sent', (one) => one.acknowledge(8), { sent: 8, open: 0, left: 2, again: false }],
  ['one of more than was sent', (one) => one.acknowledge(9), { sent: 9, open: 0, left: 1, again: true }],
  ['a limit below what was sent', (one) => one.stopAt(5), { sent: 5, open: 5, left: 0, again: true }],
  ['a limit above what was sent', (one) => one.stopAt(9), { sent: 8, open: 8, left: 1, again: true }],
  ['a rewind', (one) => one.startFrom(3), { sent: 3, open: 0, left: 7, again: true }],
])('after %s, what was sent and what is left are known', (_, act, expected) => {
  const cursor = cursorAt(10, 8)
  const { turn } = cursor
  act(cursor)
  const { sent, unacknowledged: open, remaining: left } = cursor
  // A piece that was read in an earlier turn is not sent.
  expect({ sent, open, left, again: cursor.turn > turn }).toEqual(expected)
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

test.each([
  ['output', null, { length: 12, final: false }],
  ['events', null, { length: 8, final: false }],
  ['events', 13, { length: 8, final: false }],
  ['events', 12, { length: 12, final: true }],
] as const)('of %s that end at %s, whole lines go out before the end', (stream, end, expected) => {
  const cursor = cursorAt(12, 0, stream)
  if (end !== null) cursor.endAt(end)
  expect(cursor.cut(Buffer.from('{"a":1}\n{"b"'))).toEqual(expected)
})

test('a line without its end goes out when it fills a frame, and is not read again before it grows', () => {
  const long = cursorAt(MAX_PAYLOAD_BYTES, 0, 'events')
  expect(long.cut(Buffer.alloc(MAX_PAYLOAD_BYTES, 'x')).length).toBe(MAX_PAYLOAD_BYTES)
  const half = cursorAt(4, 0, 'events')
  expect(half.cut(Buffer.from('{"b"')).length).toBe(0)
  expect([half.remaining, half.next(100)]).toEqual([0, null])
  half.grow(5)
  expect(half.remaining).toBe(5)
})

test('whatever is lost, cut and repeated, the other side gets the same bytes', () => {
  const act = fc.oneof(
    fc.record({ kind: fc.constant('append' as const), text: fc.stringMatching(/^[a-c\n]{0,20}$/) }),
    fc.record({ kind: fc.constantFrom('lose' as const, 'reconnect' as const, 'send' as const), text: fc.constant('') }),
  )
  fc.assert(
    fc.property(fc.constantFrom('output' as const, 'events' as const), fc.array(act), (stream, acts) => {
      const cursor = new StreamCursor(stream)
      let file = Buffer.alloc(0)
      let stored = Buffer.alloc(0)
      const send = (isLost: boolean): boolean => {
        const piece = cursor.next(1000)
        if (piece === null) return false
        const { length } = cursor.cut(file.subarray(piece.offset, piece.offset + piece.length))
        cursor.advance(length)
        // The rule of the control plane: a piece counts at the stored length only.
        if (isLost) return true
        if (piece.offset > stored.length) cursor.startFrom(stored.length)
        else
          stored = Buffer.concat([
            stored,
            file.subarray(piece.offset, piece.offset + length).subarray(stored.length - piece.offset),
          ])
        cursor.acknowledge(stored.length)
        return true
      }
      for (const { kind, text } of acts) {
        if (kind === 'append') {
          file = Buffer.concat([file, Buffer.from(text)])
          cursor.grow(file.length)
        } else if (kind === 'reconnect') cursor.startFrom(stored.length)
        else send(kind === 'lose')
      }
      cursor.endAt(file.length)
      cursor.startFrom(stored.length)
      while (send(false));
      expect([stored.toString(), cursor.complete]).toEqual([file.toString(), true])
    }),
  )
})
