import {
  AndFilter,
  type Client,
  type Entry,
  EqualityFilter,
  ExtensibleFilter,
  type Filter,
  FilterParser,
  NoSuchObjectError,
  OrFilter,
  ResultCodeError,
} from 'ldapts'
import type { AskedGroups, Membership } from '../roles/group-names.js'
import type { LdapSettings } from '../roles/provider-config.js'
import { canonicalDn, isBelow, nameOfDn } from '../roles/distinguished-name.js'
import { valuesOf } from './entry.js'

/** Number of groups in one answer. Without pages, directories limit the number themselves. */
const PAGE = 500
/** Limits for groups in groups: the depth, the number of all groups, and the number in one query. */
const MAX_STEPS = 20
const MAX_GROUPS = 5000
const AT_ONCE = 50
/** The codes with which a directory says that the answer would be too large. */
const TOO_MANY: ReadonlySet<number> = new Set([4, 11])
/** The matching rule of Active Directory that follows groups in groups. */
const IN_CHAIN = '1.2.840.113556.1.4.1941'

/**
 * Finds the groups of an entry. If the directory limits the answer, the groups that roles name are asked for one by
 * one. So nobody loses a role because they have many other groups. `isCut`: there are more groups than were found.
 */
export async function membershipsOf(
  client: Client,
  settings: LdapSettings,
  entry: Entry,
  username: string,
  asked: AskedGroups,
): Promise<{ readonly memberships: Membership[]; readonly isCut: boolean }> {
  const searching = createSearch(client, settings, asked)
  const memberships = namedByEntry(settings, entry)
  const { groupSearch, nested } = settings
  const { memberAttribute } = searchSettings(settings)
  if (groupSearch) {
    const value = groupSearch.memberValue === 'dn' ? entry.dn : username
    const member = new EqualityFilter({ attribute: memberAttribute, value })
    memberships.push(...(await searching.search(groupSearch.base, member)))
  }
  if (nested?.how === 'rule') {
    const chain = new ExtensibleFilter({ matchType: memberAttribute, rule: IN_CHAIN, value: entry.dn })
    memberships.push(...(await searching.search(nested.base, chain)))
  }
  const isWalkCut = nested?.how === 'walk' && (await walk(searching, nested.base, memberAttribute, memberships))
  return { memberships, isCut: isWalkCut || searching.isCut() }
}

/** The groups that the entry itself names. A group outside `groupsBase` counts only by its distinguished name. */
function namedByEntry({ groupsAttribute, groupsBase }: LdapSettings, entry: Entry): Membership[] {
  const values = groupsAttribute === null ? [] : valuesOf(entry, groupsAttribute)
  return values.map((value) => {
    const canonical = canonicalDn(value)
    if (canonical === null) return { name: groupsBase === null ? value : null }
    const counts = groupsBase === null || isBelow(canonical, groupsBase)
    return { name: counts ? nameOfDn(value) : null, dn: value }
  })
}

/** Adds the groups that contain the known ones, and so on, each once. @returns whether there are more */
async function walk(
  searching: Searching,
  base: string,
  memberAttribute: string,
  memberships: Membership[],
): Promise<boolean> {
  const seen = new Set<string>()
  const isNew = ({ dn }: Membership) => {
    const canonical = dn === undefined ? null : canonicalDn(dn)
    if (canonical === null || seen.has(canonical)) return false
    seen.add(canonical)
    return true
  }
  let last = memberships.filter(isNew)
  for (let step = 0; last.length > 0; step += 1) {
    if (step === MAX_STEPS || memberships.length > MAX_GROUPS) return true
    const next: Membership[] = []
    for (const some of chunks(last)) {
      const filters = some.map(({ dn = '' }) => new EqualityFilter({ attribute: memberAttribute, value: dn }))
      next.push(...(await searching.search(base, new OrFilter({ filters }))).filter(isNew))
    }
    memberships.push(...next)
    last = next
  }
  return false
}

type Searching = ReturnType<typeof createSearch>

function createSearch(client: Client, settings: LdapSettings, asked: AskedGroups) {
  const { filter, nameAttribute } = searchSettings(settings)
  let isCut = false

  async function found(base: string, scope: 'sub' | 'base', filters: readonly Filter[]): Promise<Membership[]> {
    const all = filter === null ? [...filters] : [...filters, FilterParser.parseString(filter)]
    const { searchEntries } = await client.search(base, {
      scope,
      filter: new AndFilter({ filters: all }),
      attributes: [nameAttribute],
      paged: scope === 'sub' ? { pageSize: PAGE } : false,
    })
    return searchEntries.map((group) => ({ name: valuesOf(group, nameAttribute)[0] ?? null, dn: group.dn }))
  }
  async function foundAsked(base: string, who: Filter): Promise<Membership[]> {
    const groups: Membership[] = []
    for (const names of chunks(asked.names)) {
      const filters = names.map((value) => new EqualityFilter({ attribute: nameAttribute, value }))
      groups.push(...(await found(base, 'sub', [who, new OrFilter({ filters })])))
    }
    for (const dn of asked.dns) groups.push(...(await found(dn, 'base', [who]).catch(noneThere)))
    return groups
  }

  return {
    /** Whether the directory left out some groups. */
    isCut: (): boolean => isCut,
    async search(base: string, who: Filter): Promise<Membership[]> {
      try {
        return await found(base, 'sub', [who])
      } catch (error) {
        if (!(error instanceof ResultCodeError) || !TOO_MANY.has(error.code)) throw error
        isCut = true
        return foundAsked(base, who)
      }
    },
  }
}

/** A role may name a group that does not exist (any more). */
function noneThere(error: unknown): Membership[] {
  if (error instanceof NoSuchObjectError) return []
  throw error
}

function* chunks<Item>(items: readonly Item[]): Generator<readonly Item[]> {
  for (let from = 0; from < items.length; from += AT_ONCE) yield items.slice(from, from + AT_ONCE)
}

/** How groups are searched for where only groups in groups are. */
function searchSettings({ groupSearch }: LdapSettings) {
  return groupSearch ?? { filter: null, memberAttribute: 'member', nameAttribute: 'cn' }
}
