import {
  AdminLimitExceededError,
  BusyError,
  type Client,
  type EqualityFilter,
  type Filter,
  NoSuchObjectError,
  OrFilter,
  SizeLimitExceededError,
} from 'ldapts'
import { describe, expect, test } from 'vitest'
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

describe('a search for groups', () => {
  /** A search as the directory gets it, in the text form of filters. */
  interface Search {
    readonly base: string
    readonly filter: string
    readonly options: { scope: string; attributes: readonly string[]; paged: unknown }
  }
  const ENTRY = { dn: 'uid=jo,ou=people,dc=x', memberOf: ['cn=a,ou=groups,dc=x', 'CN=far,dc=y', 'plain'] }

  /** The groups of Jo with these settings of the directory, and what the directory was asked. */
  async function searched(
    more: string,
    answer: (search: Search) => { dn: string; cn?: string; gid?: string }[] = () => [],
    asked: { names: string[]; dns: string[] } = { names: [], dns: [] },
  ) {
    const text = `roles:\n  - { name: admin, groups: [ldap/admins] }\nldap: { url: ldap://127.0.0.1, searchBase: dc=x${more} }\n`
    const { ldap } = parseRoleConfig(text).providers ?? {}
    if (!ldap) throw new Error('there is no directory')
    const searches: Search[] = []
    const client = {
      search(base: string, { filter, ...options }: Search['options'] & { filter: Filter }) {
        searches.push({ base, filter: String(filter), options })
        try {
          return Promise.resolve({ searchEntries: answer({ base, filter: String(filter), options }) })
        } catch (error) {
          return Promise.reject(error as Error)
        }
      },
    } as unknown as Client
    const found = await membershipsOf(client, ldap, ENTRY, 'jo', asked)
    return { ...found, searches }
  }
  const filtersOf = (searches: readonly Search[]) => searches.map(({ filter }) => filter)

  test('is not made where the entry names its groups; a group outside the base counts by its DN only', async () => {
    expect(await searched('')).toEqual({
      memberships: [{ name: 'a', dn: 'cn=a,ou=groups,dc=x' }, { name: 'far', dn: 'CN=far,dc=y' }, { name: 'plain' }],
      isCut: false,
      searches: [],
    })
    expect((await searched(', groupsBase: "ou=groups,dc=x"')).memberships).toEqual([
      { name: 'a', dn: 'cn=a,ou=groups,dc=x' },
      { name: null, dn: 'CN=far,dc=y' },
      { name: null },
    ])
  })

  test('asks for the DN of the user, or for the name, below the base and page by page', async () => {
    const groups = () => [{ dn: 'cn=b,dc=g', cn: 'b' }, { dn: 'cn=nameless,dc=g' }]
    const { memberships, searches } = await searched(', groupSearch: { base: dc=g }', groups)
    expect(memberships).toEqual(
      expect.arrayContaining([
        { name: 'b', dn: 'cn=b,dc=g' },
        { name: null, dn: 'cn=nameless,dc=g' },
      ]),
    )
    expect(searches).toEqual([
      {
        base: 'dc=g',
        filter: '(&(member=uid=jo,ou=people,dc=x))',
        options: { scope: 'sub', attributes: ['cn'], paged: { pageSize: 500 } },
      },
    ])
    const byName = await searched(
      ', groupSearch: { base: dc=g, memberAttribute: memberUid, memberValue: username, nameAttribute: gid, filter: "(a=b)" }',
      () => [{ dn: 'cn=b,dc=g', gid: 'other' }],
    )
    expect(filtersOf(byName.searches)).toEqual(['(&(memberUid=jo)(a=b))'])
    expect(byName.memberships).toContainEqual({ name: 'other', dn: 'cn=b,dc=g' })
  })

  test('follows groups in groups by the rule of Active Directory where that is set, and only there', async () => {
    const { searches } = await searched(', groupsBase: dc=x, nestedGroups: rule')
    expect(filtersOf(searches)).toEqual(['(&(member:1.2.840.113556.1.4.1941:=uid=jo,ou=people,dc=x))'])
  })

  test.each([
    ['sizes', new SizeLimitExceededError()],
    ['its work', new AdminLimitExceededError()],
  ])('that the directory cuts off for a limit of %s is made for the groups of roles one by one', async (_, limit) => {
    const all = (search: Search) => {
      if (search.base === 'cn=gone,dc=g') throw new NoSuchObjectError()
      if (search.base !== 'dc=g') return [{ dn: search.base, cn: 'by dn' }]
      if (!search.filter.includes('|')) throw limit
      return [{ dn: 'cn=ops,dc=g', cn: 'ops' }]
    }
    const asked = { names: ['ops', 'dev'], dns: ['cn=q,dc=g', 'cn=gone,dc=g'] }
    const { memberships, isCut, searches } = await searched(', groupSearch: { base: dc=g }', all, asked)
    expect(isCut).toBe(true)
    expect(memberships.slice(-2)).toEqual([
      { name: 'ops', dn: 'cn=ops,dc=g' },
      { name: 'by dn', dn: 'cn=q,dc=g' },
    ])
    const who = '(member=uid=jo,ou=people,dc=x)'
    expect(filtersOf(searches).slice(1)).toEqual([`(&${who}(|(cn=ops)(cn=dev)))`, `(&${who})`, `(&${who})`])
    expect(searches.slice(1).map(({ options }) => [options.scope, options.paged])).toEqual([
      ['sub', { pageSize: 500 }],
      ['base', false],
      ['base', false],
    ])
  })

  test.each([new BusyError(), new Error('the connection is cut')])(
    'that fails otherwise fails: %s',
    async (failure) => {
      const fail = () => {
        throw failure
      }
      await expect(searched(', groupSearch: { base: dc=g }', fail)).rejects.toBe(failure)
      const later = ({ base, filter }: Search) => {
        if (base !== 'dc=g') throw failure
        if (!filter.includes('|')) throw new SizeLimitExceededError()
        return []
      }
      const asked = { names: [], dns: ['cn=q,dc=g'] }
      await expect(searched(', groupSearch: { base: dc=g }', later, asked)).rejects.toBe(failure)
    },
  )
})
