import { readPattern } from '../../texts/pattern-text.js'
import type { Identity } from '../providers/external-users.js'
import type { Membership } from '../roles/group-names.js'
import type { OpenIdSettings } from '../roles/provider-config.js'
import type { GraphGroup } from './graph-groups.js'

/** The claims of a user, as a provider sends them. */
export type Claims = Readonly<Record<string, unknown>>

/**
 * The user that the claims describe.
 * @param graph the groups, if they do not come with the claims
 * @returns null when the claim with the name is missing
 */
export function identityOf(settings: OpenIdSettings, claims: Claims, graph: readonly GraphGroup[]): Identity | null {
  const username = usernameOf(settings, claims)
  const subjects = subjectsOf(settings, claims)
  const [subject, ...formerSubjects] = subjects
  if (username === null || subject === undefined) return null
  const email = textOf(claims.email)
  return { type: settings.kind, username, subject, formerSubjects, email, groups: groupsOf(settings, claims, graph) }
}

/**
 * The claim at a path such as `groups` or `realm_access.roles`. A dot that belongs to a name has a backslash before it.
 * A claim whose whole name is the path comes first.
 */
function claimAt(claims: Claims, path: string): unknown {
  if (Object.hasOwn(claims, path)) return claims[path]
  let value: unknown = claims
  for (const part of path.match(/(?:\\[\s\S]|[^.\\])+/g) ?? []) {
    const name = part.replace(/\\([\s\S])/g, '$1')
    if (typeof value !== 'object' || value === null || Array.isArray(value) || !Object.hasOwn(value, name))
      return undefined
    value = (value as Claims)[name]
  }
  return value
}

function usernameOf({ usernameClaim }: OpenIdSettings, claims: Claims): string | null {
  // Without verification, the address may belong to somebody else.
  if (usernameClaim === 'email' && claims.email_verified !== true) return null
  return textOf(claimAt(claims, usernameClaim))
}

/**
 * The ids by which the provider knows the user, now and under earlier names of the provider. Entra ID has a `sub` for
 * each application, and an `oid` for the person.
 */
function subjectsOf({ kind, formerIssuers }: OpenIdSettings, claims: Claims): string[] {
  const issuer = textOf(claims.iss)
  const subject = kind === 'azuread' ? (textOf(claims.oid) ?? textOf(claims.sub)) : textOf(claims.sub)
  return issuer === null || subject === null ? [] : [issuer, ...formerIssuers].map((one) => `${one} ${subject}`)
}

function groupsOf({ groups, groupFilter }: OpenIdSettings, claims: Claims, graph: readonly GraphGroup[]): Membership[] {
  const filter = groupFilter === null ? null : readPattern(groupFilter, 'u')
  const passes = (name: string) => filter === null || filter.test(name)
  if ('claim' in groups)
    return textsOf(claimAt(claims, groups.claim))
      .filter(passes)
      .map((name) => ({ name }))
  // The id identifies a group. The name is for people.
  return graph.filter(({ id, name }) => passes(name ?? id)).map(({ id, name }) => ({ id, name }))
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** A provider may send a single group without a list. */
function textsOf(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.filter((one) => typeof one === 'string' && one !== '') as string[]
}
