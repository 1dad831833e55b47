import { beforeEach, expect, test } from 'vitest'
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
const base64 = (text: string) => Buffer.from(text).toString('base64')

let sent: FormRequest[]
let response: FormResponse
beforeEach(() => {
  sent = []
  response = { text: '{"a":[1,2]}', headers: { 'content-type': 'application/json' } }
})

const ask = (name: string, url: string, given: unknown[]) => {
  const all = ['get', url, ...given]
  return REST_FUNCTIONS[name]?.(
    { given: all, origins: allWritten(all) },
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
}

test.each<[name: string, given: unknown[], headers: object]>([
  ['fnRestBasic', [''], {}],
  ['fnRestBasic', ['', 'own'], { authorization: `Basic ${base64('sam:hush')}` }],
  ['fnRestBasic', ['', 'nobody'], { authorization: `Basic ${base64(':hush')}` }],
  ['fnRestJwt', ['', 'password(svc)', '', false, 'Token'], { authorization: 'Token hush' }],
  ['fnRestJwtSecure', [''], {}],
  ['fnRestJwtSecure', ['', { name: 'svc' }], { authorization: 'Bearer hush' }],
  [
    'fnRestAdvanced',
    ['', { 'X-One': 'a USERNAME(svc) b Password( svc ) c', n: 4 }],
    { 'x-one': 'a sam b hush c', n: '4' },
  ],
  ['fnRestAdvanced', ['', { a: 'base64(svc)\tusername(nobody).' }], { a: `${base64('sam:hush')}\t.` }],
])('%s with %j sends the headers %j', async (name, given, headers) => {
  await ask(name, URL_ASKED, given)
  expect(sent[0]?.headers).toEqual(headers)
})

test.each<[name: string, url: string, given: unknown[], reason: string]>([
  ['fnRestBasic', URL_ASKED, ['', 5], 'must be a text'],
  ['fnRestJwt', URL_ASKED, ['', { a: 1 }], 'must be a text'],
  ['fnRestJwtSecure', URL_ASKED, ['', { other: 'svc' }], 'must be a text'],
  ['fnRestAdvanced', URL_ASKED, ['', ['a']], 'must be an object'],
  ['fnRestAdvanced', URL_ASKED, ['', { 'a b': 'c' }], 'is no name of a header'],
  ['fnRestAdvanced', URL_ASKED, ['', { a: 'a\nb' }], 'line breaks'],
  ['fnRestAdvanced', URL_ASKED, ['', { a: '\x7f' }], 'line breaks'],
  ['fnRestBasic', URL_ASKED, ['', 'key'], 'is no password'],
  ['fnRestJwtSecure', URL_ASKED, ['', 'key'], 'is no password'],
  ['fnRestJwt', URL_ASKED, ['', 'password(key)'], 'is no password'],
  ['fnRestBasic', 'https://api.example.com.evil.test/', ['', 'own'], 'is for the host'],
  ['fnRestAdvanced', 'https://evil.example.com/', ['', { a: 'base64(own)' }], 'is for the host'],
])('%s to %s with %j sends nothing: %s', async (name, url, given, reason) => {
  await expect(ask(name, url, given)).rejects.toThrow(reason)
  expect(sent).toEqual([])
})

test.each<[body: unknown, sent: string | undefined]>([
  ['a=1', 'a=1'],
  [{ a: 1 }, '{"a":1}'],
  [0, '0'],
  ['', undefined],
  [null, undefined],
])('the body %j is sent as %j', async (body, bytes) => {
  await ask('fnRestBasic', URL_ASKED, [body])
  expect(sent[0]?.body).toBe(bytes)
})

const LARGE = '[9007199254740993,9007199254740991,1.5,"9007199254740993 \\" 1"]'
test.each<[text: string, type: string, given: unknown[], value: unknown]>([
  ['[1]', 'text/plain', [], [1]],
  ['<p>', 'text/html', [], '<p>'],
  [' \n', 'application/json', [], null],
  ['{"a":1}', 'application/json', ['.a'], { value: { a: 1 }, filter: '.a' }],
  [LARGE, 'application/json', ['', true], ['9007199254740993', 9007199254740991, 1.5, '9007199254740993 " 1']],
  [LARGE, 'application/json', ['', 'true'], [2 ** 53, 9007199254740991, 1.5, '9007199254740993 " 1']],
])('the answer %j of type %s with %j is %j', async (text, type, given, value) => {
  response = { text, headers: { 'content-type': type } }
  expect(await ask('fnRestBasic', URL_ASKED, ['', '', ...given])).toEqual(value)
})

test('an answer that says that it is JSON must be JSON', async () => {
  response = { text: '<p>', headers: { 'content-type': 'application/problem+json; charset=utf-8' } }
  await expect(ask('fnRestBasic', URL_ASKED, [])).rejects.toThrow('the answer is not valid JSON')
})
