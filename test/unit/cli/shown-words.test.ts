import { describe, expect, test } from 'vitest'
import { leftText } from '../../../control-plane/src/cli/show/left.js'
import { type Column, tableOr, tableText, timeColumn } from '../../../control-plane/src/cli/show/table.js'
import { durationText, localTime } from '../../../control-plane/src/cli/show/time.js'
import type { Output } from '../../../control-plane/src/cli/terminal.js'

describe('times', () => {
  test.each<[number | null, string | null]>([
    [null, null],
    [Infinity, null],
    [0.04, '0.04 s'],
    [9.99, '9.99 s'],
    [10, '10.0 s'],
    [59.9, '59.9 s'],
    [60, '1 min 00 s'],
    [125, '2 min 05 s'],
    [3599, '59 min 59 s'],
    [3600, '1 h 00 min'],
    [3720, '1 h 02 min'],
  ])('%j seconds are %j', (seconds, words) => {
    expect(durationText(seconds)).toBe(words)
  })

  test('a moment is shown as a clock on the wall has it, and a text that is none stays', () => {
    expect(localTime(new Date(2026, 0, 2, 3, 4, 5).toISOString())).toBe('2026-01-02 03:04:05')
    expect(localTime(new Date(2026, 11, 31, 23, 59, 58).toISOString())).toBe('2026-12-31 23:59:58')
    expect([localTime('soon'), localTime(null)]).toEqual(['soon', null])
  })

  test('how long a job will still take has its range when the earlier runs differed', () => {
    const runs = { progress: 0.509, left_seconds: 59, shortest_seconds: 59, longest_seconds: 59, runs: 1 }
    const estimate = (more: object) => leftText({ ...runs, ...more } as Parameters<typeof leftText>[0])
    expect(estimate({})).toBe('50 % done, about 59 s left, by one earlier run.')
    expect(estimate({ runs: 2, left_seconds: 60, longest_seconds: 61 })).toBe(
      '50 % done, about 1 min 00 s left, 59 s to 1 min 01 s, by 2 earlier runs.',
    )
    expect(estimate({ longest_seconds: 0 })).toBe('It takes longer than before, by one earlier run.')
  })
})

describe('a table', () => {
  interface Row {
    readonly id: number
    readonly text: string | null
    readonly state: string
  }
  const columns: Column<Row>[] = [
    { title: 'ID', value: ({ id }) => id, align: 'right' },
    { title: 'TEXT', value: ({ text }) => text, note: ({ id }) => (id === 1 ? 'first' : null) },
    { title: 'STATE', value: ({ state }) => state, status: true },
  ]
  const output = (more: Partial<Output> = {}): Output => ({
    isTerminal: false,
    color: false,
    columns: 200,
    write: () => Promise.resolve(),
    ...more,
  })
  const rows: Row[] = [
    { id: 1, text: 'a\nb', state: 'success' },
    { id: 22, text: null, state: 'failed' },
  ]
  const widths = (text: string) => text.split('\n').map((line) => line.length)

  test('is plain and aligned in a pipe, and a row of it stays a line', () => {
    const lines = tableText(output(), columns, rows).split('\n')
    expect(lines.map((line) => line.split(/\s{2,}/))).toEqual([
      ['ID', 'TEXT', 'STATE'],
      [' 1', 'a b (first)', 'success'],
      ['22', '-', 'failed'],
      [''],
    ])
    expect(tableOr('There is none.', output(), columns, [])).toBe('There is none.\n')
    expect(tableOr('There is none.', output(), columns, rows)).toBe(tableText(output(), columns, rows))
  })

  test('has a frame on a terminal that is exactly as wide, and none on one that is not', () => {
    const framed = tableText(output({ isTerminal: true }), columns, rows)
    // Its borders, the titles and the two rows, without a line between the rows.
    expect(framed.trimEnd().split('\n')).toHaveLength(3 + 1 + 2)
    const width = framed.indexOf('\n')
    expect(tableText(output({ isTerminal: true, columns: width }), columns, rows)).toBe(framed)
    const narrow = tableText(output({ isTerminal: true, columns: width - 1 }), columns, rows)
    expect(narrow).not.toContain('│')
    expect(Math.max(...widths(narrow))).toBeLessThan(width)
  })

  test('makes its wide columns narrower, and becomes blocks where that is not enough', () => {
    const long: Row[] = [{ id: 2, text: 'word '.repeat(15).trim(), state: 'x'.repeat(30) }]
    const least = 2 + 2 + 10 + 2 + 10
    const text = (width: number) => tableText(output({ isTerminal: true, columns: width }), columns, long)
    expect(Math.max(...widths(text(least)))).toBeLessThanOrEqual(least)
    expect(text(least).split('\n')[0]).toMatch(/^ID\s+TEXT\s+STATE$/)
    expect(text(least - 1)).toBe(`ID     2\nTEXT   ${long[0]?.text}\nSTATE  ${long[0]?.state}\n`)
  })

  test('breaks a long column into lines, also inside of a word that is too long, and keeps all of it', () => {
    const long = (text: string): Column<Row>[] => [{ title: 'LONG', value: () => text, isLong: true }]
    const shown = (text: string) => tableText(output({ isTerminal: true, columns: 12 }), long(text), rows.slice(0, 1))
    expect(shown('some words and more')).toBe('LONG\nsome words\nand more\n')
    // A word of exactly this width is not too long.
    expect(shown('some abcdefghijkl words')).toBe('LONG\nsome\nabcdefghijkl\nwords\n')
    expect(shown('x'.repeat(30)).replaceAll(/[^x]/g, '')).toBe('x'.repeat(30))
    expect(tableText(output({ isTerminal: true }), long('x'.repeat(70)), rows.slice(0, 1))).toContain('x'.repeat(70))
  })

  test('never cuts a whole column, such as a time', () => {
    const time = timeColumn<Row>('TIME', () => new Date(2026, 0, 2, 3, 4, 5).toISOString())
    const whole = [time, { title: 'T', value: () => 'x'.repeat(30) }]
    const text = tableText(output({ isTerminal: true, columns: 19 + 2 + 10 }), whole, rows.slice(0, 1))
    expect(text.split('\n')[1]).toMatch(/^2026-01-02 03:04:05 {2}x{9}…$/)
    const uncut = [{ title: 'T', value: () => 'x'.repeat(70), isWhole: true }]
    expect(tableText(output({ isTerminal: true }), uncut, rows.slice(0, 1))).toContain('x'.repeat(70))
  })
})
