import { describe, expect, test } from 'vitest'
import { answerHostCall } from '../../../control-plane/src/forms/sandbox/host/host-call.js'
import { createHostIntl } from '../../../control-plane/src/forms/sandbox/host/intl.js'

/** Most characters of a question and of an answer. */
const MAX = 4 * 1024 * 1024
const intl = createHostIntl('en-US')
const call = (...question: unknown[]) => JSON.parse(answerHostCall(JSON.stringify(question), intl)) as object
const UNDEFINED = { $: 'undefined' }
const use = (kind: string, method: string, options: unknown, ...values: unknown[]) =>
  call('use', kind, 'en-US', options, method, values)

test('a question has 4 MiB at most, and so has an answer', () => {
  const question = (length: number) => `["atob","${' '.repeat(length - 11)}"]`
  expect(question(MAX)).toHaveLength(MAX)
  expect(answerHostCall(question(MAX), intl)).toBe('{"ok":""}')
  expect(answerHostCall(question(MAX + 1), intl)).toBe('{"name":"RangeError","message":"the text is too long"}')
  /** In capital letters one of its letters is two. */
  const answer = (length: number) => {
    const doubled = Math.floor((length - 9) / 2)
    const text = 'ß'.repeat(doubled) + 'a'.repeat((length - 9) % 2)
    return answerHostCall(JSON.stringify(['changeCase', text, UNDEFINED, true]), intl)
  }
  expect(answer(MAX)).toHaveLength(MAX)
  expect(answer(MAX + 1)).toBe('{"name":"RangeError","message":"the result is too long"}')
})

describe('a script may call', () => {
  test.each<[string, string, unknown, readonly unknown[], unknown]>([
    ['DateTimeFormat', 'format', { timeZone: 'UTC' }, [0], '1/1/1970'],
    [
      'DateTimeFormat',
      'formatToParts',
      { timeZone: 'UTC' },
      [0],
      expect.arrayContaining([{ type: 'day', value: '1' }]),
    ],
    ['DateTimeFormat', 'formatRange', { timeZone: 'UTC' }, [0, 864e5], expect.stringContaining('1/2/1970')],
    ['DateTimeFormat', 'formatRangeToParts', { timeZone: 'UTC' }, [0, 864e5], expect.any(Array)],
    ['DateTimeFormat', 'resolvedOptions', { timeZone: 'UTC' }, [], expect.objectContaining({ timeZone: 'UTC' })],
    ['NumberFormat', 'format', null, [1234.5], '1,234.5'],
    ['NumberFormat', 'formatToParts', null, [1], [{ type: 'integer', value: '1' }]],
    ['NumberFormat', 'formatRange', null, [1, 2], '1–2'],
    ['NumberFormat', 'formatRangeToParts', null, [1, 2], expect.any(Array)],
    ['NumberFormat', 'resolvedOptions', null, [], expect.objectContaining({ locale: 'en-US' })],
    ['Collator', 'compare', null, ['a', 'b'], -1],
    ['Collator', 'resolvedOptions', null, [], expect.objectContaining({ usage: 'sort' })],
    ['PluralRules', 'select', null, [1], 'one'],
    ['PluralRules', 'selectRange', null, [1, 2], 'other'],
    ['PluralRules', 'resolvedOptions', null, [], expect.objectContaining({ type: 'cardinal' })],
    ['RelativeTimeFormat', 'format', null, [2, 'day'], 'in 2 days'],
    ['RelativeTimeFormat', 'formatToParts', null, [2, 'day'], expect.any(Array)],
    ['RelativeTimeFormat', 'resolvedOptions', null, [], expect.objectContaining({ numeric: 'always' })],
    ['ListFormat', 'format', null, [['a', 'b']], 'a and b'],
    ['ListFormat', 'formatToParts', null, [['a']], [{ type: 'element', value: 'a' }]],
    ['ListFormat', 'resolvedOptions', null, [], expect.objectContaining({ style: 'long' })],
    ['DisplayNames', 'of', { type: 'region' }, ['CH'], 'Switzerland'],
    ['DisplayNames', 'resolvedOptions', { type: 'region' }, [], expect.objectContaining({ type: 'region' })],
  ])('Intl.%s: %s', (kind, method, options, values, answer) => {
    expect(use(kind, method, options ?? UNDEFINED, ...values)).toEqual({ ok: answer })
  })

  test('nothing else of such an object, and no other object', () => {
    for (const method of ['constructor', 'toString', '__proto__', 'select']) {
      expect(use('NumberFormat', method, UNDEFINED)).toEqual({
        name: 'TypeError',
        message: `Intl.NumberFormat has no ${method}`,
      })
    }
    for (const kind of ['Segmenter', 'toString']) {
      expect(use(kind, '', UNDEFINED)).toEqual({ name: 'TypeError', message: `Intl.${kind} is not there` })
    }
    for (const name of ['constructor', 'none', 5]) {
      expect(call(name)).toEqual({ name: 'TypeError', message: 'there is no such function' })
    }
    expect(use('NumberFormat', '', UNDEFINED)).toEqual({ ok: null })
    expect(use('NumberFormat', '', { style: 'none' })).toMatchObject({ name: 'RangeError' })
  })

  test('with numbers that JSON has not', () => {
    const written = (text: string) => use('NumberFormat', 'format', UNDEFINED, { $: text })
    expect(['NaN', '-0', '12n', '-Infinity'].map(written)).toEqual(
      ['NaN', '-0', '12', '-∞'].map((text) => ({ ok: text })),
    )
  })

  test('letters and locales: the locale of the service when a script names none, or one that is not there', () => {
    const turkish = createHostIntl('tr')
    const upper = (locales: unknown, of = turkish) =>
      JSON.parse(answerHostCall(JSON.stringify(['changeCase', 'i', locales, true]), of)) as object
    expect(upper(UNDEFINED)).toEqual({ ok: 'İ' })
    expect(upper('en')).toEqual({ ok: 'I' })
    expect(upper(UNDEFINED, intl)).toEqual({ ok: 'I' })
    expect(call('changeCase', 'I', 'tr', false)).toEqual({ ok: 'ı' })
    expect(call('canonicalLocales', 'DE-de')).toEqual({ ok: ['de-DE'] })
    expect(call('supportedLocalesOf', 'NumberFormat', ['de', 'zz'], UNDEFINED)).toEqual({ ok: ['de'] })
    expect(call('supportedLocalesOf', 'NumberFormat', ['de'], null)).toEqual({ ok: ['de'] })
    const german = createHostIntl('de')
    const number = (locales: unknown) => german.use('NumberFormat', locales, undefined, 'format', [1.5]) as string
    expect([undefined, 'zz', ['zz'], 'en', ['fr', 'en']].map(number)).toEqual(['1,5', '1,5', '1,5', '1.5', '1,5'])
  })
})

describe('an address', () => {
  const PARTS = {
    href: 'https://u:p@h.example:81/a?b=1#c',
    origin: 'https://h.example:81',
    protocol: 'https:',
    username: 'u',
    password: 'p',
    host: 'h.example:81',
    hostname: 'h.example',
    port: '81',
    pathname: '/a',
    search: '?b=1',
    hash: '#c',
  }

  test('is read in all of its parts, also from a base', () => {
    expect(call('parseUrl', PARTS.href, null)).toEqual({ ok: PARTS })
    expect(call('parseUrl', '?b=1#c', 'https://u:p@h.example:81/a')).toEqual({ ok: PARTS })
    expect(call('parseUrl', 'a', null)).toMatchObject({ name: 'TypeError' })
  })

  test.each([
    ['href', 'http://x/'],
    ['protocol', 'http:'],
    ['username', 'v'],
    ['password', 'q'],
    ['host', 'x:5'],
    ['hostname', 'x'],
    ['port', '5'],
    ['pathname', '/z'],
    ['search', '?y'],
    ['hash', '#x'],
  ])('has another %s when a script sets it', (part, value) => {
    expect(call('setUrl', PARTS.href, part, value)).toMatchObject({ ok: { [part]: value } })
  })

  test('stays as it is when a script sets what cannot be set', () => {
    for (const part of ['origin', 'none', 'toString'])
      expect(call('setUrl', PARTS.href, part, 'http://x')).toEqual({ ok: PARTS })
  })

  test('has a query of pairs', () => {
    expect(call('parseQuery', '?a=1&a=2&b=')).toEqual({
      ok: [
        ['a', '1'],
        ['a', '2'],
        ['b', ''],
      ],
    })
    expect(
      call('writeQuery', [
        ['a b', '1'],
        ['c', '&'],
      ]),
    ).toEqual({ ok: 'a+b=1&c=%26' })
  })
})
