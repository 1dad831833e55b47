import { describe, expect, test } from 'vitest'
import { type RuleContext, brokenRules } from '../../../control-plane/src/forms/check/rules.js'
import { type FieldInFile, parseField } from '../../../control-plane/src/forms/fields/parse-field.js'

const VALUES: Readonly<Record<string, unknown>> = {
  three: 3,
  word: 'x',
  list: ['a', 'b'],
  no: '',
  none: null,
  five: '5',
}
const context = (size: number | null = null): RuleContext => ({
  evaluator: {
    matches: (pattern: string, text: string) => ({ ok: true, value: new RegExp(pattern).test(text) }),
  } as unknown as RuleContext['evaluator'],
  resolve: ([first = '']) => ({ known: VALUES[first] !== undefined, value: VALUES[first] }),
  labelOf: (field) => `the ${field}`,
  upload: size === null ? null : { originalname: 'name.txt', size, description: {} },
})
const broken = (field: Partial<FieldInFile>, value: unknown, size: number | null = null) =>
  brokenRules(parseField({ name: 'f', ...field }), value, context(size)).map(({ description }) => description)

describe('a required field', () => {
  test.each<[Partial<FieldInFile>, unknown, boolean]>([
    [{}, '  ', false],
    [{}, {}, false],
    [{}, [], false],
    [{}, 0, true],
    [{}, '__auto__', true],
    [{ type: 'checkbox' }, 'true', false],
    [{ type: 'checkbox' }, true, true],
    [{ type: 'yaml' }, undefined, false],
    [{ type: 'yaml' }, null, false],
    [{ type: 'yaml' }, {}, true],
    [{ type: 'yaml' }, '', true],
    [{ type: 'enum', values: [] }, '__auto__', false],
    [{ type: 'enum', values: [] }, '__all__', false],
    [{ type: 'enum', values: [] }, '__none__', false],
    [{ type: 'enum', values: [] }, '', false],
    [{ type: 'enum', values: [] }, 'a', true],
    [{ type: 'expression', value: 1 }, '__none__', false],
    [{ type: 'expression', value: 1 }, 'a', true],
    [{ type: 'html' }, undefined, true],
  ])('%j with %j has a value: %j', (field, value, given) => {
    expect(broken({ ...field, required: true }, value)).toEqual(given ? [] : ['f is required'])
  })
})

describe('a bound', () => {
  test.each<[Partial<FieldInFile>, unknown, unknown]>([
    [{ minValue: 3 }, 3, 2],
    [{ maxValue: 3 }, 3, 4],
    [{ minValue: '$(three)' }, 3, 2.9],
    [{ maxValue: '$(three)' }, '3', '3.1'],
    [{ minLength: 2 }, 'ab', 'a'],
    [{ maxLength: 2 }, 'ab', 'abc'],
    [{ minLength: 2 }, ['a', 'b'], ['long text']],
    [{ maxLength: 2 }, ['a', 'long text'], ['a', 'b', 'c']],
    [{ maxLength: 7 }, { a: 1 }, { a: 10 }],
  ])('%j takes %j and refuses %j', (field, inside, outside) => {
    expect(broken(field, inside)).toEqual([])
    expect(broken(field, outside)).toHaveLength(1)
  })

  test('that is unknown, empty or no number does not count', () => {
    for (const maxValue of ['$(gone)', '$(no)', ' ', '$(word)', 'many']) expect(broken({ maxValue }, 5)).toEqual([])
    expect(broken({ minValue: 3 }, '')).toEqual([])
    expect(broken({ minLength: 3, regex: 'x' }, [])).toEqual([])
  })

  test('of numbers takes no object, whose value nobody asks for', () => {
    expect(broken({ minValue: 0 }, { valueOf: () => 5 })).toEqual(['f must be at least 0'])
  })
})

describe('the size of a file', () => {
  test('may be exactly that of the bound', () => {
    expect(broken({ type: 'file', minSize: 10, maxSize: 20 }, {}, 10)).toEqual([])
    expect(broken({ type: 'file', minSize: 10, maxSize: 20 }, {}, 20)).toEqual([])
    expect(broken({ type: 'file', minSize: 10 }, {}, 9)).toEqual(['f must be at least 10 B, it is 9 B'])
    expect(broken({ type: 'file', maxSize: 20 }, {}, 21)).toEqual(['f must be at most 20 B, it is 21 B'])
    expect(broken({ type: 'file', maxSize: 20 }, {})).toEqual([])
  })

  test.each([
    [1023, '1023 B'],
    [1024, '1 KB'],
    [1536, '1.5 KB'],
    [1024 ** 2, '1 MB'],
    [1024 ** 3, '1 GB'],
    [1024 ** 4, '1 TB'],
    [1024 ** 5, '1024 TB'],
    [1_234_567, '1.18 MB'],
  ])('of %d bytes is %s in words', (size, words) => {
    expect(broken({ type: 'file', maxSize: 0 }, {}, size)).toEqual([`f must be at most 0 B, it is ${words}`])
  })
})

describe('a comparison', () => {
  test.each<[Partial<FieldInFile>, unknown, boolean]>([
    [{ validIf: { field: 'word' } }, 'a', true],
    [{ validIf: { field: 'no' } }, 'a', false],
    [{ validIf: { field: 'a..b' } }, 'a', false],
    [{ validIf: { field: 'no' } }, '', true],
    [{ validIfNot: { field: 'no' } }, 'a', true],
    [{ validIfNot: { field: 'word' } }, 'a', false],
    [{ in: { field: 'list' } }, 'a', true],
    [{ in: { field: 'list' } }, ['a', 'b'], true],
    [{ in: { field: 'list' } }, ['a', 'c'], false],
    [{ in: { field: 'word' } }, 'x', false],
    [{ notIn: { field: 'list' } }, 'c', true],
    [{ notIn: { field: 'list' } }, ['c', 'a'], false],
    [{ notIn: { field: 'word' } }, 'c', false],
    [{ sameAs: 'five' }, 5, true],
    [{ sameAs: 'list' }, ['a', 'b'], true],
    [{ sameAs: 'list' }, ['a'], false],
    [{ sameAs: 'none' }, 'null', false],
    [{ sameAs: 'gone' }, 'undefined', false],
    [{ sameAs: 'gone' }, '', true],
  ])('%j takes %j: %j', (field, value, taken) => {
    expect(broken(field, value)).toHaveLength(taken ? 0 : 1)
  })

  test('is told in the words of the form, or with the rule and its field', () => {
    expect(broken({ in: { field: 'list' } }, 'c')).toEqual(['f is not accepted (in list)'])
    expect(broken({ in: { field: 'list', description: 'choose of $(list), $(gone)' } }, 'c')).toEqual([
      'choose of ["a","b"], $(gone)',
    ])
    expect(broken({ sameAs: 'word' }, 'c')).toEqual(["Must match the field 'the word'"])
  })
})

test('a pattern looks at the name of a file, and at the text of other values', () => {
  expect(broken({ type: 'file', regex: 'txt$' }, { path: 'x' }, 5)).toEqual([])
  expect(broken({ type: 'file', regex: 'path' }, { path: 'x' }, 5)).toEqual(['f does not have the expected form'])
  expect(broken({ regex: '"a":1' }, { a: 1 })).toEqual([])
  expect(broken({ regex: { expression: 'x', description: 'write x' } }, 'a')).toEqual(['write x'])
  expect(broken({ regex: 'x' }, '')).toEqual([])
})

test('all broken rules are told, in their order', () => {
  const field = { required: true, minLength: 5, maxLength: 1, regex: 'x', notIn: { field: 'list' } }
  expect(brokenRules(parseField({ name: 'f', ...field }), 'a', context()).map(({ type }) => type)).toEqual([
    'minLength',
    'regex',
    'notIn',
  ])
})
