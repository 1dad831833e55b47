import { describe, expect, test } from 'vitest'
import { inOrder, isOwnTable, quoted, rowsAtOnce } from '../../../control-plane/src/store/engine/copied-database.js'

const references = (all: Readonly<Record<string, readonly string[]>>) =>
  new Map(Object.entries(all).map(([table, others]) => [table, new Set(others)]))

describe('the tables of a copy', () => {
  test('come after those that they refer to, else by their names', () => {
    const tables = ['audit', 'upload', 'job_file', 'job', 'user']
    const refers = references({ audit: [], job: ['user'], job_file: ['upload', 'job'], upload: ['user'] })
    expect(inOrder(tables, refers)).toEqual(['audit', 'user', 'job', 'upload', 'job_file'])
    expect(inOrder(tables.toReversed(), refers)).toEqual(['audit', 'user', 'job', 'upload', 'job_file'])
  })

  test('may refer to themselves and to each other', () => {
    expect(inOrder(['b', 'a'], references({ a: ['a', 'b'], b: ['a'] }))).toEqual(['b', 'a'])
  })
})

test.each([
  ['job_output', 16],
  ['job_event', 16],
  ['job', 500],
  ['user', 500],
])('of the table %s, %i rows are read at once', (table, rows) => {
  expect(rowsAtOnce(table)).toBe(rows)
})

test.each([
  ['job', true],
  ['kysely_migration', false],
  ['sqlite_sequence', false],
  ['my_kysely_table', true],
])('the table %s belongs to the copy: %j', (table, isOwn) => {
  expect(isOwnTable(table)).toBe(isOwn)
})

test('a name inside of a statement stays one name', () => {
  expect(quoted('a"b"')).toBe('"a""b"""')
})
