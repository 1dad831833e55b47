import { describe, expect, test } from 'vitest'
import { covers } from '../../interface/covers.js'
import { check, formOf } from './check.js'

const extravarsOf = async (fields: object[], values: Record<string, unknown>, subforms = {}) => {
  const { details, extravars } = await check(formOf(fields, subforms), values)
  expect(details).toMatchObject({ missing: [], invalid: [], waiting: [], uploads: [] })
  return extravars
}

const SIZES = [
  { id: 1, name: 'small', gb: 4 },
  { id: 2, name: 'large', gb: 64 },
]

describe('a field is shown', () => {
  const A = { name: 'a', values: ['1', '2'] }
  const B = { name: 'b', values: ['1'] }
  const OTHERS = [
    { name: 'a' },
    { name: 'b' },
    { name: 'c', maxLength: 2 },
    { name: 'h', dependencies: [{ name: 'c', values: ['yes'] }] },
    { name: 'size', type: 'enum', values: SIZES, valueColumn: 'name' },
  ]
  test.each<[what: string, dependencies: object[], values: object, shown: boolean, dependencyFn?: string]>([
    ['a value among the values', [A], { a: '2' }, true],
    ['a value that is none of them', [A], { a: '3' }, false],
    ['types count', [{ name: 'a', values: [1] }], { a: '1' }, false],
    ['! inverts', [{ name: '!a', values: ['1'] }], { a: '3' }, true],
    ['and: all must hold', [A, B], { a: '1', b: '2' }, false],
    ['or: one must hold', [A, B], { a: '1' }, true, 'or'],
    ['nand: not all hold', [A, B], { a: '1', b: '2' }, true, 'nand'],
    ['nor: none holds', [A], { a: '1' }, false, 'nor'],
    ['an empty and is true', [], {}, true],
    ['an empty or is false', [], {}, false, 'or'],
    ['a field that is not there never holds', [{ name: 'nobody', values: ['1'] }], {}, false],
    ['isValid: the other breaks no rule', [{ name: 'c', isValid: true }], { c: 'ab' }, true],
    ['isValid: it breaks one', [{ name: 'c', isValid: true }], { c: 'abc' }, false],
    ['isValid: false', [{ name: 'c', isValid: false }], { c: 'abc' }, true],
    ['isValid: it is hidden', [{ name: 'h', isValid: true }], { c: 'ab' }, false],
    ['a column of a record', [{ name: 'size.gb', values: [64] }], { size: 'large' }, true],
    ['the value column', [{ name: 'size', values: ['small'] }], { size: 'large' }, false],
  ])('%s', async (_what, dependencies, values, shown, dependencyFn = 'and') => {
    covers('field.visibility')
    const field = { name: 'f', default: 'x', dependencies, dependencyFn }
    expect('f' in (await check(formOf([...OTHERS, field]), { ...values })).extravars).toBe(shown)
  })

  test('when it depends on one that depends on it, once the values of both are known', async () => {
    const either = [
      { name: 'b', isValid: true },
      { name: 'mode', values: ['on'] },
    ]
    const fields = [
      { name: 'mode' },
      { name: 'b', required: true, dependencies: [{ name: 'a', isValid: true }] },
      { name: 'a', dependencyFn: 'or', dependencies: either },
    ]
    expect(await extravarsOf(fields, { mode: 'on', a: 'x', b: 'y' })).toEqual({ mode: 'on', a: 'x', b: 'y' })
  })

  test('or else it is neither checked nor sent, and others see no value of it', async () => {
    covers('field.visibility')
    const hidden = { name: 'f', required: true, minLength: 5, dependencies: [{ name: 'a', values: ['show'] }] }
    const sees = { name: 'b', type: 'expression', runLocal: true, ignoreIncomplete: true, expression: 'typeof $(f)' }
    expect(await extravarsOf([{ name: 'a' }, hidden, sees], { a: 'no', f: 'x' })).toEqual({ a: 'no', b: 'undefined' })
    expect((await check(formOf([{ name: 'a' }, hidden]), { a: 'show' })).details.missing).toEqual(['f'])
  })
})

describe('choices', () => {
  test.each<[what: string, field: object, sent: unknown, expected: unknown]>([
    ['the whole record: its first column is sent', { values: SIZES }, SIZES[1], 2],
    ['a part of the record', { values: SIZES, valueColumn: 'name' }, { gb: 4 }, 'small'],
    ['the value that stands for the record', { values: SIZES, valueColumn: 'name' }, 'small', 'small'],
    ['a number as text', { values: [1, 2] }, '2', 2],
    ['outputObject sends the record', { values: SIZES, outputObject: true }, 2, SIZES[1]],
    ['valueColumn * sends the record', { values: SIZES, valueColumn: '*' }, { id: 2 }, SIZES[1]],
    ['several choices stay a list', { values: SIZES, multiple: true }, [2, 1], [2, 1]],
    ['one of several', { values: ['a', 'b'], multiple: true }, 'a', ['a']],
    ['__all__', { values: ['a', 'b'], multiple: true }, '__all__', ['a', 'b']],
    ['__auto__', { values: ['a', 'b'], default: '__auto__' }, undefined, 'a'],
    ['__none__', { values: ['a', 'b'], default: '__none__' }, undefined, undefined],
    ['a default that is no option chooses nothing', { values: ['a'], default: 'gone' }, undefined, undefined],
    ['an option that is a list', { values: [['a', 'b'], ['c']], valueColumn: '*' }, ['a', 'b'], ['a', 'b']],
    ['options from an expression', { expression: '[1, 2].map((n) => ({ n }))', runLocal: true }, 2, 2],
    ['a radio button by its value', { type: 'radio', values: [{ label: 'Yes', value: 'y' }] }, 'y', 'y'],
    ['a radio button with its label', { type: 'radio', values: [{ label: 'Y', value: 'y' }] }, { value: 'y' }, 'y'],
  ])('%s', async (_what, field, sent, expected) => {
    covers('field.value-column')
    const values = sent === undefined ? {} : { f: sent }
    expect((await extravarsOf([{ name: 'f', type: 'enum', ...field }], values)).f).toEqual(expected)
  })

  test.each<[what: string, field: object, sent: unknown]>([
    ['something else', {}, 3],
    ['a record with something added', {}, { ...SIZES[0], admin: true }],
    ['an empty record', {}, {}],
    ['several where one is expected', {}, [1, 2]],
    ['all where one is expected', {}, '__all__'],
    ['one of several', { multiple: true }, [1, 9]],
  ])('must be among the options: %s is refused', async (_what, field, sent) => {
    covers('field.choices')
    const { details } = await check(formOf([{ name: 'f', type: 'enum', values: SIZES, ...field }]), { f: sent })
    expect(details.validationErrors.f).toMatchObject([{ type: 'choice' }])
  })
})

test('a field that is not named gets its default, which may name others; one that is empty gets nothing', async () => {
  const fields = [
    { name: 'host', default: '$(site)-$(n)' },
    { name: 'site' },
    { name: 'n', type: 'number', default: '6 * 7', evalDefault: true },
    { name: 'c', type: 'checkbox' },
  ]
  expect(await extravarsOf(fields, { site: 'eu' })).toEqual({ host: 'eu-42', site: 'eu', n: 42, c: false })
  expect(await extravarsOf(fields, { host: '', n: null, c: true })).toEqual({ host: '', c: true })
})

describe('computed fields', () => {
  const local = (expression: string, more = {}) => ({
    name: 'f',
    type: 'expression',
    runLocal: true,
    expression,
    ...more,
  })

  test('an expression uses the values of the form, and the client can only set it where it may be edited', async () => {
    covers('field.expression')
    const fields = [{ name: 'a' }, { name: 'b', type: 'number' }, local("'$(a)'.toUpperCase() + ($(b) + 1)")]
    expect(await extravarsOf(fields, { a: 'x', b: 2, f: 'forged' })).toMatchObject({ f: 'X3' })
    expect(await extravarsOf([local('1', { editable: true })], { f: 'mine' })).toEqual({ f: 'mine' })
    expect(await extravarsOf([{ name: 'f', type: 'expression', value: { a: [1] } }], { f: 2 })).toEqual({
      f: { a: [1] },
    })
  })

  test('local is computed and not sent, local_out is sent, credential names a credential', async () => {
    const fields = [
      { name: 'a', type: 'local', expression: '1 + 1' },
      { name: 'b', type: 'local_out', expression: '$(a) * 2' },
      { name: 'c', type: 'credential', expression: '"cred" + $(b)' },
      { name: 'none', type: 'credential', expression: '""' },
    ]
    const { extravars, credentials } = await check(formOf(fields), {})
    expect(extravars).toMatchObject({ b: 4, c: 'cred4' })
    expect(extravars).not.toHaveProperty('a')
    expect(credentials).toEqual({ c: 'cred4' })
  })

  test('only a choice is replaced by one of its columns; other values stay complete', async () => {
    const fields = [
      { name: 'size', type: 'enum', values: SIZES, valueColumn: 'name', placeholderColumn: 'gb' },
      { name: 'all', type: 'local', expression: '({ first: 1, second: 2 })' },
      { name: 'f', type: 'local_out', expression: '[$(size), $(all)]' },
    ]
    expect(await extravarsOf(fields, { size: 'large' })).toMatchObject({ f: [64, { first: 1, second: 2 }] })
  })

  test('passwords that are there are collected, so that they can be hidden', async () => {
    const password = (name: string, more = {}) => ({ name, type: 'password', ...more })
    const hidden = password('hidden', { dependencies: [{ name: 'nobody', values: [1] }] })
    const fields = [password('a'), password('b'), password('none', { default: 'unseen' }), hidden]
    expect((await check(formOf(fields), { a: 'one', b: '', none: 'two', hidden: 'three' })).passwords).toEqual([
      'one',
      'two',
    ])
  })

  test.each<[what: string, source: object]>([
    ['query', { query: 'select 1', dbConfig: {} }],
    ['expression without runLocal', { expression: "fn.fnRestBasic('get', 'https://x')" }],
    ['function that is not there', { expression: 'fn.fnGone()' }],
  ])('%s: the value of the client if editable, else waiting', async (_what, source) => {
    covers('field.waiting')
    const field = { name: 'f', type: 'expression', ...source }
    expect(await extravarsOf([{ ...field, editable: true }], { f: 'mine' })).toEqual({ f: 'mine' })
    for (const type of ['expression', 'enum']) {
      expect((await check(formOf([{ ...field, type }]), { f: 'mine' })).details.waiting).toEqual(['f'])
    }
    const hidden = { ...field, dependencies: [{ name: 'nobody', values: [1] }] }
    expect((await check(formOf([hidden]), {})).details.waiting).toEqual([])
  })

  test('a missing value makes an expression or a query wait, unless it ignores that; a circle waits, too', async () => {
    const query = { name: 'q', type: 'enum', query: 'select $(a)' }
    const { details, asked } = await check(formOf([{ name: 'a' }, local('typeof $(a)'), query]), {})
    expect([details.waiting, asked]).toEqual([['f', 'q'], undefined])
    expect(await extravarsOf([{ name: 'a' }, local('typeof $(a)', { ignoreIncomplete: true })], {})).toEqual({
      f: 'undefined',
    })
    const circle = [local('$(g)'), { ...local('$(f)'), name: 'g' }, { name: 'h' }]
    expect((await check(formOf(circle), { h: 'x' })).details.waiting).toEqual(['f', 'g'])
  })

  test.each([
    ['an error', 'nope()'],
    ['a syntax error', 'a b'],
    ['a pattern without end', '/^(a+)+$/.test("a".repeat(60) + "!")'],
    ['endless depth', '(function f() { return f() })()'],
    ['no I/O: require', 'require("fs")'],
    ['no I/O: process', 'process.env'],
    ['no I/O: fetch', 'fetch("http://127.0.0.1")'],
  ])('%s makes the field wait and harms nothing else', async (_what, expression) => {
    covers('field.expression')
    const { details, extravars } = await check(formOf([local(expression), { name: 'g' }]), { g: 'x' })
    expect(details.waiting).toEqual(['f'])
    expect(extravars).toEqual({ g: 'x' })
  })

  test('expressions see the time of the launch', async () => {
    expect(await extravarsOf([local('new Date().toISOString() + Date.now()')], {})).toEqual({
      f: '2026-03-04T05:06:07.000Z1772600767000',
    })
  })
})

describe('the place in the extra variables', () => {
  test('output false leaves out a field, and so do noOutput and html', async () => {
    covers('field.output')
    const hidden = [
      { name: 'a', output: false },
      { name: 'b', noOutput: true },
      { name: 'c', type: 'html' },
    ]
    expect(await extravarsOf([...hidden, { name: 'd' }], { a: '1', b: '2', c: '3', d: '4', e: '5' })).toEqual({
      d: '4',
    })
  })

  test('model: dot paths with [n], objects merge deep, single values are overwritten, a blocked path is skipped', async () => {
    covers('field.model')
    const object = (name: string, value: unknown, model: string | string[]) => ({
      name,
      type: 'expression',
      value,
      model,
    })
    const fields = [
      object('a', 'root', 'vm.disks[0].name'),
      object('b', { size: 1, tags: { x: 1 } }, 'vm.disks[1]'),
      object('c', { tags: { y: 2 } }, ['vm.disks[1]', 'copy']),
      object('d', 'later', 'vm.disks[0].name'),
      object('e', 'lost', 'vm.disks[0].name.deeper'),
      object('g', 'third', 'list[2]'),
    ]
    expect(await extravarsOf(fields, {})).toEqual({
      vm: { disks: [{ name: 'later' }, { size: 1, tags: { x: 1, y: 2 } }] },
      copy: { tags: { y: 2 } },
      list: [null, null, 'third'],
    })
  })

  test('expression, yaml and datetime give the whole value; a month counts from one', async () => {
    const fields = [
      { name: 'e', type: 'expression', value: [{ a: 1, b: 2 }] },
      { name: 'y', type: 'yaml' },
      { name: 'm', type: 'datetime', dateType: 'month' },
    ]
    expect(await extravarsOf(fields, { y: 'a: [1, two]\nd: 2026-03-04', m: { month: 0, year: 2026 } })).toEqual({
      e: [{ a: 1, b: 2 }],
      y: { a: [1, 'two'], d: '2026-03-04' },
      m: { month: 1, year: 2026 },
    })
  })

  test('a file: the facts of the disk, never the values of the client', async () => {
    const form = formOf([{ name: 'iso', type: 'file', required: true }])
    const forged = { iso: { path: '/etc/passwd' } }
    expect((await check(form, forged)).details.missing).toEqual(['iso'])
    const upload = { originalname: 'a.iso', size: 1, description: { path: '/kept/1' } }
    expect((await check(form, forged, { uploads: { iso: upload } })).extravars).toEqual({ iso: { path: '/kept/1' } })
    expect((await check(form, {}, { uploads: { iso: upload, other: upload } })).details.uploads).toEqual(['other'])
  })
})
