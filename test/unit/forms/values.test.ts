import { describe, expect, test } from 'vitest'
import type { AskInScript } from '../../../control-plane/src/forms/check/evaluator.js'
import { loadQuickJs } from '../../../control-plane/src/forms/sandbox/quickjs.js'
import { NOW, check, formOf } from './check.js'
import { covers } from '../../interface/covers.js'

const extravarsOf = async (fields: object[], values: Record<string, unknown>, subforms = {}) => {
  const { details, extravars } = await check(formOf(fields, subforms), values)
  expect(details).toMatchObject({ missing: [], invalid: [], waiting: [], uploads: [] })
  return extravars
}

const SIZES = [
  { id: 1, name: 'small', gb: 4 },
  { id: 2, name: 'large', gb: 64 },
]

describe('visibility', () => {
  const shown = async (
    field: object,
    values: Record<string, unknown>,
    others: object[] = [{ name: 'a' }, { name: 'b' }],
  ) => 'f' in (await check(formOf([...others, { name: 'f', default: 'x', ...field }]), values)).extravars

  test.each<[string, object, Record<string, unknown>, boolean]>([
    ['a value among the values', { dependencies: [{ name: 'a', values: ['1', '2'] }] }, { a: '2' }, true],
    ['a value that is none of them', { dependencies: [{ name: 'a', values: ['1'] }] }, { a: '3' }, false],
    ['types count', { dependencies: [{ name: 'a', values: [1] }] }, { a: '1' }, false],
    ['! inverts', { dependencies: [{ name: '!a', values: ['1'] }] }, { a: '3' }, true],
    [
      'and: all must hold',
      {
        dependencies: [
          { name: 'a', values: ['1'] },
          { name: 'b', values: ['1'] },
        ],
      },
      { a: '1', b: '2' },
      false,
    ],
    [
      'or: one must hold',
      {
        dependencyFn: 'or',
        dependencies: [
          { name: 'a', values: ['1'] },
          { name: 'b', values: ['1'] },
        ],
      },
      { a: '1' },
      true,
    ],
    [
      'nand: not all hold',
      {
        dependencyFn: 'nand',
        dependencies: [
          { name: 'a', values: ['1'] },
          { name: 'b', values: ['1'] },
        ],
      },
      { a: '1', b: '2' },
      true,
    ],
    ['nor: none holds', { dependencyFn: 'nor', dependencies: [{ name: 'a', values: ['1'] }] }, { a: '1' }, false],
    ['an empty and is true', { dependencies: [] }, {}, true],
    ['an empty or is false', { dependencyFn: 'or', dependencies: [] }, {}, false],
    ['a field that is not there never holds', { dependencies: [{ name: 'nobody', values: ['1'] }] }, {}, false],
  ])('%s', async (_what, field, values, expected) => {
    covers('field.visibility')
    expect(await shown(field, values)).toBe(expected)
  })

  test('isValid: is true if the other field breaks no rule and is shown', async () => {
    const others = [
      { name: 'c', maxLength: 2 },
      { name: 'h', dependencies: [{ name: 'c', values: ['yes'] }] },
    ]
    const on = (name: string, isValid: boolean) => ({ dependencies: [{ name, isValid }] })
    expect(await shown(on('c', true), { c: 'ab' }, others)).toBe(true)
    expect(await shown(on('c', true), { c: 'abc' }, others)).toBe(false)
    expect(await shown(on('c', false), { c: 'abc' }, others)).toBe(true)
    expect(await shown(on('h', true), { c: 'ab' }, others)).toBe(false)
  })

  test('isValid: fields that depend on each other are judged by their values once these are known', async () => {
    const fields = [
      { name: 'mode' },
      { name: 'b', required: true, dependencies: [{ name: 'a', isValid: true }] },
      {
        name: 'a',
        dependencyFn: 'or',
        dependencies: [
          { name: 'b', isValid: true },
          { name: 'mode', values: ['on'] },
        ],
      },
      { name: 'after', dependencies: [{ name: 'b', isValid: true }] },
    ]
    const { details, extravars } = await check(formOf(fields), { mode: 'on', a: 'x', b: 'y', after: 'z' })
    expect(extravars).toEqual({ mode: 'on', a: 'x', b: 'y', after: 'z' })
    expect(details).toMatchObject({ validationErrors: {}, missing: [] })
  })

  test('field.column compares a column of the chosen record; without one, the value column', async () => {
    const others = [{ name: 'size', type: 'enum', values: SIZES, valueColumn: 'name' }]
    expect(await shown({ dependencies: [{ name: 'size.gb', values: [64] }] }, { size: 'large' }, others)).toBe(true)
    expect(await shown({ dependencies: [{ name: 'size', values: ['small'] }] }, { size: 'large' }, others)).toBe(false)
  })

  test('a hidden field is neither checked nor sent, whatever the client sends for it', async () => {
    covers('field.visibility')
    const fields = [
      { name: 'a' },
      { name: 'f', required: true, minLength: 5, dependencies: [{ name: 'a', values: ['show'] }] },
    ]
    expect(await extravarsOf(fields, { a: 'no', f: 'x' })).toEqual({ a: 'no' })
    expect((await check(formOf(fields), { a: 'show' })).details.missing).toEqual(['f'])
  })

  test('a field that depends on a hidden field sees no value of it', async () => {
    const fields = [
      { name: 'a', dependencies: [{ name: 'never', values: [1] }] },
      { name: 'b', type: 'expression', runLocal: true, ignoreIncomplete: true, expression: 'typeof $(a)' },
    ]
    expect(await extravarsOf(fields, { a: 'sent' })).toEqual({ b: 'undefined' })
  })
})

describe('choices', () => {
  const size = { name: 'size', type: 'enum', values: SIZES }
  test.each<[string, object, unknown, unknown]>([
    ['an option as it is', { values: ['a', 'b'] }, 'b', 'b'],
    ['the whole record: its first column is sent', { values: SIZES }, SIZES[1], 2],
    ['a part of the record', { values: SIZES, valueColumn: 'name' }, { gb: 4 }, 'small'],
    ['the value that stands for the record', { values: SIZES, valueColumn: 'name' }, 'small', 'small'],
    ['a number as text', { values: [1, 2] }, '2', 2],
    ['outputObject sends the record', { values: SIZES, outputObject: true }, 2, SIZES[1]],
    ['valueColumn * sends the record', { values: SIZES, valueColumn: '*' }, { id: 2 }, SIZES[1]],
    ['several choices stay a list', { values: SIZES, multiple: true }, [2, 1], [2, 1]],
    ['one of several', { values: ['a', 'b'], multiple: true }, 'a', ['a']],
    ['__all__', { values: ['a', 'b'], multiple: true, default: '__all__' }, undefined, ['a', 'b']],
    ['__auto__', { values: ['a', 'b'], default: '__auto__' }, undefined, 'a'],
    ['__none__', { values: ['a', 'b'], default: '__none__' }, undefined, undefined],
    ['a default that is no option chooses nothing', { values: ['a'], default: 'gone' }, undefined, undefined],
    [
      'options from an expression',
      { expression: '[1, 2].map((n) => ({ n, twice: 2 * n }))', runLocal: true, valueColumn: 'twice' },
      4,
      4,
    ],
  ])('enum: %s', async (_what, field, sent, expected) => {
    covers('field.value-column')
    const values = sent === undefined ? {} : { f: sent }
    expect((await extravarsOf([{ name: 'f', type: 'enum', ...field }], values)).f).toEqual(expected)
  })

  test('radio: the value of an option, not its label', async () => {
    const radio = { name: 'f', type: 'radio', values: [{ label: 'Yes', value: 'y' }, 'n'] }
    expect(await extravarsOf([radio], { f: 'y' })).toEqual({ f: 'y' })
    expect(await extravarsOf([radio], { f: { label: 'Yes', value: 'y' } })).toEqual({ f: 'y' })
  })

  test.each<[string, object, unknown]>([
    ['something else', size, 3],
    ['a record with something added', size, { ...SIZES[0], admin: true }],
    ['an empty record', size, {}],
    ['several where one is expected', size, [1, 2]],
    ['one of several', { ...size, multiple: true }, [1, 9]],
    ['another radio button', { type: 'radio', values: ['a'] }, 'b'],
  ])('a choice must be among the options: %s is refused', async (_what, field, sent) => {
    covers('field.choices')
    const { details } = await check(formOf([{ ...field, name: 'f' }]), { f: sent })
    expect(details.invalid).toEqual(['f'])
    expect(details.validationErrors.f).toMatchObject([{ type: 'choice' }])
  })
})

describe('defaults', () => {
  test('a field that is not named gets its default, one that is null or empty gets nothing', async () => {
    const fields = [
      { name: 'f', default: 'x' },
      { name: 'n', type: 'number', default: 5 },
      { name: 'c', type: 'checkbox' },
    ]
    expect(await extravarsOf(fields, {})).toEqual({ f: 'x', n: 5, c: false })
    expect(await extravarsOf(fields, { f: '', n: null, c: true })).toEqual({ f: '', c: true })
  })

  test('a default may name other fields, and evalDefault is evaluated', async () => {
    const fields = [
      { name: 'host', default: '$(site)-$(n)' },
      { name: 'site' },
      { name: 'n', type: 'number', default: '6 * 7', evalDefault: true },
    ]
    expect(await extravarsOf(fields, { site: 'eu' })).toEqual({ host: 'eu-42', site: 'eu', n: 42 })
  })
})

describe('computed fields', () => {
  const local = (expression: string, more = {}) => ({
    name: 'f',
    type: 'expression',
    runLocal: true,
    expression,
    ...more,
  })

  test('an expression uses the values of the form, and the client cannot set it', async () => {
    covers('field.expression')
    const fields = [{ name: 'a' }, { name: 'b', type: 'number' }, local("'$(a)'.toUpperCase() + ($(b) + 1)")]
    expect(await extravarsOf(fields, { a: 'x', b: 2, f: 'forged' })).toMatchObject({ f: 'X3' })
  })

  test('the value of an editable one comes from the client', async () => {
    expect(await extravarsOf([local('1', { editable: true })], { f: 'mine' })).toEqual({ f: 'mine' })
    expect(await extravarsOf([local('1', { editable: true })], {})).toEqual({ f: 1 })
  })

  test('value: any value stays unchanged', async () => {
    expect(await extravarsOf([{ name: 'f', type: 'expression', value: { a: [1] } }], { f: 2 })).toEqual({
      f: { a: [1] },
    })
  })

  test('local is computed and not sent, local_out is sent, credential names a credential', async () => {
    const fields = [
      { name: 'a', type: 'local', expression: '1 + 1' },
      { name: 'b', type: 'local_out', expression: '$(a) * 2' },
      { name: 'c', type: 'credential', expression: '"cred" + $(b)' },
    ]
    const { extravars, credentials } = await check(formOf(fields), {})
    expect(extravars).toEqual({ b: 4, c: 'cred4' })
    expect(credentials).toEqual({ c: 'cred4' })
  })

  test('a credential without a name is not used', async () => {
    const credential = (name: string, expression: string) => ({ name, type: 'credential', expression })
    const fields = [
      credential('a', '""'),
      credential('b', 'null'),
      credential('c', 'undefined'),
      credential('d', '"x"'),
    ]
    expect((await check(formOf(fields), {})).credentials).toEqual({ d: 'x' })
  })

  test('only a choice is replaced by one of its columns; other values stay complete', async () => {
    const fields = [
      { name: 'size', type: 'enum', values: SIZES, valueColumn: 'name', placeholderColumn: 'gb' },
      { name: 'all', type: 'local', expression: '({ first: 1, second: 2 })' },
      { name: 'f', type: 'local_out', expression: '[$(size), $(all)]' },
    ]
    expect(await extravarsOf(fields, { size: 'large' })).toMatchObject({ f: [64, { first: 1, second: 2 }] })
  })

  test('existing passwords are collected, so that they can be hidden', async () => {
    const password = (name: string, more = {}) => ({ name, type: 'password', ...more })
    const fields = [
      password('a'),
      password('b'),
      password('c'),
      password('none', { default: 'unseen' }),
      password('hidden', { dependencies: [{ name: 'nobody', values: [1] }] }),
    ]
    const { passwords } = await check(formOf(fields), { a: 'one', b: '', c: null, none: 'two', hidden: 'three' })
    expect(passwords).toEqual(['one', 'two'])
  })

  test.each<[string, object]>([
    ['query', { query: 'select 1', dbConfig: {} }],
    ['expression without runLocal', { expression: "fn.fnRestBasic('get', 'https://x')" }],
  ])('%s: the value of the client if editable, else waiting', async (_what, source) => {
    covers('field.waiting')
    const field = { name: 'f', type: 'expression', ...source }
    expect(await extravarsOf([{ ...field, editable: true }], { f: 'mine' })).toEqual({ f: 'mine' })
    expect((await check(formOf([field]), { f: 'mine' })).details.waiting).toEqual(['f'])
    expect((await check(formOf([{ ...field, type: 'enum' }]), { f: 'mine' })).details.waiting).toEqual(['f'])
    const hidden = { ...field, dependencies: [{ name: 'nobody', values: [1] }] }
    expect((await check(formOf([hidden]), {})).details.waiting).toEqual([])
  })

  test('a value that is missing makes an expression wait, unless it ignores that', async () => {
    const fields = [{ name: 'a' }, local('typeof $(a)')]
    expect((await check(formOf(fields), {})).details).toMatchObject({
      waiting: ['f'],
      validationErrors: { f: [{ type: 'waiting', description: expect.stringContaining('a') as string }] },
    })
    expect(await extravarsOf([{ name: 'a' }, local('typeof $(a)', { ignoreIncomplete: true })], {})).toEqual({
      f: 'undefined',
    })
  })

  test.each([
    ['an error', 'nope()'],
    ['a syntax error', 'a b'],
    ['an endless loop', 'while (true) {}'],
    ['a pattern without end', '/^(a+)+$/.test("a".repeat(60) + "!")'],
    ['endless memory', 'let a = []; for (;;) a.push("x".repeat(10000) + a.length)'],
    ['endless depth', '(function f() { return f() })()'],
    ['a result too large', '"x".repeat(2000000)'],
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

  test('fields that depend on each other wait, and say so', async () => {
    const fields = [local('$(g)'), { ...local('$(f)'), name: 'g' }, { name: 'h' }]
    const { details } = await check(formOf(fields), { h: 'x' })
    expect(details.waiting).toEqual(['f', 'g'])
  })

  test('a thousand fields in a row, each depending on the next', async () => {
    const fields = Array.from({ length: 1000 }, (_, index) => ({
      name: `f${index}`,
      ...(index === 999 ? {} : { dependencies: [{ name: `f${index + 1}`, values: ['x'] }] }),
    }))
    const values = Object.fromEntries(fields.map((field) => [field.name, 'x']))
    expect(Object.keys(await extravarsOf(fields, values))).toHaveLength(1000)
  })
})

test('a script that asks has neither a value nor an error of its own before the answer is there', async () => {
  const evaluator = (await loadQuickJs())(NOW)
  const evaluate = (ask: AskInScript) => evaluator.evaluate("fn.fnRestBasic('get', 'http://x/')", {}, true, ask)
  expect(evaluate(() => null)).toEqual({ ok: false, reason: 'it asks a source', isAsking: true })
  expect(evaluate(() => ({ ok: [1] }))).toEqual({ ok: true, value: [1] })
  expect(evaluate(() => ({ reason: 'it is away' }))).toEqual({ ok: false, reason: 'it is away' })
  evaluator.close()
})

describe('the place in the extra variables', () => {
  test('output false leaves out a field, and so do noOutput and html', async () => {
    covers('field.output')
    const fields = [
      { name: 'a', output: false },
      { name: 'b', noOutput: true },
      { name: 'c', type: 'html' },
      { name: 'd' },
    ]
    expect(await extravarsOf(fields, { a: '1', b: '2', c: '3', d: '4', undeclared: '5' })).toEqual({ d: '4' })
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

  test('expression, list, yaml and datetime give the whole value; a month counts from one', async () => {
    const fields = [
      { name: 'e', type: 'expression', value: [{ a: 1, b: 2 }] },
      { name: 'y', type: 'yaml' },
      { name: 'd', type: 'datetime', dateType: 'datetime' },
      { name: 'm', type: 'datetime', dateType: 'month' },
    ]
    const values = { y: 'a: [1, two]\nb: {c: ~}', d: '2026-01-02T03:04:05Z', m: { month: 0, year: 2026 } }
    expect(await extravarsOf(fields, values)).toEqual({
      e: [{ a: 1, b: 2 }],
      y: { a: [1, 'two'], b: { c: null } },
      d: '2026-01-02T03:04:05Z',
      m: { month: 1, year: 2026 },
    })
  })

  test('a file: the facts of the disk, never the values of the client', async () => {
    const form = formOf([{ name: 'iso', type: 'file', required: true }])
    const forged = { iso: { path: '/etc/passwd' } }
    expect((await check(form, forged)).details.missing).toEqual(['iso'])
    const refused = { problem: { type: 'outside', description: 'elsewhere' } }
    expect((await check(form, forged, { uploads: { iso: refused } })).details).toMatchObject({
      missing: ['iso'],
      uploads: ['iso'],
      validationErrors: { iso: [{ type: 'required' }, refused.problem] },
    })
    const upload = { originalname: 'a.iso', size: 1, description: { path: '/kept/1' } }
    expect((await check(form, forged, { uploads: { iso: upload } })).extravars).toEqual({ iso: { path: '/kept/1' } })
    expect((await check(form, {}, { uploads: { iso: upload, other: upload } })).details.uploads).toEqual(['other'])
  })
})
