import { describe, expect, test } from 'vitest'
import { takeMarks, unfinishedMarkAt } from '../../../control-plane/src/runners/streams/output-marks.js'

/** A mark is `ESC _`, eight bytes of a word, one to seven digits, and `ESC \`. */
const WORD = [0x80, 0x81, 0xbf, 0x90, 0xa0, 0xb0, 0x88, 0x99]
const mark = (digits: readonly number[], word: readonly number[] = WORD): Buffer =>
  Buffer.concat([Buffer.from('\u001b_'), Buffer.from([...word, ...digits]), Buffer.from('\u001b\\')])
const digitsOf = (count: number): number[] => Array.from({ length: count }, () => 0x81)
const eventsIn = (piece: Buffer) => takeMarks(piece).marks.map(({ event }) => event)

describe('what is a mark', () => {
  test.each([
    [0, []],
    [1, [1]],
    [2, [65]],
    [6, [1_090_785_345]],
    [7, [69_810_262_081]],
    [8, []],
  ])('with %d digits the events are %j', (count, events) => {
    expect(eventsIn(mark(digitsOf(count)))).toEqual(events)
  })

  test('events are counted from 1, so the number 0 is none', () => {
    expect(eventsIn(mark([0x80]))).toEqual([])
    expect(eventsIn(mark([0x80, 0x81]))).toEqual([1])
    expect(eventsIn(mark([0xbf]))).toEqual([63])
  })

  test.each([
    ['a word of seven bytes and one digit', mark([0x81], WORD.slice(1))],
    ['a byte that no digit has', mark([0x81, 0xc1])],
    ['a letter in the word', mark([0x81], [0x41, ...WORD.slice(1)])],
    ['another start', Buffer.concat([Buffer.from('\u001b]'), mark([0x81]).subarray(2)])],
    ['no end', mark([0x81]).subarray(0, -2)],
    ['another end', Buffer.concat([mark([0x81]).subarray(0, -1), Buffer.from('x')])],
  ])('%s is text', (_, piece) => {
    expect(takeMarks(piece)).toEqual({ shown: piece, marks: [] })
  })

  test('the places of marks are those in the stream and in what is shown', () => {
    const [one, two] = [mark([0x81]), mark([0x82, 0x80])]
    const piece = Buffer.concat([Buffer.from('ab'), one, two, Buffer.from('\u001b_c'), one, Buffer.from('d')])
    const { shown, marks } = takeMarks(piece)
    expect(shown.toString()).toBe('ab\u001b_cd')
    expect(marks.map(({ event, at, shown: place }) => [event, at, place])).toEqual([
      [1, 2, 2],
      [128, 15, 2],
      [1, 32, 5],
    ])
    expect(marks[1]?.mark).toEqual(two)
  })

  test('a mark may begin in the middle of what only looks like one', () => {
    const piece = Buffer.concat([Buffer.from('\u001b_'), mark([0x83])])
    expect(eventsIn(piece)).toEqual([3])
  })
})

describe('a mark that has not come completely', () => {
  const LONGEST = mark(digitsOf(7))
  const TEXT = Buffer.from('text of more bytes than a mark has')

  test.each([1, 7])('with %d digits each part of it is waited for, and the whole is not', (count) => {
    const whole = mark(digitsOf(count))
    for (let length = 1; length < whole.length; length += 1) {
      const piece = Buffer.concat([TEXT, whole.subarray(0, length)])
      expect([length, unfinishedMarkAt(piece)]).toEqual([length, TEXT.length])
      expect(unfinishedMarkAt(whole.subarray(0, length))).toBe(0)
    }
    const piece = Buffer.concat([TEXT, whole])
    expect(unfinishedMarkAt(piece)).toBe(piece.length)
  })

  test.each([
    ['text', TEXT],
    ['nothing', Buffer.alloc(0)],
    ['another escape', Buffer.from('\u001b[')],
    ['a letter in it', Buffer.concat([LONGEST.subarray(0, 5), Buffer.from('x')])],
    ['an eighth digit', Buffer.concat([LONGEST.subarray(0, -2), Buffer.from([0x81])])],
    ['a mark without digits', mark([])],
    ['a byte after the end has begun', Buffer.concat([LONGEST.subarray(0, -1), Buffer.from('x')])],
  ])('%s is not waited for', (_, piece) => {
    expect(unfinishedMarkAt(piece)).toBe(piece.length)
  })

  test('an escape after no digits, or after too many, is no end, but may be a start', () => {
    expect(unfinishedMarkAt(mark([]).subarray(0, -1))).toBe(10)
    expect(unfinishedMarkAt(mark(digitsOf(8)).subarray(0, -1))).toBe(18)
  })
})
