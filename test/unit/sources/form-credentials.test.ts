import { expect, test } from 'vitest'
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

test.each<[marked: string, allowed: string[], mayBePatterns: boolean, found: string | RegExp]>([
  ['none, svc ', [], false, 'svc'],
  ['', [], false, /^there is no credential/],
  ['«svc»', ['svc'], false, 'svc'],
  ['«svc»', ['svc-2'], false, /do not allow the credential 'svc'/],
  ['s«vc»', [], false, /do not allow/],
  ['none,«svc»', [], false, /do not allow/],
  ['none«,svc»', [], false, /do not allow/],
  ['sealed', [], false, /'sealed' cannot be opened: the vault is sealed/],
  // A pattern of the author finds the first name that it fits; a name that exists is no pattern.
  ['none, ^db\\..*', [], true, 'db.main'],
  ['(db|x)', [], true, 'db.main'],
  ['a(b)', [], true, 'a(b)'],
  ['sv.', [], true, /there is no credential/],
  ['«^svc»', ['^svc'], true, /there is no credential/],
  ['^sv«.*»', ['^sv.*'], true, /there is no credential/],
  ['svc[', [], true, /there is no credential/],
  ['^svc', [], false, /there is no credential/],
])('%s names for a user with %j (patterns: %s): %s', async (marked, allowed, mayBePatterns, found) => {
  if (typeof found === 'string') expect(await opened(marked, allowed, mayBePatterns)).toBe(found)
  else await expect(opened(marked, allowed, mayBePatterns)).rejects.toThrow(found)
})

test.each([
  ['a password(svc) b', [['password', 'svc', true]]],
  ['Base64( svc )', [['base64', 'svc', true]]],
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
