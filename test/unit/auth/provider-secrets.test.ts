import { expect, test } from 'vitest'
import { credentialsForJobs } from '../../../control-plane/src/auth/providers/provider-secrets.js'

test('forms find the credentials of the sign-in neither by name nor by a pattern', async () => {
  const names = ['ldap-bind', 'netapp', 'oidc-client']
  const credentials = credentialsForJobs(
    {
      has: (name) => Promise.resolve(names.includes(name)),
      open: (name) => Promise.resolve(names.includes(name) ? name : null),
      list: () => Promise.resolve(names.map((name) => ({ name }))),
    },
    {
      current: () =>
        Promise.resolve({
          providers: { ldap: { bindCredential: 'ldap-bind' }, oidc: { clientCredential: 'oidc-client' } },
        } as never),
    },
  )
  expect(await credentials.list()).toEqual([{ name: 'netapp' }])
  expect(await Promise.all(names.map((name) => credentials.open(name)))).toEqual([null, 'netapp', null])
  expect(await Promise.all(names.map((name) => credentials.has(name)))).toEqual([false, true, false])
})
