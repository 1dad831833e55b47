import { describe, expect, test } from 'vitest'
import { parseField } from '../../../control-plane/src/forms/fields/parse-field.js'
import { choose, columnOf, optionsOf } from '../../../control-plane/src/forms/values/choices.js'
import { outputOf, putAt, putField } from '../../../control-plane/src/forms/values/extravars.js'
import { isBlank, isEmpty, isPlainObject, isSame, partOf } from '../../../control-plane/src/forms/values/plain.js'

const choice = (more: object = {}) => parseField({ name: 'f', type: 'enum', values: [], ...more })
const radio = parseField({ name: 'f', type: 'radio', values: [] })
const nothing = { ok: true, value: undefined }
const none = { ok: false, reason: 'not among the options' }

describe('a choice', () => {
  test.each([[undefined], [null], [''], ['__none__']])('%j chooses nothing', (sent) => {
    expect(choose(choice(), ['a', 'b'], sent)).toEqual(nothing)
    expect(choose(choice({ multiple: true }), ['a', 'b'], sent)).toEqual(nothing)
  })

  test('__auto__ is the first option, in a list when there may be several', () => {
    expect(choose(choice(), ['a', 'b'], '__auto__')).toEqual({ ok: true, value: 'a' })
    expect(choose(choice({ multiple: true }), ['a', 'b'], '__auto__')).toEqual({ ok: true, value: ['a'] })
  })

  test('__all__ is every option, and too many when one is expected', () => {
    expect(choose(choice({ multiple: true }), ['a', 'b'], '__all__')).toEqual({ ok: true, value: ['a', 'b'] })
    expect(choose(choice(), ['a', 'b'], '__all__')).toEqual({ ok: false, reason: 'takes one choice' })
  })

  test('an option that is a list can be chosen, also when it is the first one', () => {
    expect(choose(choice(), [['a', 'b'], ['c']], ['a', 'b'])).toEqual({ ok: true, value: ['a', 'b'] })
    expect(choose(choice(), [['a', 'b'], ['c']], ['c'])).toEqual({ ok: true, value: ['c'] })
    expect(choose(choice(), [['a', 'b']], ['a'])).toEqual({ ok: false, reason: 'takes one choice' })
  })

  test('the word for no value does not stand for an option without a value', () => {
    expect(choose(choice(), [{}], 'undefined')).toEqual(none)
    expect(choose(choice(), [null], 'null')).toEqual(none)
  })

  test('of several, each must be an option, and one alone makes a list', () => {
    const several = choice({ multiple: true, valueColumn: '*' })
    expect(choose(several, [{ id: 1 }, { id: 2 }], [2, { id: 1 }])).toEqual({ ok: true, value: [{ id: 2 }, { id: 1 }] })
    expect(choose(several, [{ id: 1 }], 1)).toEqual({ ok: true, value: [{ id: 1 }] })
    expect(choose(several, [{ id: 1 }], [1, 9])).toEqual(none)
    expect(choose(choice({ multiple: true }), [1], [['1']])).toEqual(none)
  })

  test('of radio buttons is known by its value, with or without its label', () => {
    expect(choose(radio, ['y', 'n'], { label: 'Yes', value: 'y' })).toEqual({ ok: true, value: 'y' })
    expect(choose(radio, ['y', 'n'], 'n')).toEqual({ ok: true, value: 'n' })
    expect(choose(choice(), ['y'], { label: 'Yes', value: 'y' })).toEqual(none)
  })

  test('a part of a record must have a key, and each key must be one of the record', () => {
    expect(choose(choice(), [{ id: 1, name: 'x' }], { name: 'x' })).toEqual({ ok: true, value: { id: 1, name: 'x' } })
    expect(choose(choice(), [{ id: 1 }], {})).toEqual(none)
    expect(choose(choice(), [{ id: 1 }], { id: 1, more: undefined })).toEqual(none)
    expect(choose(choice(), ['text'], { length: 4 })).toEqual(none)
  })
})

describe('options', () => {
  test.each([
    [undefined, []],
    [null, []],
    [['a'], ['a']],
    [{ a: 1 }, [{ a: 1 }]],
    ['a text', null],
    [0, null],
  ])('of %j are %j', (source, options) => {
    expect(optionsOf(choice(), source)).toEqual(options)
  })

  test('of radio buttons are their values, and a record without a value stays as it is', () => {
    expect(optionsOf(radio, [{ label: 'Yes', value: 'y' }, { label: 'No' }, 'n'])).toEqual(['y', { label: 'No' }, 'n'])
    expect(optionsOf(choice(), [{ label: 'Yes', value: 'y' }])).toEqual([{ label: 'Yes', value: 'y' }])
  })

  test('a record stands for the named column, or else for its first one', () => {
    const record = { id: 1, name: 'x' }
    expect(columnOf(record, 'name')).toBe('x')
    expect(columnOf(record, 'gone')).toBe(1)
    expect(columnOf(record, null)).toBe(1)
    expect(columnOf(record, '*')).toBe(record)
  })
})

describe('plain values', () => {
  test('an object with names is neither a list nor null', () => {
    expect([{}, { a: 1 }, [], null, 'a', undefined].map(isPlainObject)).toEqual([
      true,
      true,
      false,
      false,
      false,
      false,
    ])
  })

  test.each<[unknown, boolean, boolean]>([
    [undefined, true, true],
    [null, true, true],
    ['', true, true],
    [[], true, true],
    ['  ', false, true],
    [{}, false, true],
    [[0], false, false],
    [{ length: 0 }, false, false],
    [0, false, false],
    [false, false, false],
    ['a', false, false],
  ])('%j is empty: %j, blank: %j', (value, empty, blank) => {
    expect([isEmpty(value), isBlank(value)]).toEqual([empty, blank])
  })

  test.each<[unknown, unknown, boolean]>([
    [{ a: 1, b: [2] }, { b: [2], a: 1 }, true],
    [[1, [2]], [1, [2]], true],
    [[1], [1, 2], false],
    [[1, 2], [1, 3], false],
    [{ a: 1 }, { a: 1, b: 2 }, false],
    [{ a: undefined }, { b: undefined }, false],
    [['a'], { 0: 'a', length: 1 }, false],
    [{ 0: 'a', length: 1 }, ['a'], false],
    [{ 0: 'x' }, 'x', false],
    [{}, [], false],
    [[], {}, false],
    [{}, null, false],
    [null, {}, false],
    [1, '1', false],
  ])('%j and %j are the same: %j', (one, other, same) => {
    expect(isSame(one, other)).toBe(same)
  })

  test.each<[unknown, (string | number)[], unknown]>([
    [{ a: [{ b: 1 }] }, ['a', 0, 'b'], 1],
    [{ a: 1 }, [], { a: 1 }],
    [{ a: null }, ['a', 'b'], undefined],
    [{ a: 'text' }, ['a', 0], undefined],
    [{}, ['toString'], undefined],
    [null, ['a'], undefined],
  ])('in %j, %j leads to %j', (value, steps, part) => {
    expect(partOf(value, steps)).toEqual(part)
  })
})

describe('a value for the playbook', () => {
  test('a month of the date picker counts from one there, and other values stay', () => {
    const month = parseField({ name: 'f', type: 'datetime', dateType: 'month' })
    expect(outputOf(month, { month: 0, year: 2026 })).toEqual({ month: 1, year: 2026 })
    expect(outputOf(month, '2026-03')).toBe('2026-03')
    expect(outputOf(month, { year: 2026 })).toEqual({ year: 2026 })
    expect(outputOf(parseField({ name: 'f', type: 'datetime', dateType: 'date' }), { month: 0 })).toEqual({ month: 0 })
  })

  test.each(['file', 'yaml', 'datetime'] as const)('a field of type %s sends the whole value', (type) => {
    expect(outputOf(parseField({ name: 'f', type }), { a: 1, b: 2 })).toEqual({ a: 1, b: 2 })
  })

  test('an expression and a list send the whole value, a choice one column', () => {
    const records = [{ a: 1, b: 2 }]
    expect(outputOf(parseField({ name: 'f', type: 'expression', value: 0 }), records)).toEqual(records)
    expect(outputOf(parseField({ name: 'f', type: 'list', subform: 's' }), records)).toEqual(records)
    expect(outputOf(choice({ outputObject: true }), records)).toEqual(records)
    expect(outputOf(choice(), records)).toEqual([1])
  })

  test('a value at a place of a list has no holes before it', () => {
    const into = {}
    putAt(into, ['a', 2], 'x')
    expect(into).toEqual({ a: [null, null, 'x'] })
    putAt(into, ['a', 1, 'b'], 'y')
    expect(into).toEqual({ a: [null, { b: 'y' }, 'x'] })
  })

  test('a single value on the way is not replaced, and a list takes no names', () => {
    const into = { text: 'x', zero: 0, list: [1], none: null }
    putAt(into, ['text', 'a'], 1)
    putAt(into, ['zero', 'a'], 1)
    putAt(into, ['list', 'a'], 1)
    putAt(into, ['none', 'a'], 1)
    expect(into).toEqual({ text: 'x', zero: 0, list: [1], none: { a: 1 } })
  })

  test('objects at one place are merged at every depth, and share nothing with what was put', () => {
    const into = {}
    const first = { deep: { a: 1 }, list: [1] }
    putAt(into, ['x'], first)
    putAt(into, ['x'], { deep: { b: 2 }, list: [2] })
    expect(into).toEqual({ x: { deep: { a: 1, b: 2 }, list: [2] } })
    expect(first).toEqual({ deep: { a: 1 }, list: [1] })
  })

  test('a value of another kind replaces the one at its place', () => {
    for (const [before, after] of [
      [{ a: 1 }, 5],
      [{ a: 1 }, ['b']],
      ['ab', { c: 1 }],
      [[1], { c: 1 }],
    ]) {
      const into = { x: before }
      putAt(into, ['x'], after)
      expect(into).toEqual({ x: after })
    }
  })

  test('a field with two places puts its value at both, and nothing when it has none', () => {
    const field = parseField({ name: 'f', model: ['a.x', '/b'] })
    const into: Record<string, { y?: number }> = {}
    putField(into, field, undefined)
    expect(into).toEqual({})
    putField(into, field, { y: 1 }, ['step'])
    expect(into).toEqual({ step: { a: { x: { y: 1 } } }, b: { y: 1 } })
    putAt(into, ['b', 'y'], 2)
    expect(into).toEqual({ step: { a: { x: { y: 1 } } }, b: { y: 2 } })
    // What was put is an ordinary property.
    into['b'] = {}
    delete into['step']
    expect(into).toEqual({ b: {} })
  })
})
