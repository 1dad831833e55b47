import { type Static, type TObject, Type } from 'typebox'
import { definedOnly } from '../../defined-only.js'
import { canonicalDn } from './distinguished-name.js'
import {
  SectionProblem,
  checkFilter,
  isLoopback,
  patternOf,
  refuseLogin,
  urlOf,
  webUrlOf,
  withoutSlash,
} from './provider-checks.js'

const Text = Type.String({ minLength: 1, maxLength: 2000 })
/** Secrets are never in config.yaml. It names the stored credential that has them. */
const CredentialName = Text

const LdapTls = Type.Object({
  /** A PEM file with the authorities that are trusted instead of those of the machine. */
  ca: Type.Optional(Text),
  verify: Type.Optional(Type.Boolean()),
  startTls: Type.Optional(Type.Boolean()),
  /** True: passwords may cross the network in clear. */
  plain: Type.Optional(Type.Boolean()),
})

const LdapGroupSearch = Type.Object({
  base: Text,
  filter: Type.Optional(Text),
  memberAttribute: Type.Optional(Text),
  memberValue: Type.Optional(Type.Enum(['dn', 'username'])),
  nameAttribute: Type.Optional(Text),
})

const LdapSection = Type.Object({
  url: Text,
  tls: Type.Optional(LdapTls),
  bindCredential: Type.Optional(CredentialName),
  searchBase: Text,
  userFilter: Type.Optional(Text),
  usernameAttribute: Type.Optional(Text),
  mailAttribute: Type.Optional(Text),
  groupsAttribute: Type.Optional(Text),
  /** The part of the directory in which groups count by their name. */
  groupsBase: Type.Optional(Text),
  nestedGroups: Type.Optional(Type.Enum(['rule', 'walk'])),
  /** The attribute by which an entry is known after it was renamed; `none`: only names count. */
  idAttribute: Type.Optional(Type.String({ pattern: '^[A-Za-z0-9.-]{1,100}$' })),
  groupSearch: Type.Optional(LdapGroupSearch),
})

const OidcSection = Type.Object({
  issuer: Text,
  formerIssuers: Type.Optional(Type.Array(Text, { maxItems: 20 })),
  clientId: Text,
  clientCredential: Type.Optional(CredentialName),
  scopes: Type.Optional(Type.Array(Text, { minItems: 1, maxItems: 50 })),
  usernameClaim: Type.Optional(Text),
  groupsClaim: Type.Optional(Text),
  groupFilter: Type.Optional(Text),
})

const AzureadSection = Type.Object({
  tenantId: Type.String({ pattern: '^[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}$' }),
  clientId: Text,
  clientCredential: Type.Optional(CredentialName),
  authority: Type.Optional(Text),
  graphUrl: Type.Optional(Text),
  groupFilter: Type.Optional(Text),
})

/** The keys of config.yaml for directories and providers of users who are not local. */
export const PROVIDER_SECTIONS = {
  ldap: Type.Optional(LdapSection),
  oidc: Type.Optional(OidcSection),
  azuread: Type.Optional(AzureadSection),
}

interface Sections {
  readonly ldap?: Static<typeof LdapSection>
  readonly oidc?: Static<typeof OidcSection>
  readonly azuread?: Static<typeof AzureadSection>
}

/** A directory with all its settings. Those that were left out have their defaults. */
export interface LdapSettings {
  readonly url: string
  readonly startTls: boolean
  readonly verify: boolean
  readonly ca: string | null
  /** Null: the service searches the directory without a login. */
  readonly bindCredential: string | null
  readonly searchBase: string
  readonly userFilter: string | null
  readonly usernameAttribute: string
  readonly mailAttribute: string
  /** Attribute of a user with the DNs of groups; null: groups are only found by a search. */
  readonly groupsAttribute: string | null
  /** Canonical DN below which a group of `groupsAttribute` counts by its name; null: anywhere. */
  readonly groupsBase: string | null
  /** How groups in groups are found: by a rule of the directory, or step by step; null: they do not count. */
  readonly nested: { readonly how: 'rule' | 'walk'; readonly base: string } | null
  /** Attributes with the permanent id of an entry. The first one that exists counts. Empty: only names count. */
  readonly idAttributes: readonly string[]
  readonly groupSearch: {
    readonly base: string
    readonly filter: string | null
    readonly memberAttribute: string
    readonly memberValue: 'dn' | 'username'
    readonly nameAttribute: string
  } | null
}

/** The two kinds of OpenID Connect providers in config.yaml. */
export type OpenIdKind = 'oidc' | 'azuread'

/** A provider of OpenID Connect. */
export interface OpenIdSettings {
  readonly kind: OpenIdKind
  readonly issuer: string
  /** The earlier names of the same provider. */
  readonly formerIssuers: readonly string[]
  readonly clientId: string
  /** Null: a public client, which has no secret. */
  readonly clientCredential: string | null
  readonly scopes: readonly string[]
  readonly usernameClaim: string
  /** The source of a user's groups: a claim, or Microsoft Graph. */
  readonly groups: { readonly claim: string } | { readonly graphUrl: string }
  /** A regular expression. Only groups that match it count. */
  readonly groupFilter: string | null
}

/** The directories and providers of users who are not local. */
export interface ProviderConfig {
  readonly ldap?: LdapSettings
  readonly oidc?: OpenIdSettings
  readonly azuread?: OpenIdSettings
}

/**
 * Reads sections in the shape of {@link PROVIDER_SECTIONS}.
 * @throws SectionProblem
 */
export function readProviders(sections: Sections): ProviderConfig {
  refuseUnknownKeys(sections)
  const { ldap, oidc, azuread } = sections
  return definedOnly({
    ldap: ldap && ldapSettings(ldap),
    oidc: oidc && oidcSettings(oidc),
    azuread: azuread && azureadSettings(azuread),
  })
}

/** Unknown keys are refused. A typing error must not turn off a check, and a secret must not be here without notice. */
function refuseUnknownKeys(sections: Sections): void {
  const check = (value: object | undefined, schema: TObject, path: readonly string[]) => {
    const known = Object.keys(schema.properties)
    const unknown = Object.keys(value ?? {}).find((key) => !known.includes(key))
    if (unknown === undefined) return
    throw new SectionProblem([...path, unknown], `${[...path, unknown].join('.')}: there only are ${known.join(', ')}`)
  }
  check(sections.ldap, LdapSection, ['ldap'])
  check(sections.ldap?.tls, LdapTls, ['ldap', 'tls'])
  check(sections.ldap?.groupSearch, LdapGroupSearch, ['ldap', 'groupSearch'])
  check(sections.oidc, OidcSection, ['oidc'])
  check(sections.azuread, AzureadSection, ['azuread'])
}

function ldapSettings(section: Static<typeof LdapSection>): LdapSettings {
  const { tls = {}, groupSearch: search } = section
  const url = urlOf(['ldap', 'url'], section.url, ['ldap:', 'ldaps:'])
  refuseLogin(['ldap', 'url'], url)
  const startTls = tls.startTls ?? false
  if (url.protocol === 'ldap:' && !startTls && !tls.plain && !isLoopback(url)) {
    throw new SectionProblem(
      ['ldap', 'url'],
      'ldap.url: passwords would cross the network in clear; use ldaps://, or tls.startTls, or say tls.plain: true',
    )
  }
  if (url.protocol === 'ldaps:' && startTls) {
    throw new SectionProblem(['ldap', 'tls', 'startTls'], 'ldap.tls.startTls is for ldap://; ldaps:// begins with TLS')
  }
  const groupsBase = section.groupsBase === undefined ? null : canonicalDn(section.groupsBase)
  if (section.groupsBase !== undefined && groupsBase === null) {
    throw new SectionProblem(['ldap', 'groupsBase'], 'ldap.groupsBase must be a distinguished name')
  }
  checkFilter(['ldap', 'userFilter'], section.userFilter)
  checkFilter(['ldap', 'groupSearch', 'filter'], search?.filter)
  return {
    url: section.url,
    startTls,
    verify: tls.verify ?? true,
    ca: tls.ca ?? null,
    bindCredential: section.bindCredential ?? null,
    searchBase: section.searchBase,
    userFilter: section.userFilter ?? null,
    usernameAttribute: section.usernameAttribute ?? 'uid',
    mailAttribute: section.mailAttribute ?? 'mail',
    groupsAttribute: section.groupsAttribute ?? (search ? null : 'memberOf'),
    groupsBase,
    nested: nestedGroups(section),
    idAttributes: idAttributesOf(section.idAttribute),
    groupSearch: search
      ? {
          base: search.base,
          filter: search.filter ?? null,
          memberAttribute: search.memberAttribute ?? 'member',
          memberValue: search.memberValue ?? 'dn',
          nameAttribute: search.nameAttribute ?? 'cn',
        }
      : null,
  }
}

/** The defaults for the two families of directories: OpenLDAP and similar ones, Active Directory. */
function idAttributesOf(given: string | undefined): readonly string[] {
  if (given === undefined) return ['entryUUID', 'objectGUID']
  return given === 'none' ? [] : [given]
}

function nestedGroups({
  nestedGroups: how,
  groupSearch,
  groupsBase,
}: Static<typeof LdapSection>): LdapSettings['nested'] {
  if (how === undefined) return null
  const path = ['ldap', 'nestedGroups']
  const base = groupSearch?.base ?? groupsBase
  if (base === undefined) throw new SectionProblem(path, 'ldap.nestedGroups takes ldap.groupsBase or ldap.groupSearch')
  if (groupSearch?.memberValue === 'username') {
    throw new SectionProblem(path, 'ldap.nestedGroups takes groups that name their members by DN')
  }
  return { how, base }
}

function oidcSettings(section: Static<typeof OidcSection>): OpenIdSettings {
  webUrlOf(['oidc', 'issuer'], section.issuer)
  section.formerIssuers?.forEach((issuer, at) =>
    urlOf(['oidc', 'formerIssuers', String(at)], issuer, ['https:', 'http:']),
  )
  const scopes = section.scopes ?? ['openid', 'profile', 'email']
  return {
    kind: 'oidc',
    issuer: section.issuer,
    formerIssuers: section.formerIssuers ?? [],
    clientId: section.clientId,
    clientCredential: section.clientCredential ?? null,
    scopes: scopes.includes('openid') ? scopes : ['openid', ...scopes],
    usernameClaim: section.usernameClaim ?? 'preferred_username',
    groups: { claim: section.groupsClaim ?? 'groups' },
    groupFilter: patternOf(['oidc', 'groupFilter'], section.groupFilter),
  }
}

function azureadSettings(section: Static<typeof AzureadSection>): OpenIdSettings {
  const authority = section.authority ?? 'https://login.microsoftonline.com'
  const graphUrl = section.graphUrl ?? 'https://graph.microsoft.com'
  webUrlOf(['azuread', 'authority'], authority)
  const graph = webUrlOf(['azuread', 'graphUrl'], graphUrl)
  return {
    kind: 'azuread',
    issuer: `${withoutSlash(authority)}/${section.tenantId}/v2.0`,
    formerIssuers: [],
    clientId: section.clientId,
    clientCredential: section.clientCredential ?? null,
    // The smallest scope that shows the user's own groups with their names.
    scopes: ['openid', 'profile', 'email', `${graph.origin}/User.Read`, `${graph.origin}/GroupMember.Read.All`],
    usernameClaim: 'preferred_username',
    groups: { graphUrl: withoutSlash(graphUrl) },
    groupFilter: patternOf(['azuread', 'groupFilter'], section.groupFilter),
  }
}
