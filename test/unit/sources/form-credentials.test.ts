import { describe, expect, test } from 'vitest'
import type { ListedCredential } from '../../../control-plane/src/credentials/stored/row.js'
import {
  createFormCredentials,
  isWritten,
  credentialNamesIn,
} from '../../../control-plane/src/sources/form-credentials.js'

const known = ['svc', 'svc-2', 'db.main', 'a(b)'].map((name): ListedCredential => ({
  id: 1,
  name,
  type: 'userpass',
  user: 'sam',
  host: null,
  port: null,
  description: '',
  options: {},
  source: 'database',
  overridden: false,
}))

/** What somebody whose roles allow these names gets for a text in an expression. */
async function opened(template: string, text: string, allowed: readonly string[] = []) {
  const credentials = createFormCredentials(
    {
      list: () => Promise.resolve(known),
      open(name) {
        if (name === 'sealed') return Promise.reject(new Error('the vault is sealed'))
        const found = known.find((one) => one.name === name)
        return Promise.resolve(found ? { ...found, password: 'hush' } : null)
      },
    },
    {
      // As jq tests them.
      run: (value) => {
        const { names, pattern } = value as { names: string[]; pattern: string }
        return new Promise((resolve) => resolve(names.filter((name) => new RegExp(pattern).test(name))))
      },
    },
  )
  const question = { kind: 'function', name: 'fnCredentials', given: [], template } as const
  const { credential, asked } = await credentials.open(text, question, { mayUse: (name) => allowed.includes(name) })
  return [credential.name, asked]
}

describe('the credential that an expression names', () => {
  test('is the first one that exists', async () => {
    expect(await opened("fn.fnCredentials('none,svc')", 'none,svc')).toEqual(['svc', 'svc'])
    expect(await opened("fn.fnCredentials('none', ' svc')", 'none, svc ')).toEqual(['svc', 'svc'])
    await expect(opened("fn.fnCredentials('none')", 'none')).rejects.toThrow("there is no credential 'none'")
    await expect(opened("fn.fnCredentials('')", '')).rejects.toThrow("there is no credential ''")
  })

  test('is one that the author wrote or that the asker may use', async () => {
    expect(await opened("fn.fnCredentials('$(c)')", 'svc', ['svc'])).toEqual(['svc', 'svc'])
    await expect(opened("fn.fnCredentials('$(c)')", 'svc', ['svc-2'])).rejects.toThrow(
      "your roles do not allow the credential 'svc'",
    )
    await expect(opened("fn.fnCredentials('svc')", 'svc-2')).rejects.toThrow('do not allow')
  })

  test('that cannot be opened is named, with the reason', async () => {
    await expect(opened("fn.fnCredentials('sealed')", 'sealed')).rejects.toThrow(
      "the credential 'sealed' cannot be opened: the vault is sealed",
    )
  })
})

describe('a pattern of the author', () => {
  test.each([
    ["fn.fnCredentials('none', '^db\\\\..*')", '^db\\..*', ['db.main', '^db\\..*']],
    ["fn.fnCredentials('^svc-')", '^svc-', ['svc-2', '^svc-']],
    ['fn.fnCredentials("^svc-", "x")', '^svc-', ['svc-2', '^svc-']],
    // A text with parentheses could not stand in `password(…)`.
    ["fn.fnCredentials('(db|x)')", '(db|x)', ['db.main', 'db.main']],
    // A name that exists is no pattern.
    ["fn.fnCredentials('a(b)')", 'a(b)', ['a(b)', 'a(b)']],
  ])('%s finds the first name that it fits', async (template, text, found) => {
    expect(await opened(template, text)).toEqual(found)
  })

  test.each([
    ['a name with a dot is none', "fn.fnCredentials('sv.')", 'sv.'],
    ['what somebody typed is none', "fn.fnCredentials('$(c)')", '^svc'],
    ['a part that somebody typed is none', "fn.fnCredentials('^sv$(c)')", '^sv.*'],
    ['another function takes none', "fn.fnRestBasic('get', 'x', '', '^svc')", '^svc'],
    ['the third argument is none', "fn.fnCredentials('a', 'b', '^svc')", '^svc'],
    ['one that fits nothing finds nothing', "fn.fnCredentials('^none')", '^none'],
    ['one that is no pattern finds nothing', "fn.fnCredentials('svc[')", 'svc['],
  ])('%s', async (_, template, text) => {
    await expect(opened(template, text, [text])).rejects.toThrow('there is no credential')
  })
})

test.each([
  ["'svc'", 'svc', true],
  ["'none,svc'", 'svc', true],
  ["'password(svc)'", 'svc', true],
  ["'svc-2'", 'svc', false],
  ["'my_svc'", 'svc', false],
  ["'my-svc'", 'svc', false],
  ["'svc2'", 'svc', false],
  ["'a.c'", 'abc', false],
  ["'abc'", 'a.c', false],
  ["'a\\\\b'", 'a\\b', true],
  ["''", '', false],
])('whether %s has the name %j written in it: %s', (template, name, written) => {
  expect(isWritten({ kind: 'function', name: 'f', given: [], template }, name)).toBe(written)
})

test.each([
  ['a', ['a']],
  [' a , b ,, a', ['a', 'b']],
  [{ name: 'a', more: [{ x: 'b,c' }, 5, null, undefined, true] }, ['a', 'b', 'c']],
  [null, []],
  [7, []],
])('the names in %j are %j', (value, names) => {
  expect(credentialNamesIn(value)).toEqual(names)
})
