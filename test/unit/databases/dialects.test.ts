import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { plainColumn } from '../../../control-plane/src/databases/mssql.js'
import { exactNumber } from '../../../control-plane/src/databases/oracle.js'
import { fillStatement } from '../../../control-plane/src/databases/statement.js'
import { EVIL_PAYLOADS, evilText } from '../../support/evil-texts.js'

/** How each server reads texts, names and comments, written down again, so that two readers must agree. */
const TOKENS = {
  mssql:
    /(?<text>'(?:[^']|'')*')|(?<name>\[(?:[^\]]|\]\])*\]|"(?:[^"]|"")*")|(?<comment>--[^\n]*|\/\*(?:(?!\*\/)[^])*\*\/)/g,
  oracle:
    /n?q'\[(?:(?!\]')[^])*\]'|n?q'!(?:(?!!')[^])*!'|(?<text>'(?:[^']|'')*')|(?<name>"[^"]*")|(?<comment>--[^\n]*|\/\*(?:(?!\*\/)[^])*\*\/)/gi,
} as const

/** The statement without what stands in texts, names and comments; and the texts. */
function read(sql: string, dialect: keyof typeof TOKENS) {
  const texts: string[] = []
  const names: string[] = []
  const rest = sql.replaceAll(TOKENS[dialect], (...found) => {
    const { text, name, comment } = found.at(-1) as Record<string, string | undefined>
    if (text !== undefined) texts.push(text.slice(1, -1).replaceAll("''", "'"))
    if (name !== undefined) names.push(name.slice(1, -1).replaceAll(']]', ']'))
    return text !== undefined ? '‹text›' : name !== undefined ? '‹name›' : comment !== undefined ? '‹comment›' : '‹own›'
  })
  return { rest, texts, names }
}

/** Statements with a placeholder, what they are without texts, names and comments, and the texts of a value. */
const PLACES: Record<keyof typeof TOKENS, readonly [text: string, rest: string, texts: (x: string) => string[]][]> = {
  mssql: [
    [
      "select [it's] from vm where a = N'$(x)' -- ' $(x)\nand b = 'it''s'",
      'select ‹name› from vm where a = N‹text› ‹comment›\nand b = ‹text›',
      (x) => [x, "it's"],
    ],
    [`select "a'b", '$(x)' /* ' */ from vm`, 'select ‹name›, ‹text› ‹comment› from vm', (x) => [x]],
    ["select 'C:\\' + '$(x)'", 'select ‹text› + ‹text›', (x) => ['C:\\', x]],
    ['select * from vm where a = $(x)', 'select * from vm where a = @p1', () => []],
  ],
  oracle: [
    [
      "select q'[ it's ]', N'$(x)', nq'! ' !', 'é' from dual -- $(x)",
      'select ‹own›, N‹text›, ‹own›, ‹text› from dual ‹comment›',
      (x) => [x, 'é'],
    ],
    [`select "a'b", '$(x)' /* ' */ from vm`, 'select ‹name›, ‹text› ‹comment› from vm', (x) => [x]],
    ["select 'C:\\' || '$(x)' from dual", 'select ‹text› || ‹text› from dual', (x) => ['C:\\', x]],
    ['select * from vm where a = $(x)', 'select * from vm where a = :1', () => []],
  ],
}

describe.each(['mssql', 'oracle'] as const)('in the dialect %s', (dialect) => {
  test('no value gets out of the place in the form', () => {
    for (const [text, rest, texts] of PLACES[dialect]) {
      fc.assert(
        fc.property(evilText, (given) => {
          // A text of two lines whose first ends in a backslash is refused; see below.
          const x = given.replaceAll(/\\[\r\n]/g, '')
          const filled = read(fillStatement(text, dialect, () => x).sql, dialect)
          expect([filled.rest, filled.texts]).toEqual([rest, texts(x)])
        }),
        { numRuns: 100, examples: EVIL_PAYLOADS.map((payload) => [payload]) },
      )
    }
  })

  test('no value gets out of the name in the form', () => {
    const [open, close] = dialect === 'mssql' ? '[]' : '""'
    fc.assert(
      fc.property(evilText, (given) => {
        const x = dialect === 'oracle' ? given.replaceAll('"', '') : given
        const filled = read(fillStatement(`select 1 as ${open}a$(x)${close}`, dialect, () => x).sql, dialect)
        expect([filled.rest, filled.names]).toEqual(['select 1 as ‹name›', [`a${x}`]])
      }),
      { numRuns: 100 },
    )
  })

  test('values are bound: each one, and those of a list one by one', () => {
    const values: Record<string, unknown> = { a: 4, b: ['x', "y'"], c: null, d: true }
    const filled = fillStatement('a > $(a) and b in ($(b)) or c = $(c) or d = $(d)', dialect, (name) => values[name])
    const [one, two, three, four, five] = [1, 2, 3, 4, 5].map((nth) => (dialect === 'mssql' ? `@p${nth}` : `:${nth}`))
    expect(filled.sql).toBe(`a > ${one} and b in (${two}, ${three}) or c = ${four} or d = ${five}`)
    expect(filled.values).toEqual([4, 'x', "y'", null, true])
  })
})

test.each([
  ['mssql', 'select @v$(x)', 'a', /part of a word/],
  ['mssql', "select '$(x)'", 'a\\\nb', /backslash/],
  ['mssql', 'select [$(x)', 'a', /ends inside/],
  ['mssql', 'select 1 /* /* $(x) */', 'a', /ends inside/],
  ['oracle', "select q'[$(x)]' from dual", 'a', /begins with q'/],
  ['oracle', "select q'[a from dual", 'a', /ends inside/],
  ['oracle', 'select 1 as "$(x)" from dual', 'a"b', /quotation mark/],
] as const)('in the dialect %s the query %s is refused', (dialect, text, x, reason) => {
  expect(() => fillStatement(text, dialect, () => x)).toThrow(reason)
})

test.each([
  // MySQL reads two hyphens as a comment only before a space, a control character or the end.
  ['mysql', 'select 5--$(x)', 'select 5--?'],
  ['mysql', 'select 5-- $(x)\n, $(x)', 'select 5-- \n, ?'],
  ['mysql', 'select 5--\u007f$(x)\n, $(x)', 'select 5--\u007f\n, ?'],
  ['mysql', 'select 5 # $(x)\n, $(x)', 'select 5 # \n, ?'],
  ['mysql', 'select 5 /* $(x) */, $(x) --', 'select 5 /*  */, ? --'],
  ['postgres', 'select 5--$(x)\n, $(x)', 'select 5--\n, $1'],
  ['postgres', 'select 5 # $(x)', 'select 5 # $1'],
  ['mssql', 'select 5--$(x)\n, $(x)', 'select 5--\n, @p1'],
  ['oracle', 'select 5--$(x)\n, $(x) from dual', 'select 5--\n, :1 from dual'],
] as const)('in the dialect %s a comment gets no value, and what is none gets one: %j', (dialect, text, sql) => {
  expect(fillStatement(text, dialect, () => 'v').sql).toBe(sql)
})

test.each([
  ['7', 7],
  ['-9007199254740991', -9007199254740991],
  ['9007199254740993', '9007199254740993'],
  ['1e40', '1e40'],
  ['.5', 0.5],
  ['123456789012.125', 123456789012.125],
  ['0.123456789012345', 0.123456789012345],
  ['0.1234567890123456', '0.1234567890123456'],
  [null, null],
])('the number %j of Oracle becomes %j', (text, number) => {
  expect(exactNumber(text)).toBe(number)
})

const AT = new Date('2026-01-02T03:04:05.000Z')
test.each([
  ['DateTime2', AT, '2026-01-02 03:04:05'],
  ['Date', AT, '2026-01-02'],
  ['Time', AT, '03:04:05'],
  ['DateTimeOffset', AT, '2026-01-02T03:04:05.000Z'],
  ['BigInt', '7', 7],
  ['IntN', '9007199254740993', '9007199254740993'],
  ['BigInt', null, null],
  ['VarChar', '7', '7'],
])('the value of a column %s of SQL Server that the driver gives as %j becomes %j', (name, value, plain) => {
  expect(plainColumn({ value, metadata: { colName: 'a', type: { name } } })).toBe(plain)
})
