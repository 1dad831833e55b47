import { beforeEach, describe, expect, test } from 'vitest'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import type { FormRequest, FormResponse } from '../../../control-plane/src/sources/http-request.js'
import { REST_FUNCTIONS } from '../../../control-plane/src/sources/rest-functions.js'
import { allWritten } from './origins.js'

const URL_ASKED = 'https://api.example.com/v1'
const login = { id: 1, type: 'userpass', user: 'sam', password: 'hush', host: null, port: null } as const
const known = new Map<string, OpenCredential>(
  [
    { ...login, name: 'svc' },
    { ...login, name: 'own', host: 'API.example.com' },
    { ...login, name: 'nobody', user: null },
    { ...login, name: 'key', type: 'ssh' as const, password: 'a private key' },
  ].map((one) => [one.name, { ...one, description: '', options: {} }]),
)
const BASIC = `Basic ${Buffer.from('sam:hush').toString('base64')}`

let sent: FormRequest[]
let response: FormResponse
/** The texts that the form does not write itself. */
let typed: string[]
beforeEach(() => {
  sent = []
  response = { text: '{"a":[1,2]}', headers: { 'content-type': 'application/json' } }
  typed = []
})

const ask = (name: string, ...given: unknown[]) =>
  REST_FUNCTIONS[name]?.(
    { given, origins: allWritten(given, typed) },
    {
      send(request) {
        sent.push(request)
        return Promise.resolve(response)
      },
      credential: ([wanted]) => {
        const found = known.get(wanted?.name ?? '')
        return found ? Promise.resolve(found) : Promise.reject(new Error(`there is no ${wanted?.name}`))
      },
      jq: (value, filter) => Promise.resolve({ value, filter: filter.text }),
      signal: new AbortController().signal,
    },
  )
/** The header that says who asks. */
const proof = () => sent.at(-1)?.headers.authorization

describe('who asks', () => {
  const functions = ['fnRestBasic', 'fnRestJwt', 'fnRestJwtSecure']

  test.each(functions)('nobody, when %s is given no name and no token', async (name) => {
    for (const nothing of [undefined, null, '']) {
      expect(await ask(name, 'get', URL_ASKED, '', nothing)).toEqual({ a: [1, 2] })
      expect(sent.at(-1)).toMatchObject({ method: 'get', url: URL_ASKED, headers: {} })
      expect(proof()).toBeUndefined()
    }
  })

  test('a login, a token of the form, or the secret of a credential', async () => {
    await ask('fnRestBasic', 'get', URL_ASKED, '', 'svc')
    expect(proof()).toBe(BASIC)
    await ask('fnRestJwt', 'get', URL_ASKED, '', 'abc')
    expect(proof()).toBe('Bearer abc')
    await ask('fnRestJwt', 'get', URL_ASKED, '', 'password(svc)', '', false, 'Token')
    expect(proof()).toBe('Token hush')
    await ask('fnRestJwtSecure', 'get', URL_ASKED, '', 'svc')
    expect(proof()).toBe('Bearer hush')
    await ask('fnRestJwtSecure', 'get', URL_ASKED, '', { name: 'svc' }, '', false, 'Token')
    expect(proof()).toBe('Token hush')
    await ask('fnRestBasic', 'get', URL_ASKED, '', 'nobody')
    expect(proof()).toBe(`Basic ${Buffer.from(':hush').toString('base64')}`)
  })

  test.each([
    ['fnRestBasic', 5, 'the name of the credential must be a text'],
    ['fnRestJwt', { a: 1 }, 'the token must be a text'],
    ['fnRestJwtSecure', { other: 'svc' }, 'the name of the credential must be a text'],
    ['fnRestAdvanced', 'a: b', 'the headers must be an object'],
    ['fnRestAdvanced', ['a'], 'the headers must be an object'],
    ['fnRestAdvanced', { 'a b': 'c' }, 'a b is no name of a header'],
    ['fnRestAdvanced', { '': 'c' }, 'is no name of a header'],
  ])('%s is refused with %j', async (name, given, reason) => {
    await expect(ask(name, 'get', URL_ASKED, '', given)).rejects.toThrow(reason)
    expect(sent).toEqual([])
  })

  test('a private key is never sent', async () => {
    for (const [name, given] of [
      ['fnRestBasic', 'key'],
      ['fnRestJwtSecure', 'key'],
      ['fnRestJwt', 'password(key)'],
    ] as const) {
      await expect(ask(name, 'get', URL_ASKED, '', given)).rejects.toThrow('is of type ssh and is no password')
    }
    expect(sent).toEqual([])
  })

  test('a credential of a host goes to that host only', async () => {
    await ask('fnRestBasic', 'get', URL_ASKED, '', 'own')
    expect(proof()).toBe(BASIC)
    for (const url of ['https://evil.example.com/', 'https://api.example.com.evil.test/', 'no url']) {
      await expect(ask('fnRestBasic', 'get', url, '', 'own')).rejects.toThrow('is for the host API.example.com only')
      await expect(ask('fnRestAdvanced', 'get', url, '', { a: 'base64(own)' })).rejects.toThrow('for the host')
    }
    expect(sent).toHaveLength(1)
  })
})

describe('headers', () => {
  test('of the form are sent in small letters, with parts of credentials in their places', async () => {
    const headers = {
      'X-One': 'a USERNAME(svc) b Password( svc ) c',
      two: 'base64(svc)',
      three: 'username(nobody).',
      n: 4,
    }
    await ask('fnRestAdvanced', 'get', URL_ASKED, '', headers)
    expect(sent[0]?.headers).toEqual({
      'x-one': 'a sam b hush c',
      two: Buffer.from('sam:hush').toString('base64'),
      three: '.',
      n: '4',
    })
    await ask('fnRestAdvanced', 'get', URL_ASKED, '', '')
    expect(sent[1]?.headers).toEqual({})
  })

  test('get no secret for a text that somebody typed', async () => {
    typed = ['password(svc)', 'base64(svc)']
    await ask('fnRestJwt', 'get', URL_ASKED, '', 'password(svc)')
    expect(proof()).toBe('Bearer password(svc)')
    await ask('fnRestAdvanced', 'get', URL_ASKED, '', { a: 'base64(svc)', b: 'username(svc)' })
    expect(sent[1]?.headers).toEqual({ a: 'base64(svc)', b: 'sam' })
  })

  test.each(['a\nb', 'a\r', 'a\0', '\x7f', 'a\x1fb'])('hold no line breaks and the like: %j', async (value) => {
    await expect(ask('fnRestAdvanced', 'get', URL_ASKED, '', { a: value })).rejects.toThrow('must not hold line breaks')
    expect(sent).toEqual([])
  })

  test('may hold a tab', async () => {
    await ask('fnRestAdvanced', 'get', URL_ASKED, '', { a: 'b\tc' })
    expect(sent[0]?.headers).toEqual({ a: 'b\tc' })
  })
})

test.each([
  ['a text', 'a=1', 'a=1'],
  ['an object', { a: 1 }, '{"a":1}'],
  ['a number', 0, '0'],
  ['nothing', '', undefined],
  ['null', null, undefined],
])('a body that is %s is sent as JSON or as it is', async (_, body, bytes) => {
  await ask('fnRestBasic', 'post', URL_ASKED, body)
  expect(sent[0]?.body).toBe(bytes)
  expect('body' in (sent[0] ?? {})).toBe(bytes !== undefined)
})

test.each([
  ['the method', [5, URL_ASKED]],
  ['the URL', ['get', 5]],
  ['the jq filter', ['get', URL_ASKED, '', '', 5]],
])('%s must be a text', async (what, given) => {
  await expect(ask('fnRestBasic', ...given)).rejects.toThrow(`${what} must be a text`)
})

describe('the answer', () => {
  const answerTo = (text: string, type?: string, ...more: unknown[]) => {
    response = { text, headers: type === undefined ? {} : { 'content-type': type } }
    return ask('fnRestBasic', 'get', URL_ASKED, '', '', ...more)
  }

  test('is its JSON, its text, or null when it is empty', async () => {
    expect(await answerTo('[1]', 'text/plain')).toEqual([1])
    expect(await answerTo('<p>', 'text/html')).toBe('<p>')
    expect(await answerTo('<p>')).toBe('<p>')
    expect(await answerTo(' \n', 'application/json')).toBeNull()
  })

  test.each(['application/json', 'application/problem+json; charset=utf-8'])(
    'of type %s must be JSON',
    async (type) => {
      await expect(answerTo('<p>', type)).rejects.toThrow('the answer is not valid JSON')
    },
  )

  test('is filtered, and keeps large numbers as texts when asked to', async () => {
    expect(await answerTo('{"a":1}', undefined, '.a')).toEqual({ value: { a: 1 }, filter: '.a' })
    const large = '[9007199254740993,-9007199254740993,9007199254740991,1.5,"9007199254740993 \\" 1"]'
    const kept = ['9007199254740993', '-9007199254740993', 9007199254740991, 1.5, '9007199254740993 " 1']
    expect(await answerTo(large, undefined, '', true)).toEqual(kept)
    expect(await answerTo(large, undefined, '', 'true')).toEqual([2 ** 53, -(2 ** 53), ...kept.slice(2)])
  })

  test('of fnRestAdvanced comes with its headers when asked to, and then without a filter', async () => {
    const headers = { 'content-type': 'application/json' }
    expect(await ask('fnRestAdvanced', 'get', URL_ASKED, '', {}, '.a', false, true)).toEqual({
      data: { a: [1, 2] },
      response_headers: headers,
    })
    expect(await ask('fnRestAdvanced', 'get', URL_ASKED, '', {}, '.a', false, 'true')).toMatchObject({ filter: '.a' })
    // This place holds the prefix of the token in the other functions.
    expect(await ask('fnRestJwt', 'get', URL_ASKED, '', 't', '', false, 'JWT')).toEqual({ a: [1, 2] })
    expect(proof()).toBe('JWT t')
  })

  test('of a page is its text, whatever it is', async () => {
    const page = (text: string) => {
      response = { text, headers: {} }
      return ask('fnParseHtmlWithRegex', URL_ASKED, 'svc')
    }
    expect(await page('<p>')).toBe('<p>')
    expect(proof()).toBe(BASIC)
    expect(sent.at(-1)).toMatchObject({ method: 'get', url: URL_ASKED })
    expect(await page('{"a": 1}')).toBe('{"a":1}')
    expect(await page('')).toBe('""')
  })
})
