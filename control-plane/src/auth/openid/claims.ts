import type { Identity } from '../external-users.js'
import type { OpenIdSettings } from '../provider-config.js'
import type { GraphGroup } from './graph-groups.js'

export type Claims = Readonly<Record<string, unknown>>

/**
 * Who the claims are about.
 * @param graph the groups, where they do not come with the claims
 * @returns null when the claim with the name is missing
 */
export function identityOf(settings: OpenIdSettings, claims: Claims, graph: readonly GraphGroup[]): Identity | null {
  const username = usernameOf(settings, claims)
  const subject = subjectOf(settings, claims)
  if (username === null || subject === null) return null
  const email = textOf(claims.email)
  return { type: settings.kind, username, subject, email, groups: groupsOf(settings, claims, graph) }
}

function usernameOf({ usernameClaim }: OpenIdSettings, claims: Claims): string | null {
  // An address that nobody verified may be anybody's.
  if (usernameClaim === 'email' && claims.email_verified === false) return null
  return textOf(claims[usernameClaim])
}

/** Entra ID has a `sub` for each application, and the `oid` for the person. */
function subjectOf({ kind }: OpenIdSettings, claims: Claims): string | null {
  const issuer = textOf(claims.iss)
  const subject = kind === 'azuread' ? (textOf(claims.oid) ?? textOf(claims.sub)) : textOf(claims.sub)
  return issuer === null || subject === null ? null : `${issuer} ${subject}`
}

function groupsOf({ groups, groupFilter }: OpenIdSettings, claims: Claims, graph: readonly GraphGroup[]): string[] {
  const filter = groupFilter === null ? null : new RegExp(groupFilter, 'u')
  const passes = (name: string) => filter === null || filter.test(name)
  if ('claim' in groups) return textsOf(claims[groups.claim]).filter(passes)
  // By its id a group can be named for certain, by its name so that people can read it.
  return graph.flatMap(({ id, name }) => (passes(name ?? id) ? [id, ...(name === null ? [] : [name])] : []))
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' && value !== '' ? value : null
}

/** A provider with a single group may give it without a list. */
function textsOf(value: unknown): string[] {
  const values: unknown[] = Array.isArray(value) ? value : [value]
  return values.filter((one) => typeof one === 'string' && one !== '') as string[]
}
