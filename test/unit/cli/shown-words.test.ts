import { describe, expect, test } from 'vitest'
import type { FormField } from '../../../control-plane/src/cli/commands/form/read-form.js'
import { defaultText, optionsText, rulesText } from '../../../control-plane/src/cli/commands/form/field-words.js'
import {
  EXIT_CODE_MEANINGS,
  EXIT,
  exitCodeOf,
  exitCodesText,
  mayStillEnd,
} from '../../../control-plane/src/cli/exit-codes.js'
import { isAboutValues, refusalText } from '../../../control-plane/src/cli/refusal-text.js'
import { leftText } from '../../../control-plane/src/cli/show/left.js'
import { type Column, fieldsText, tableOr, tableText, timeColumn } from '../../../control-plane/src/cli/show/table.js'
import { durationText, jobSeconds, localTime } from '../../../control-plane/src/cli/show/time.js'
import { userName } from '../../../control-plane/src/cli/show/user-name.js'
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

  test('a job has taken the time to its end, or to now, and never less than nothing', () => {
    const [start, end, now] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:05Z', Date.parse('2026-01-01T00:00:09Z')]
    expect([jobSeconds(start, end, now), jobSeconds(start, null, now), jobSeconds(null, end, now)]).toEqual([
      5,
      9,
      null,
    ])
    expect(jobSeconds(end, start, now)).toBe(0)
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

  test('a user of another kind has it behind the name', () => {
    expect([userName('a', null), userName('a', 'local'), userName('a', 'ldap')]).toEqual(['a', 'a', 'a (ldap)'])
  })
})

test.each<[string, number | null]>([
  ['success', 0],
  ['failed', 10],
  ['warning', 11],
  ['aborted', 12],
  ['rejected', 13],
  ['abandoned', 14],
  ['running', null],
])('a job that is %s ends the command with %j', (status, code) => {
  expect(exitCodeOf(status)).toBe(code)
  expect(mayStillEnd(status)).toBe(status === 'abandoned')
})

test('each exit code has a meaning in the help', () => {
  expect(EXIT_CODE_MEANINGS.map(([code]) => code)).toEqual(Object.values(EXIT))
  expect(exitCodesText().split('\n')).toHaveLength(1 + Object.keys(EXIT).length)
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

  test('cuts a long value on a terminal at 60 characters, and not in a pipe', () => {
    const text = (length: number, more: Partial<Output>) =>
      tableText(output(more), columns, [{ id: 2, text: 'x'.repeat(length), state: '' }])
    expect(text(60, { isTerminal: true })).toContain('x'.repeat(60))
    expect(text(61, { isTerminal: true })).toMatch(/[^x]x{59}…/)
    expect(text(61, {})).toContain('x'.repeat(61))
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

  test('has no line for an empty value in a block, and an empty line between two blocks', () => {
    const text = tableText(output({ isTerminal: true, columns: 5 }), columns, [...rows.slice(1), ...rows])
    expect(text.split('\n\n')).toHaveLength(3)
    expect(text.startsWith('ID     22\nSTATE  failed\n\n')).toBe(true)
  })

  test('has the colours of statuses only where colours are taken', () => {
    const colored = tableText(output({ color: true }), columns, rows)
    expect(colored).toContain('\u001b[32msuccess\u001b[39m')
    expect(colored).toContain('\u001b[31mfailed\u001b[39m')
    expect(tableText(output(), columns, rows)).not.toContain('\u001b')
  })

  test('of one thing has a line for each name, with the colour of its status or state', () => {
    const fields = [
      ['status', 'running'],
      ['state', 'denied'],
      ['note', ''],
      ['none', null],
      ['list', [1]],
    ] as const
    expect(fieldsText(output(), fields)).toBe('status  running\nstate   denied\nnote    -\nnone    -\nlist    [1]\n')
    const colored = fieldsText(output({ color: true }), fields)
    expect(colored).toContain('\u001b[36mrunning\u001b[39m')
    expect(colored).toContain('\u001b[31mdenied\u001b[39m')
    expect(fieldsText(output({ color: true }), [['other', 'failed']])).not.toContain('\u001b[31m')
  })
})

describe('a refusal', () => {
  const text = (details: Record<string, unknown>, hint?: (field: string) => string | null) =>
    refusalText({ sentence: 'No.', details } as Parameters<typeof refusalText>[0], hint).split('\n')

  test('of values has a line for each field, with its reason and hint, in rows, too', () => {
    const error = { type: 'x', description: 'is bad' }
    const details = {
      missing: ['a', 'said'],
      uploads: ['u'],
      waiting: ['w'],
      invalid: ['i', 'l', 'o'],
      validationErrors: { said: [error, error] },
      rowErrors: { l: [{ index: 2, missing: ['a'] }], o: [{ validationErrors: { b: [error] } }] },
    }
    expect(text(details, (field) => (field === 'a' || field === 'l[2].a' ? 'x or y' : null))).toEqual([
      'No.',
      '  said: is bad',
      '  said: is bad',
      '  a: a value is needed (x or y)',
      '  u: this upload cannot be used',
      '  w: its value could not be computed',
      '  i: this value is not accepted',
      '  l[2].a: a value is needed (x or y)',
      '  o.b: is bad',
    ])
  })

  test('of another kind has a line for each detail that is there', () => {
    expect(text({ a: 1, b: { c: [1, 'x'], d: [] }, e: [{ f: true }, [2]], n: null })).toEqual([
      'No.',
      '  a: 1',
      '  b.c: 1, x',
      '  e[0].f: true',
      '  e[1]: 2',
    ])
    expect(text({ missing: 'text' })).toEqual(['No.', '  missing: text'])
  })

  test.each([
    [{ validationErrors: {} }, true],
    [{ missing: [] }, true],
    [{ invalid: [] }, false],
    [{}, false],
  ])('with %j is about values: %j', (details, about) => {
    expect(isAboutValues({ sentence: 'No.', details } as Parameters<typeof isAboutValues>[0])).toBe(about)
  })
})

describe('a field in words', () => {
  const field = (more: object = {}): FormField =>
    ({
      type: 'text',
      values: null,
      valueColumn: null,
      multiple: false,
      dateType: null,
      dependencies: null,
      default: null,
      ...Object.fromEntries(
        ['minValue', 'maxValue', 'minLength', 'maxLength', 'minSize', 'maxSize', 'regex'].map((name) => [name, null]),
      ),
      ...Object.fromEntries(['in', 'notIn', 'validIf', 'validIfNot', 'sameAs'].map((name) => [name, null])),
      ...more,
    }) as unknown as FormField

  test.each<[object, string | null]>([
    [{}, null],
    [{ values: [] }, null],
    [{ values: [1, 'a', null] }, '1, a, null'],
    [{ values: [{ id: 1, name: 'x' }] }, '1'],
    [{ values: [{ id: 1, name: 'x' }], valueColumn: 'name' }, 'x'],
    [{ values: [{ id: 1 }], valueColumn: 'gone' }, '1'],
    [{ values: [{ id: { a: 1 } }] }, '{"a":1}'],
    [{ type: 'radio', values: [{ label: 'Yes', value: 'y' }] }, 'y'],
    [{ values: Array(20).fill(1) }, Array(20).fill(1).join(', ')],
    [{ values: Array(21).fill(1) }, `${Array(20).fill(1).join(', ')}, and 1 more`],
  ])('%j has the options %j', (more, words) => {
    expect(optionsText(field(more))).toBe(words)
  })

  test.each<[object, string | null]>([
    [{}, null],
    [{ dateType: 'week', multiple: true }, 'week; several values'],
    [{ minValue: 1, maxValue: 2 }, '1 to 2'],
    [{ minLength: 1 }, 'at least 1 characters'],
    [{ maxSize: 5 }, 'at most 5 bytes'],
    [{ regex: 'a' }, 'matches a'],
    [{ regex: { expression: 'a', description: null } }, 'matches a'],
    [{ regex: { expression: 'a', description: 'an a' } }, 'an a (matches a)'],
    [{ in: { field: 'l' }, notIn: { field: 'm' } }, 'one of l; none of m'],
    [{ validIf: { field: 'l' }, validIfNot: { field: 'm' }, sameAs: 'n' }, 'if l; if not m; same as n'],
    [{ dependencies: [{ name: 'a', values: ['x', 1] }] }, 'shown when a is x or 1'],
    [{ dependencies: [{ name: '!a', values: ['x'] }] }, 'shown when a is not x'],
    [{ dependencies: [{ name: 'a', isValid: true }] }, 'shown when a is valid'],
    [{ dependencies: [{ name: 'a' }] }, 'shown when a is valid'],
    [{ dependencies: [{ name: 'a', isValid: false }] }, 'shown when a is not valid'],
    [{ dependencies: [{ name: '!a', isValid: false }] }, 'shown when a is valid'],
  ])('%j has the rules %j', (more, words) => {
    expect(rulesText(field(more))).toBe(words)
  })

  test.each<[object, string | null]>([
    [{ default: undefined }, null],
    [{ default: null }, null],
    [{ default: 'x' }, 'x'],
    [{ default: { a: 1 } }, '{"a":1}'],
    [{ default: 'x', type: 'password' }, '********'],
  ])('%j has the default %j', (more, words) => {
    expect(defaultText(field(more))).toBe(words)
  })
})
