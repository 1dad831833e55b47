import { type Client, type EqualityFilter, type Filter, OrFilter, SizeLimitExceededError } from 'ldapts'
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

const WALKING = `roles:
  - { name: admin, groups: [ldap/admins] }
ldap: { url: ldap://127.0.0.1, searchBase: dc=x, groupsBase: dc=x, nestedGroups: walk }
`

/** The groups of a user who is in `start`, in a directory in which each group is in those that `above` gives. */
async function walked(start: readonly string[], above: (dn: string) => readonly string[]) {
  const { ldap } = parseRoleConfig(WALKING).providers ?? {}
  if (!ldap) throw new Error('there is no directory')
  const asked: number[] = []
  const search = (_: string, { filter }: { filter: { filters: OrFilter[] } }) => {
    const members = (filter.filters[0]?.filters ?? []) as EqualityFilter[]
    asked.push(members.length)
    const found = members.flatMap(({ value }) => above(String(value)))
    return Promise.resolve({ searchEntries: found.map((dn) => ({ dn, cn: dn.slice(3).split(',')[0] })) })
  }
  const client = { search } as unknown as Client
  const entry = { dn: 'uid=jo,dc=x', memberOf: [...start] }
  const { memberships, isCut } = await membershipsOf(client, ldap, entry, 'jo', { names: [], dns: [] })
  return { names: memberships.map(({ name }) => name), isCut, asked }
}

test('groups in groups are found step by step, each once, also when they contain each other', async () => {
  const above: Record<string, string[]> = {
    'cn=a,dc=x': ['cn=b,dc=x', 'cn=c,dc=x'],
    'cn=b,dc=x': ['CN=A,dc=x', 'cn=c,dc=x'],
    'cn=c,dc=x': ['cn=d,dc=x'],
  }
  const { names, isCut, asked } = await walked(['cn=a,dc=x'], (dn) => above[dn] ?? [])
  expect(names).toEqual(['a', 'b', 'c', 'd'])
  expect([isCut, asked]).toEqual([false, [1, 2, 1]])
  expect(await walked([], () => [])).toEqual({ names: [], isCut: false, asked: [] })
})

test.each([
  [19, false],
  [20, true],
])('groups in groups that are %i steps deep are cut: %s', async (deep, isCut) => {
  const next = (dn: string) => {
    const step = Number(/\d+/.exec(dn)?.[0])
    return step < deep ? [`cn=${step + 1},dc=x`] : []
  }
  const found = await walked(['cn=0,dc=x'], next)
  expect([found.isCut, found.names.length]).toEqual([isCut, deep + 1])
})

test.each([
  [5000, false],
  [5001, true],
])('%i groups of a user are too many to look for further ones: %s', async (count, isCut) => {
  const start = Array.from({ length: count }, (_, n) => `cn=${n},dc=x`)
  const found = await walked(start, () => [])
  expect([found.isCut, found.asked.length]).toEqual([isCut, isCut ? 0 : 100])
})
