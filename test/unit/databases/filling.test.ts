import { describe, expect, test } from 'vitest'
import { namedDatabases } from '../../../control-plane/src/databases/config.js'
import { fillSearch } from '../../../control-plane/src/databases/mongodb-search.js'
import { gatherRows } from '../../../control-plane/src/databases/rows.js'
import { fillStatement } from '../../../control-plane/src/databases/statement.js'

describe('the rows of an answer', () => {
  test('are as many as there is room for, and the next one ends it', () => {
    const rows = gatherRows({ rows: 2, bytes: 1000 })
    expect([rows.take({ n: 1 }), rows.take({ n: 2 })]).toEqual([true, true])
    expect(rows.answer()).toEqual({ rows: [{ n: 1 }, { n: 2 }], truncated: false })
    expect([rows.take({ n: 3 }), rows.take({ n: 4 })]).toEqual([false, false])
    expect(rows.answer()).toEqual({ rows: [{ n: 1 }, { n: 2 }], truncated: true })
  })

  test('have so many bytes as JSON at most, and a small row after a large one is not taken', () => {
    const size = JSON.stringify({ n: 'a' }).length
    const rows = gatherRows({ rows: 10, bytes: 2 * size })
    expect([rows.take({ n: 'a' }), rows.take({ n: 'b' }), rows.take({ n: '' })]).toEqual([true, true, false])
    const other = gatherRows({ rows: 10, bytes: 2 * size })
    expect([other.take({ n: 'a'.repeat(100) }), other.take({})]).toEqual([false, false])
    expect(other.answer()).toEqual({ rows: [], truncated: true })
  })

  test('have values of JSON', () => {
    const rows = gatherRows({ rows: 10, bytes: 1000 })
    rows.take({ a: 7n, b: 9007199254740993n, c: Buffer.from('abc'), d: undefined, e: null, f: 0 })
    expect(rows.answer().rows).toEqual([{ a: 7, b: '9007199254740993', c: 'YWJj', d: null, e: null, f: 0 }])
  })
})

describe('a value of a statement', () => {
  const filled = (text: string, x: unknown, dialect: 'postgres' | 'mysql' | 'mssql' | 'oracle' = 'postgres') =>
    fillStatement(text, dialect, () => x)

  test.each([
    [undefined, [null]],
    [[], [null]],
    [false, [false]],
    [{ a: 1 }, ['{"a":1}']],
    ['\ud800a', ['\ufffda']],
    ['🙂', ['🙂']],
  ])('%j is bound as %j', (x, values) => {
    expect(filled('$(x)', x).values).toEqual(values)
  })

  test.each([
    [null, ''],
    [undefined, ''],
    [5, '5'],
    [['a', "b'"], "a,b''"],
    [{ a: "'" }, `{"a":"''"}`],
  ])('%j stands in a text as %s', (x, text) => {
    expect(filled("select '$(x)'", x)).toEqual({ sql: `select '${text}'`, values: [] })
  })

  test('with a NUL is refused, and so is one that ends a line of SQL Server with a backslash', () => {
    for (const text of ["'$(x)'", '$(x)']) expect(() => filled(text, 'a\0')).toThrow('NUL')
    for (const end of ['\n', '\r']) expect(() => filled("'$(x)'", `a\\${end}b`, 'mssql')).toThrow('backslash')
    expect(filled('$(x)', 'a\\\nb', 'mssql').values).toEqual(['a\\\nb'])
    expect(filled('"$(x)"', 'a"b').sql).toBe('"a""b"')
  })

  test.each([
    ["select E'a\\\\$(x)'", "select E'a\\\\v'"],
    ["select e'it\\'s $(x)'", "select e'it\\'s v'"],
    ["select 'a' 'b\\$(x)'", "select 'a' 'b\\v'"],
    ["select E'a'\n'\\\\$(x)'", "select E'a'\n'\\\\v'"],
    ["select E'a', '\\$(x)'", "select E'a', '\\v'"],
    ['select 1 /* a /* $(x) */ b */, $(x)', 'select 1 /* a /*  */ b */, $1'],
    ["select $$ it's $$, $(x)", "select $$ it's $$, $1"],
    ['select $a$ $$ $a$, $(x)', 'select $a$ $$ $a$, $1'],
    ['select a$b$, $(x)', 'select a$b$, $1'],
    ['select 1 -- $(x)\r, $(x)', 'select 1 -- \n, $1'],
  ])('of PostgreSQL in %j becomes %j', (text, sql) => {
    expect(filled(text, 'v').sql).toBe(sql)
  })

  test.each([
    ["select U&'$(x)'", "begins with U&'"],
    ['select u&"$(x)"', 'begins with U&"'],
    ["select e'\\$(x)'", 'behind a backslash'],
    ["select E'a'\n'\\$(x)'", 'behind a backslash'],
    ['select $a$ $(x) $a$', 'in dollar quotes'],
    ['select $a$ x', 'ends inside'],
    ['select /* x', 'ends inside'],
    ['select a$(x)', 'part of a word'],
    ['select $(x)é', 'part of a word'],
  ])('of PostgreSQL in %j is refused', (text, reason) => {
    expect(() => filled(text, 'v')).toThrow(reason)
  })

  test.each([
    ["select _latin1 '$(x)'", 'character set'],
    ['select /*M! $(x) */ 1', 'carried out'],
    ["select '\\$(x)'", 'behind a backslash'],
  ])('of MySQL in %j is refused', (text, reason) => {
    expect(() => filled(text, 'v', 'mysql')).toThrow(reason)
  })

  test('of MySQL goes on after a text in the manner of that text', () => {
    expect(filled(`select 'a' "b$(x)", \`c$(x)\`, x_y, '$(x)'`, `"'\\`, 'mysql').sql).toBe(
      `select 'a' "b""'\\\\", \`c"'\\\`, x_y, '"''\\\\'`,
    )
  })
})

describe('a query of MongoDB', () => {
  const filled = (text: string, values: Record<string, unknown> = {}) => fillSearch(text, (name) => values[name])

  test('has a database, a collection and a filter, which may have values', () => {
    expect(filled(' db ~ vm$(x) ~{"a": 1}', { x: 'x' })).toEqual({
      database: 'db',
      collection: 'vmx',
      filter: { a: 1 },
    })
    expect(filled('d~c~{"a": "~"}').filter).toEqual({ a: '~' })
  })

  test.each([
    ['"$(x)"', 'v', 'v'],
    ['$(x)', 5, 5],
    ['$(x)', undefined, null],
    ['$(x)', null, null],
    ['$(x)', { a: [1, { b: null }] }, { a: [1, { b: null }] }],
    ['"a $(x)"', { a: 1 }, 'a {"a":1}'],
    ['"a $(x)"', null, 'a '],
    ['[1, null, true, "$(x)", {"b": $(x)}]', 'v', [1, null, true, 'v', { b: 'v' }]],
    ['"a \\" $(x)"', 'v', 'a " v'],
    ['"a \\\\", "c": $(x)', 'v', 'a \\'],
    ['"$5 (x)"', 'v', '$5 (x)'],
  ])('with %s and %j asks for %j', (part, x, value) => {
    expect(filled(`d~c~{"a": ${part}}`, { x }).filter.a).toEqual(value)
  })

  test('keeps values below an expression apart from names of fields', () => {
    const text = 'd~c~{"$expr": {"$and": [{"$eq": ["$a", $(x)]}, {"$eq": ["$b", "c $(x)"]}]}, "e": "$(x)"}'
    expect(filled(text, { x: '$f' }).filter).toEqual({
      $expr: { $and: [{ $eq: ['$a', { $literal: '$f' }] }, { $eq: ['$b', { $literal: 'c $f' }] }] },
      e: '$f',
    })
  })

  test.each(['$where', '$function', '$accumulator'])('has no value below %s, which is run as a script', (name) => {
    for (const inner of ['"$(x)"', '$(x)', '{"body": ["a $(x)"]}', '[{"a": $(x)}]']) {
      expect(() => filled(`d~c~{"${name}": ${inner}}`, { x: 'v' }), inner).toThrow(`a placeholder below ${name}`)
    }
    expect(filled(`d~c~{"${name}": {"body": ["a", null, 1]}}`).filter).toEqual({ [name]: { body: ['a', null, 1] } })
  })

  test.each([
    ['d~c~{"$(x)": 1}', '$ne', 'would become an operator'],
    ['d~c~{"$(x)": 1}', '__proto__', 'would become an operator'],
    ['d~c~{"a": $(x)}', { b: { $ne: 1 } }, 'would become an operator'],
    ['d~c~{"a": $(x)}', [[{ $ne: 1 }]], 'would become an operator'],
    ['d~c~{"a": "b $(x)"}', 'a\0', 'NUL'],
    ['d~c~{$(x): 1}', 'a', 'needs quotes'],
    ['d~c', 'a', 'database~collection~filter'],
    ['~c~{}', 'a', 'database~collection~filter'],
    ['d~c~[]', 'a', 'must be an object'],
    ['d~c~{', 'a', 'must be JSON'],
  ])('%s with %j is refused', (text, x, reason) => {
    expect(() => filled(text, { x })).toThrow(reason)
  })
})

const named = (name: string, type: string | null = null) => ({ name, type })
test.each<[config: unknown, databases: object[] | string]>([
  [' a , b', [named('a'), named('b')]],
  [{ name: 'a', type: 'mysql' }, [named('a', 'mysql')]],
  [
    ['a', { name: 'b,c', type: 'x' }],
    [named('a'), named('b', 'x'), named('c', 'x')],
  ],
  ['', 'must be'],
  [[], 'must be'],
  [{ type: 'x' }, 'must be'],
  ['a,,b', 'an empty name'],
])('dbConfig %j names %j', (config, databases) => {
  if (typeof databases === 'string') expect(() => namedDatabases(config)).toThrow(databases)
  else expect(namedDatabases(config)).toEqual(databases)
})
