import { type Client, type Filter, OrFilter, SizeLimitExceededError } from 'ldapts'
import { expect, test } from 'vitest'
import { membershipsOf } from '../../../control-plane/src/auth/ldap/memberships.js'
import { parseRoleConfig } from '../../../control-plane/src/auth/roles/role-config.js'

const CONFIG = `roles:
  - { name: admin, groups: [ldap/admins] }
ldap:
  url: ldap://127.0.0.1
  searchBase: dc=x
  groupSearch: { base: ou=groups }
`

/** How many names each question for named groups has. The directory answers no question for all groups. */
async function questionsFor(names: readonly string[]): Promise<number[]> {
  const { ldap } = parseRoleConfig(CONFIG).providers ?? {}
  if (!ldap) throw new Error('there is no directory')
  const questions: number[] = []
  const search = (_: string, { filter }: { filter: { filters: Filter[] } }) => {
    const either = filter.filters.find((one) => one instanceof OrFilter)
    if (!either) return Promise.reject(new SizeLimitExceededError())
    questions.push(either.filters.length)
    return Promise.resolve({ searchEntries: [] })
  }
  const client = { search } as unknown as Client
  const found = await membershipsOf(client, ldap, { dn: 'uid=jo,dc=x' }, 'jo', { names, dns: [] })
  expect(found).toEqual({ memberships: [], isCut: true })
  return questions
}

test.each([
  [0, []],
  [1, [1]],
  [50, [50]],
  [51, [50, 1]],
  [100, [50, 50]],
])(
  '%d groups that roles name are asked for with at most 50 in one question, and never with none',
  async (count, questions) => {
    const names = Array.from({ length: count }, (_, at) => `group-${at}`)
    expect(await questionsFor(names)).toEqual(questions)
  },
)
