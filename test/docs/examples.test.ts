import { expect, test } from 'vitest'
import { parse } from 'yaml'
import { parseRoleConfig } from '../../control-plane/src/auth/roles/role-config.js'
import { readPages } from './pages.js'

const EXAMPLES = readPages().flatMap(({ blocks }) =>
  blocks.filter(({ language }) => language === 'yaml').map(({ text }) => text),
)
const ROLES = 'roles: [{ name: admin, groups: [local/admins] }]\n'

/** A line that is commented out becomes a line; a remark behind or above stays one. */
const uncommented = (text: string) => text.replace(/^( *)# (?=[A-Za-z]+: )/gm, '$1')

test('every example is YAML, as it stands and with what is commented out', () => {
  expect(EXAMPLES.length).toBeGreaterThan(5)
  for (const text of EXAMPLES) {
    expect(() => parse(text) as unknown, text).not.toThrow()
    expect(() => parse(uncommented(text)) as unknown, uncommented(text)).not.toThrow()
  }
})

test('the sections for users from elsewhere work, as they stand and with what is commented out', () => {
  const [text = ''] = EXAMPLES.filter((example) => /^ldap:$/m.test(example))
  expect(Object.keys(parseRoleConfig(ROLES + text).providers ?? {})).toEqual(['ldap', 'oidc', 'azuread'])
  const all = uncommented(text)
  expect(all).not.toBe(text)
  const { ldap, oidc, azuread } = parseRoleConfig(ROLES + all).providers ?? {}
  expect(ldap).toMatchObject({
    ca: '/etc/ssl/corporate.pem',
    nested: { how: 'walk' },
    groupSearch: { memberAttribute: 'member' },
  })
  expect(oidc?.formerIssuers).toHaveLength(1)
  expect(azuread?.issuer).toContain('https://login.microsoftonline.us/')
})
