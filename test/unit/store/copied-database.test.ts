import { describe, expect, test } from 'vitest'
import { inOrder } from '../../../control-plane/src/store/engine/copied-database.js'

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
