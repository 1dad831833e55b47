import { beforeEach, describe, expect, test } from 'vitest'
import type { OpenCredential } from '../../../control-plane/src/credentials/stored/credential.js'
import { parseHostRules } from '../../../control-plane/src/sources/address-rules.js'
import { createFunctions, refuseForbiddenDatabase } from '../../../control-plane/src/sources/functions.js'
import { createCallers } from '../../../control-plane/src/time/callers.js'
import { ALL_TYPED } from '../../../control-plane/src/sources/origins.js'
import { allWritten } from './origins.js'

const SVC: OpenCredential = {
  id: 1,
  name: 'svc',
  type: 'userpass',
  description: '',
  user: 'sam',
  host: 'api.example.com',
  port: 8443,
  password: 'hush',
  options: {},
}

/** What the parts were asked, in order. */
let asked: unknown[][]
beforeEach(() => {
  asked = []
})

function made() {
  const note =
    (what: string, answer: unknown = what) =>
    (...given: unknown[]) => {
      asked.push([what, ...given])
      return Promise.resolve(answer)
    }
  return createFunctions({
    credentials: { open: (name) => Promise.resolve(name === 'svc' ? SVC : null), list: () => Promise.resolve([]) },
    files: { readYaml: note('yaml'), readJson: note('json'), list: note('list', []) as () => Promise<unknown[]> },
    jq: { run: (value, filter) => note('jq')(value, filter), close: note('close') as () => Promise<void> },
    send: (request) => {
      asked.push(['send', request.url])
      return Promise.resolve({ text: '[1]', headers: {} })
    },
    ssh: { hosts: parseHostRules(''), credential: null, knownHosts: '/nowhere' },
  })
}

const call = (name: string, given: unknown[], mayUse = false, origins = allWritten(given)) =>
  made().call(
    { kind: 'function', name, given, origins },
    {
      mayUse: () => mayUse,
      callers: createCallers('ann'),
      signal: new AbortController().signal,
    },
  )

describe('a function of files', () => {
  test.each([
    ['fnReadYamlFile', 'yaml'],
    ['fnReadJsonFile', 'json'],
  ])('%s reads its file, and filters it when there is a filter', async (name, kind) => {
    for (const nothing of [undefined, null, '']) expect(await call(name, ['a.txt', nothing])).toBe(kind)
    expect(asked).toEqual([1, 2, 3].map(() => [kind, 'a.txt']))
    expect(await call(name, ['a.txt', '.b'])).toBe('jq')
    expect(asked.at(-1)).toEqual(['jq', kind, '.b'])
    await expect(call(name, [5])).rejects.toThrow('the path must be a text')
    await expect(call(name, ['a.txt', 5])).rejects.toThrow('the jq filter must be a text')
  })

  test.each([
    [undefined, false, false],
    [null, false, false],
    ['recursive', false, false],
    [{}, false, false],
    [{ recursive: true }, true, false],
    [{ metadata: true }, false, true],
    [{ recursive: true, metadata: true }, true, true],
    [{ recursive: 'true', metadata: 1 }, false, false],
  ])(
    'fnLs with the options %j lists below folders: %s, with more about each: %s',
    async (options, recursive, metadata) => {
      await call('fnLs', ['logs', options])
      expect(asked).toEqual([['list', 'logs', { recursive, metadata }]])
    },
  )
})

test('fnJq filters a value', async () => {
  expect(await call('fnJq', [[1], '.[0]'])).toBe('jq')
  expect(asked).toEqual([['jq', [1], '.[0]']])
  await expect(call('fnJq', [[1]])).rejects.toThrow('the jq filter must be a text')
})

describe('fnCredentials', () => {
  test('gives all but the secret, and in its place what the functions of REST services replace', async () => {
    const found = { name: 'svc', user: 'sam', host: 'api.example.com', port: 8443, password: 'password(svc)' }
    expect(await call('fnCredentials', ['svc'])).toEqual(found)
    expect(await call('fnCredentials', ['none', 'svc'], true)).toEqual(found)
    expect(await call('fnCredentials', ['', 'svc'])).toEqual(found)
    expect(await call('fnCredentials', ['svc', 5])).toEqual(found)
    await expect(call('fnCredentials', [5])).rejects.toThrow("there is no credential ''")
  })

  test('asks for the rights of who fills in the form', async () => {
    await expect(call('fnCredentials', ['svc'], false, ALL_TYPED)).rejects.toThrow('do not allow')
    expect(await call('fnCredentials', ['svc'], true, ALL_TYPED)).toMatchObject({ name: 'svc' })
  })
})

test('functions of REST services ask with the credential of the form', async () => {
  const url = 'https://api.example.com/'
  expect(await call('fnRestBasic', ['get', url, '', 'svc'])).toEqual([1])
  expect(asked).toEqual([['send', url]])
  expect(await call('fnRestBasic', ['get', url, '', 'svc', '.'])).toBe('jq')
})

test.each(['fnNone', 'toString', '__proto__'])('fn.%s is not there', async (name) => {
  await expect(call(name, [])).rejects.toThrow(`fn.${name} is not there in this service`)
})

test.each([
  ['the user', [5, 'web1', 'id']],
  ['the host', ['root', 5, 'id']],
  ['the command', ['root', 'web1', 5]],
])('%s of a command by ssh must be a text', async (what, given) => {
  await expect(call('fnSsh', given)).rejects.toThrow(`${what} must be a text`)
})

test('the rights in a question say of each name in it whether the asker may use it', () => {
  const functions = made()
  const mayUse = (name: string) => name.startsWith('my')
  const question = { kind: 'function', name: 'fnCredentials', given: ['my-a,other', 'my-b'] } as const
  expect(functions.rightsIn({ ...question, origins: ALL_TYPED }, { mayUse })).toBe('101')
  expect(functions.rightsIn({ ...question, origins: allWritten(question.given) }, { mayUse })).toBe('')
  const query = { kind: 'query', config: 'other,my-a', text: 'my-b', values: {}, origins: ALL_TYPED } as const
  expect(functions.rightsIn(query, { mayUse })).toBe('01')
})

test('a close ends the thread of jq', async () => {
  await made().close()
  expect(asked).toEqual([['close']])
})

test.each([
  ['svc', [], null],
  [{ name: 'svc', type: 'mysql' }, ['mysql'], null],
  ['mine', ['mine'], null],
  ['svc', ['svc'], 'svc'],
  ['mine, svc', ['mine, svc'], 'svc'],
  [['mine', 'other'], ['other'], 'other'],
  [[{ name: 'svc' }, { name: 'other' }], ['other'], 'other'],
])('of the databases %j, of which values made %j, the forbidden one is %s', (config, typed, name) => {
  const question = { kind: 'query', config, origins: allWritten(config, typed), text: '', values: {} } as const
  const refuse = () => refuseForbiddenDatabase(question, { mayUse: (one) => one === 'mine' })
  if (name === null) expect(refuse).not.toThrow()
  else expect(refuse).toThrow(`your roles do not allow the credential '${name}'`)
})
