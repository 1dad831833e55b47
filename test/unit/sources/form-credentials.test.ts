import { describe, expect, test } from 'vitest'
import type { ListedCredential } from '../../../control-plane/src/credentials/stored/row.js'
import { namesIn, secretPlaces } from '../../../control-plane/src/sources/credential-names.js'
import { createFormCredentials } from '../../../control-plane/src/sources/form-credentials.js'
import { createCallers } from '../../../control-plane/src/time/callers.js'
import { sourced } from './origins.js'

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

/** The name of what somebody whose roles allow these names gets for a text. */
async function opened(marked: string, allowed: readonly string[] = [], mayBePatterns = false) {
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
  const mayUse = (name: string) => allowed.includes(name)
  const work = { callers: createCallers('ann'), signal: new AbortController().signal }
  return (await credentials.open(namesIn(sourced(marked)), { mayUse, ...work }, mayBePatterns)).name
}

describe('the credential that an expression names', () => {
  test('is the first one that exists', async () => {
    expect(await opened('none,svc')).toBe('svc')
    expect(await opened('none, svc ')).toBe('svc')
    await expect(opened('none')).rejects.toThrow("there is no credential 'none'")
    await expect(opened('')).rejects.toThrow("there is no credential ''")
  })

  test('is one that the author wrote or that the asker may use', async () => {
    expect(await opened('«svc»', ['svc'])).toBe('svc')
    await expect(opened('«svc»', ['svc-2'])).rejects.toThrow("your roles do not allow the credential 'svc'")
    for (const one of ['s«vc»', '«s»vc', 'none,«svc»', 'none«,svc»']) {
      await expect(opened(one), one).rejects.toThrow("do not allow the credential 'svc'")
    }
  })

  test('that cannot be opened is named, with the reason', async () => {
    await expect(opened('sealed')).rejects.toThrow("the credential 'sealed' cannot be opened: the vault is sealed")
  })
})

describe('a pattern of the author', () => {
  test.each([
    ['none, ^db\\..*', 'db.main'],
    ['^svc-', 'svc-2'],
    ['(db|x)', 'db.main'],
    // A name that exists is no pattern.
    ['a(b)', 'a(b)'],
  ])('%s finds the first name that it fits', async (text, found) => {
    expect(await opened(text, [], true)).toBe(found)
  })

  test.each([
    ['a name with a dot is none', 'sv.'],
    ['what somebody typed is none', '«^svc»'],
    ['a part that somebody typed is none', '^sv«.*»'],
    ['one that fits nothing finds nothing', '^none'],
    ['one that is no pattern finds nothing', 'svc['],
  ])('%s', async (_, text) => {
    await expect(opened(text, [text.replaceAll(/[«»]/g, '')], true)).rejects.toThrow('there is no credential')
  })

  test('counts only where patterns may stand', async () => {
    await expect(opened('^svc')).rejects.toThrow('there is no credential')
  })
})

test.each([
  ['a password(svc) b', [['password', 'svc', true]]],
  [
    'Base64( svc )/username(b)',
    [
      ['base64', 'svc', true],
      ['username', 'b', true],
    ],
  ],
  ['«password(svc)»', []],
  ['«pass»word(svc)', []],
  ['password«(»svc)', []],
  ['password(«svc»)', [['password', 'svc', false]]],
  ['password(s«vc»)', [['password', 'svc', false]]],
  ['password(«a),password(b»)', [['password', 'a', false]]],
  ['nopassword(svc)', []],
])('in %s secrets go to %j', (marked, places) => {
  expect(secretPlaces(sourced(marked)).map((one) => [one.kind, one.name, one.isWritten])).toEqual(places)
})
