import { describe, expect, test } from 'vitest'
import type { CheckInput } from '../../../control-plane/src/forms/check/context.js'
import { check, formOf } from './check.js'
import { covers } from '../../interface/covers.js'

/** The rules that the field `f` breaks, by their names. */
async function broken(
  field: object,
  values: Record<string, unknown>,
  others: object[] = [],
  more?: Partial<CheckInput>,
) {
  const { details } = await check(formOf([{ name: 'f', ...field }, ...others]), values, more)
  return (details.validationErrors.f ?? []).map((error) => error.type)
}

describe('each rule', () => {
  test.each<[string, object, unknown, string[]]>([
    ['required refuses nothing', { required: true }, undefined, ['required']],
    ['required refuses null', { required: true }, null, ['required']],
    ['required refuses blanks', { required: true }, '  ', ['required']],
    ['required takes a text', { required: true }, 'x', []],
    ['required takes zero', { type: 'number', required: true }, 0, []],
    ['a required checkbox must be true', { type: 'checkbox', required: true }, false, ['required']],
    ['a required checkbox that is true', { type: 'checkbox', required: true }, true, []],
    [
      'a required enum needs a choice',
      { type: 'enum', values: ['a'], required: true, multiple: true },
      [],
      ['required'],
    ],
    ['a required yaml field takes an empty object', { type: 'yaml', required: true }, {}, []],
    ['yaml must be valid YAML', { type: 'yaml' }, 'a: [1', ['validYaml']],
    ['minValue', { type: 'number', minValue: 3 }, 2, ['minValue']],
    ['minValue at its bound', { type: 'number', minValue: 3 }, 3, []],
    ['maxValue', { type: 'number', maxValue: 3 }, 4, ['maxValue']],
    ['minLength', { minLength: 3 }, 'ab', ['minLength']],
    ['minLength at its bound', { minLength: 3 }, 'abc', []],
    ['maxLength', { maxLength: 3 }, 'abcd', ['maxLength']],
    ['maxLength also holds for a number that a client sends as text', { maxLength: 3 }, 12345, ['maxLength']],
    ['regex matches anywhere', { regex: { expression: 'b+', description: 'd' } }, 'abbc', []],
    ['regex refuses', { regex: { expression: '^b+$', description: 'd' } }, 'abbc', ['regex']],
    ['regex knows lookaheads', { regex: { expression: '^(?=.*\\d)(?=.*[A-Z]).{4,}$' } }, 'abC1', []],
    ['regex knows back references', { regex: { expression: '^(a|b)\\1$' } }, 'ab', ['regex']],
    ['a number is a number', { type: 'number' }, 'five', ['type']],
    ['a number may come as text', { type: 'number', minValue: 4 }, '5', []],
    ['a text is no object', {}, { a: 1 }, ['type']],
    ['a checkbox is no word', { type: 'checkbox' }, 'maybe', ['type']],
    ['a list is a list', { type: 'list', subform: 's' }, 'rows', ['type']],
  ])('%s', async (_what, field, value, expected) => {
    covers('field.rules', 'field.checkbox')
    const values = value === undefined ? {} : { f: value }
    const { details } = await check(formOf([{ name: 'f', ...field }], { s: [] }), values)
    expect((details.validationErrors.f ?? []).map((error) => error.type)).toEqual(expected)
  })

  test.each<[string, object, unknown, unknown, string[]]>([
    ['validIf: the other field is true', { validIf: { field: 'o', description: 'd' } }, 'x', true, []],
    ['validIf: it is not', { validIf: { field: 'o', description: 'd' } }, 'x', '', ['validIf']],
    ['validIfNot: it is', { validIfNot: { field: 'o', description: 'd' } }, 'x', 'y', ['validIfNot']],
    ['in: the list holds the value', { in: { field: 'o', description: 'd' } }, 'x', ['x', 'y'], []],
    ['in: it does not', { in: { field: 'o', description: 'd' } }, 'z', ['x', 'y'], ['in']],
    ['in: there is no list', { in: { field: 'o', description: 'd' } }, 'x', 'x', ['in']],
    ['notIn: the list holds the value', { notIn: { field: 'o', description: 'd' } }, 'x', ['x'], ['notIn']],
    ['notIn: it does not', { notIn: { field: 'o', description: 'd' } }, 'z', ['x'], []],
    ['notIn: there is no list', { notIn: { field: 'o', description: 'd' } }, 'z', 'x', ['notIn']],
    ['sameAs: the same', { sameAs: 'o' }, 'x', 'x', []],
    ['sameAs: loosely the same', { sameAs: 'o' }, '5', 5, []],
    ['sameAs: another', { sameAs: 'o' }, 'x', 'y', ['sameAs']],
  ])('%s', async (_what, field, value, other, expected) => {
    expect(
      await broken(field, { f: value, o: other }, [{ name: 'o', type: 'expression', expression: '1', editable: true }]),
    ).toEqual(expected)
  })

  test.each([
    ['minSize', { minSize: 101 }, ['minSize']],
    ['maxSize', { maxSize: 99 }, ['maxSize']],
    ['the sizes of the disk, at the bounds', { minSize: 100, maxSize: 100 }, []],
    ['regex looks at the name of the file', { regex: { expression: '\\.iso$', description: 'd' } }, ['regex']],
  ])('a file: %s', async (_what, field, expected) => {
    const uploads = { f: { originalname: 'a.txt', size: 100, description: { path: '/kept/a' } } }
    expect(await broken({ type: 'file', ...field }, {}, [], { uploads })).toEqual(expected)
  })

  test('empty optional values pass every rule', async () => {
    const rules = {
      minLength: 3,
      maxLength: 1,
      minValue: 9,
      maxValue: 1,
      regex: { expression: 'never', description: 'd' },
      validIf: { field: 'nothing', description: 'd' },
      in: { field: 'nothing', description: 'd' },
      sameAs: 'nothing',
    }
    for (const value of ['', null, undefined]) {
      expect(await broken(rules, value === undefined ? {} : { f: value })).toEqual([])
    }
  })

  test('all broken rules are reported in their order, a missing value under missing and the others under invalid', async () => {
    covers('field.rules')
    const rules = {
      sameAs: 'o',
      maxLength: 1,
      regex: { expression: 'x', description: 'no x' },
      minLength: 9,
      label: 'F',
    }
    const form = formOf([{ name: 'f', ...rules }, { name: 'o' }, { name: 'm', required: true, label: 'Must' }])
    const { details } = await check(form, { f: 'abc', o: 'abd' })
    expect(details).toMatchObject({ missing: ['m'], invalid: ['f'], waiting: [], uploads: [], rowErrors: {} })
    expect(details.validationErrors).toEqual({
      f: [
        { type: 'minLength', description: 'F must be at least 9 characters long' },
        { type: 'maxLength', description: 'F must be at most 1 characters long' },
        { type: 'regex', description: 'no x' },
        { type: 'sameAs', description: "Must match the field 'o'" },
      ],
      m: [{ type: 'required', description: 'Must is required' }],
    })
  })
})

describe('placeholders in limits and messages', () => {
  test('a limit may name another field, and so may a message', async () => {
    covers('field.placeholders')
    const fields = [
      { name: 'f', type: 'number', maxValue: '$(most)' },
      { name: 'most', type: 'number' },
      { name: 'g', regex: { expression: '^z', description: 'not like $(most)' } },
    ]
    const { details } = await check(formOf(fields), { f: 6, most: 5, g: 'a' })
    expect(details.validationErrors).toEqual({
      f: [{ type: 'maxValue', description: 'f must be at most 5' }],
      g: [{ type: 'regex', description: 'not like 5' }],
    })
  })

  test('a limit that cannot be known, or is not a number, is not applied', async () => {
    expect(await broken({ type: 'number', maxValue: '$(nobody)' }, { f: 6 })).toEqual([])
    expect(await broken({ type: 'number', maxValue: '$(o)' }, { f: 6, o: 'many' }, [{ name: 'o' }])).toEqual([])
  })

  test('constants and the launching user are known', async () => {
    const constants = { LIMITS: { disk: { most: 10 } } }
    expect(await broken({ type: 'number', maxValue: '$(LIMITS.disk.most)' }, { f: 11 }, [], { constants })).toEqual([
      'maxValue',
    ])
    const { extravars } = await check(formOf([{ name: 'f', default: 'by $(__user__.username)' }]), {})
    expect(extravars).toEqual({ f: 'by ann' })
  })
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
  expect(details.validationErrors.g).toEqual([{ type: 'regex', description: 'only b' }])
})
