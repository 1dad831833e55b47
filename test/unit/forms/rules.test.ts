import { expect, test } from 'vitest'
import { isDateValue } from '../../../control-plane/src/forms/values/read-datetime.js'
import { covers } from '../../interface/covers.js'
import { check, formOf } from './check.js'

/** Other fields that rules name. */
const OTHERS = [
  { name: 'three', type: 'expression', value: 3 },
  { name: 'word', type: 'expression', value: 'x' },
  { name: 'list', type: 'expression', value: ['a', 'b'] },
  { name: 'no' },
]
const OF_A_FILE = { uploads: { f: { originalname: 'a.txt', size: 100, description: {} } } }

/** The rules that the field `f` breaks, by their names. */
async function broken(field: object, f: unknown, more = {}): Promise<string[]> {
  const form = formOf([{ name: 'f', ...field }, ...OTHERS], { s: [] })
  const { details } = await check(form, { f }, { constants: { LIMITS: { most: 10 } }, ...more })
  return (details.validationErrors.f ?? []).map(({ type }) => type)
}

test.each<[rule: string, field: object, taken: unknown, refused: unknown]>([
  ['required', {}, 'x', '  '],
  ['required', { type: 'number' }, 0, null],
  ['required', { type: 'checkbox' }, true, false],
  ['required', { type: 'enum', values: ['a'], multiple: true }, ['a'], []],
  ['required', { type: 'enum', values: ['a'] }, 'a', '__none__'],
  ['required', { type: 'yaml' }, {}, null],
  ['minValue', { type: 'number', minValue: 3 }, 3, 2],
  ['minValue', { type: 'number', minValue: '$(three)' }, '3', '2.9'],
  ['maxValue', { type: 'number', maxValue: 3 }, 3, 4],
  ['maxValue', { type: 'number', maxValue: '$(LIMITS.most)' }, 10, 11],
  ['minLength', { minLength: 3 }, 'abc', 'ab'],
  ['minLength', { type: 'enum', values: ['a', 'b'], multiple: true, minLength: 2 }, ['a', 'b'], ['a']],
  ['maxLength', { maxLength: 3 }, 'abc', 'abcd'],
  ['maxLength', { maxLength: 3 }, 123, 12345],
  ['maxLength', { type: 'enum', values: ['long', 'b'], multiple: true, maxLength: 1 }, ['long'], ['long', 'b']],
  ['regex', { regex: 'b+' }, 'abbc', 'ac'],
  ['regex', { regex: { expression: '^(?=.*\\d)(?=.*[A-Z]).{4,}$' } }, 'abC1', 'abc1'],
  ['regex', { regex: { expression: '^(a|b)\\1$' } }, 'aa', 'ab'],
  ['type', { type: 'number' }, ' +5.50 ', 'five'],
  ['type', { type: 'number' }, '1e3', '0x10'],
  ['type', { type: 'number' }, 2 ** 53 - 1, '9007199254740993'],
  ['type', {}, 5, { a: 1 }],
  ['type', { type: 'checkbox' }, 'true', 'maybe'],
  ['type', { type: 'list', subform: 's' }, [], 'rows'],
  ['validYaml', { type: 'yaml' }, 'a: &x {b: 1}\nc: {<<: *x}', 'a: [1'],
  ['choice', { type: 'radio', values: ['a'] }, 'a', 'b'],
  ['in', { in: { field: 'list', description: 'd' } }, 'a', 'c'],
  [
    'in',
    { type: 'expression', in: { field: 'list', description: 'd' }, editable: true, expression: '1' },
    ['a', 'b'],
    ['a', 'c'],
  ],
  ['notIn', { notIn: { field: 'list', description: 'd' } }, 'c', 'a'],
  ['notIn', { type: 'yaml', notIn: { field: 'list', description: 'd' } }, ['c', 'd'], ['c', 'a']],
  ['sameAs', { sameAs: 'word' }, 'x', 'y'],
  ['sameAs', { sameAs: 'three' }, '3', '4'],
  ['sameAs', { type: 'yaml', sameAs: 'list' }, ['a', 'b'], ['a', 'c']],
])('%s of %j takes %j and refuses %j', async (rule, field, taken, refused) => {
  covers('field.rules', 'field.checkbox')
  const ruled = rule === 'required' ? { ...field, required: true } : field
  expect(await broken(ruled, taken)).toEqual([])
  expect(await broken(ruled, refused)).toEqual([rule])
})

test.each<[field: object, more: object, rules: string[]]>([
  [{ validIf: { field: 'word', description: 'd' } }, {}, []],
  [{ validIf: { field: 'no', description: 'd' } }, {}, ['validIf']],
  [{ validIfNot: { field: 'no', description: 'd' } }, {}, []],
  [{ validIfNot: { field: 'word', description: 'd' } }, {}, ['validIfNot']],
  [{ in: { field: 'word', description: 'd' } }, {}, ['in']],
  [{ notIn: { field: 'word', description: 'd' } }, {}, ['notIn']],
  [{ type: 'file', minSize: 100, maxSize: 100, regex: 'txt$' }, OF_A_FILE, []],
  [{ type: 'file', minSize: 101 }, OF_A_FILE, ['minSize']],
  [{ type: 'file', maxSize: 99, regex: 'iso$' }, OF_A_FILE, ['maxSize', 'regex']],
  // A limit that nobody can know does not count.
  [{ maxLength: '$(nobody)', minLength: '$(no)' }, {}, []],
  [{ maxLength: '$(word)' }, {}, []],
])('%j', async (field, more, rules) => {
  expect(await broken(field, 'x', more)).toEqual(rules)
})

test('empty optional values pass every rule', async () => {
  const named = { field: 'nothing', description: 'd' }
  const rules = { minLength: 3, minValue: 9, regex: 'never', validIf: named, in: named, sameAs: 'nothing' }
  for (const value of ['', null, undefined]) expect(await broken(rules, value)).toEqual([])
})

test('all broken rules are told in their order, in the words of the form, which may name other fields', async () => {
  covers('field.rules', 'field.placeholders')
  const words = { expression: 'x', description: 'not like $(o)' }
  const fields = [
    { name: 'f', label: 'F', sameAs: 'o', maxLength: 1, regex: words, minLength: 9 },
    { name: 'o' },
    { name: 'm', required: true },
  ]
  const { details } = await check(formOf(fields), { f: 'abc', o: 'abd' })
  expect(details).toMatchObject({ missing: ['m'], invalid: ['f'], waiting: [], uploads: [], rowErrors: {} })
  expect(details.validationErrors.f?.map(({ type }) => type)).toEqual(['minLength', 'maxLength', 'regex', 'sameAs'])
  expect(details.validationErrors.f?.[2]?.description).toBe('not like abd')
})

test('a pattern that would run for ever is stopped and refused, and the rest is checked', async () => {
  covers('field.regex')
  const fields = [
    { name: 'f', regex: { expression: '^(a+)+$', description: 'd' } },
    { name: 'g', regex: { expression: '^b$', description: 'only b' } },
  ]
  const { details } = await check(formOf(fields), { f: `${'a'.repeat(60)}!`, g: 'c' })
  expect(details.invalid).toEqual(['f', 'g'])
  expect(details.validationErrors.f?.[0]?.description).toContain('takes too long')
})

const [MONDAY, SUNDAY] = ['2026-03-02T00:00:00.000Z', '2026-03-08T23:59:59.999Z']
/** A week that is an hour longer: the clocks are set back. */
const OF_AUTUMN = ['2026-10-18T22:00:00.000Z', '2026-10-25T22:59:59.999Z']
test.each<[Parameters<typeof isDateValue>[0], good: unknown[], bad: unknown[]]>([
  ['date', ['2024-02-29', '2026-03-09T11:22:33.444Z'], ['2026-02-29', '2026-3-9', '09.03.2026', 20260309]],
  ['datetime', ['2026-03-09 14:00', '2026-03-09T14:00:00+01:00'], ['2026-03-09', '2026-02-30T14:00:00']],
  ['time', ['14:30', { hours: 23, minutes: 59 }], ['24:00', '1:30', { hours: 24, minutes: 0 }, { hours: 1 }]],
  ['month', ['2026-03', { month: 0, year: 2026 }], ['2026-13', { month: 12, year: 2026 }, { month: 1 }, null]],
  ['year', ['2026', 2026], ['26', 0, 20260, 2026.5, { year: 2026 }]],
  [
    'week',
    ['2026-W53', '2020-W53', [MONDAY, SUNDAY], OF_AUTUMN],
    ['2026-W00', '2025-W53', [SUNDAY, MONDAY], [MONDAY], [MONDAY, MONDAY], [MONDAY, OF_AUTUMN[1]]],
  ],
  [null, ['2026-03-09'], ['14:30', '2026', {}, []]],
])('a date field of a %s takes %j and refuses %j', (dateType, good, bad) => {
  expect(good.filter((value) => !isDateValue(dateType, value))).toEqual([])
  expect(bad.filter((value) => isDateValue(dateType, value))).toEqual([])
})
