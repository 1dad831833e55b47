import { randomBytes } from 'node:crypto'
import { AndFilter, type Client, type Entry, EqualityFilter, FilterParser, ResultCodeError } from 'ldapts'
import type { Clock } from '../../time/clock.js'
import { UnavailableError } from '../../errors.js'
import { foreignText } from '../../secrets/foreign-text.js'
import { usernameKey } from '../../store/accounts/users.js'
import type { Identity } from '../providers/external-users.js'
import type { AskedGroups } from '../roles/group-names.js'
import type { LdapSettings } from '../roles/provider-config.js'
import type { ProviderSecrets } from '../providers/provider-secrets.js'
import { BrokenAnswer } from './answers.js'
import { type DirectoryConnection, withDirectory } from './connection.js'
import { subjectOf, valuesOf } from './entry.js'
import { membershipsOf } from './memberships.js'
import { isEveryday, passwordRefusal } from './refusals.js'

/** Checks names and passwords at an LDAP directory. */
export interface Directory {
  /**
   * The user with this name and password; null when there is none.
   * @param asked groups that are looked up even if the directory limits the number of groups
   * @throws UnavailableError when the directory does not answer, or refuses the login of this service
   */
  check(settings: LdapSettings, username: string, password: string, asked: AskedGroups): Promise<Identity | null>
}

/** Where it is said why somebody could not sign in. They themselves do not learn it. */
export interface DirectoryLog {
  info(fields: object, text: string): void
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

/** What the directory needs of other parts. */
export interface DirectoryDependencies {
  readonly secrets: ProviderSecrets
  readonly clock: Clock
  readonly log: DirectoryLog
  /** The folder where relative paths in config.yaml begin. */
  readonly folder: string
}

/** How long a directory that did not answer is not asked again, in milliseconds, so that nobody has to wait for it. */
const AWAY_MS = 2000

/** Most sign-ins that ask the directory at once. Each has its own connection. */
const MAX_AT_ONCE = 50

/** A user who wants to sign in. */
interface BindAs {
  readonly dn: string
  readonly password: string
  readonly username: string
  /** There is an entry with this name. */
  readonly isKnown: boolean
}

/** Makes the {@link Directory} of this control plane. */
export function createDirectory(deps: DirectoryDependencies): Directory {
  const { log } = deps
  const ask = createDoor(deps)

  async function bindService({ bind }: DirectoryConnection, settings: LdapSettings): Promise<void> {
    if (settings.bindCredential === null) return
    const { user, password } = await deps.secrets.open(settings.bindCredential)
    if (user === null || user === '') {
      log.error({ credential: settings.bindCredential }, 'the credential for the directory has no user: its DN')
      throw new UnavailableError('directory_refused', 'The sign-in by directory is not set up completely')
    }
    const { error, policy } = await bind(user, password)
    if (error === null && policy.refusal === null) return
    const reason = [error && (passwordRefusal(error) ?? reasonOf(error)), policy.refusal].filter(Boolean).join('; ')
    log.error({ url: settings.url, reason }, 'the directory refused the login of this service')
    throw refused()
  }

  /** Whether the directory lets this user in. If it does not, the log says why. */
  async function accepts({ bind }: DirectoryConnection, settings: LdapSettings, who: BindAs): Promise<boolean> {
    const { error, policy } = await bind(who.dn, who.password)
    const why = error === null ? null : passwordRefusal(error)
    if (error !== null && why === null) throw error
    const fields = { url: settings.url, username: who.username }
    if (error === null && policy.refusal === null) {
      if (policy.warning !== null)
        log.info({ ...fields, reason: policy.warning }, 'the directory warns about a password')
      return true
    }
    const reason = [why, policy.refusal].filter((text) => text !== null).join('; ')
    const level = error !== null && policy.refusal === null && isEveryday(error) ? 'info' : 'warn'
    if (who.isKnown) log[level]({ ...fields, reason }, 'the directory refused a sign-in')
    return false
  }

  return {
    async check(settings, username, password, asked) {
      // For a directory, a bind with a name and without a password is an anonymous bind, which succeeds (RFC 4513,
      // 5.1.2).
      if (password === '' || username === '') return null
      return ask(settings, async (connection) => {
        const { client } = connection
        await bindService(connection, settings)
        const entry = await findEntry(client, settings, username, log)
        // The directory is also asked for a name that does not exist. Otherwise the time of the answer would show
        // whether a name exists.
        const dn = entry?.dn ?? `${settings.usernameAttribute}=${randomBytes(9).toString('hex')},${settings.searchBase}`
        const who = { dn, password, username, isKnown: entry !== null }
        if (!(await accepts(connection, settings, who)) || !entry) return null
        const [name = ''] = valuesOf(entry, settings.usernameAttribute)
        const [email = null] = valuesOf(entry, settings.mailAttribute)
        // The service's own login asks this, because the user may not be allowed to.
        if (settings.groupSearch ?? settings.nested) await bindService(connection, settings)
        const { memberships: groups, isCut } = await membershipsOf(client, settings, entry, name, asked)
        const { idAttributes } = settings
        const subject = subjectOf(entry, idAttributes)
        return { type: 'ldap', username: name, subject, isByName: idAttributes.length === 0, email, groups, isCut }
      })
    },
  }
}

/** Limits the access to the directory: only some sign-ins at once, and none for a moment after it did not answer. */
function createDoor({ clock, log, folder }: DirectoryDependencies) {
  let away: { readonly until: number; readonly url: string } | null = null
  let asking = 0
  return async <T>(settings: LdapSettings, question: (connection: DirectoryConnection) => Promise<T>): Promise<T> => {
    if (away && away.url === settings.url && clock.now() < away.until) throw unreachable()
    if (asking >= MAX_AT_ONCE) throw new UnavailableError('busy', 'Too many sign-ins at once; try again in a moment')
    asking += 1
    try {
      const answer = await withDirectory(settings, folder, question)
      away = null
      return answer
    } catch (error) {
      if (error instanceof UnavailableError) throw error
      if (error instanceof ResultCodeError) {
        log.error({ url: settings.url, reason: reasonOf(error) }, 'the directory refused what a sign-in takes')
        throw refused()
      }
      away = { until: clock.now() + AWAY_MS, url: settings.url }
      log.error({ url: settings.url, reason: foreignText(error, []) }, 'the directory cannot be reached')
      throw unreachable()
    } finally {
      asking -= 1
    }
  }
}

/** The one entry of that name, or null. */
async function findEntry(
  client: Client,
  settings: LdapSettings,
  username: string,
  log: DirectoryDependencies['log'],
): Promise<Entry | null> {
  const { usernameAttribute, mailAttribute, groupsAttribute, userFilter, idAttributes } = settings
  const filters = [new EqualityFilter({ attribute: usernameAttribute, value: username })]
  const { searchEntries } = await client.search(settings.searchBase, {
    scope: 'sub',
    filter: new AndFilter({ filters: userFilter ? [...filters, FilterParser.parseString(userFilter)] : filters }),
    attributes: [
      usernameAttribute,
      mailAttribute,
      ...(groupsAttribute === null ? [] : [groupsAttribute]),
      ...idAttributes,
    ],
    explicitBufferAttributes: [...idAttributes],
    sizeLimit: 2,
  })
  const [entry, another] = searchEntries
  if (!entry) return null
  // The library takes some names without `=` for other ways to sign in, and servers take an empty one for nobody.
  if (!entry.dn.includes('=')) throw new BrokenAnswer('the directory gives an entry without a distinguished name')
  const names = valuesOf(entry, usernameAttribute)
  if (another || names.length !== 1) {
    const found = searchEntries.map(({ dn }) => dn)
    log.warn({ attribute: usernameAttribute, found }, 'a name stands for no single user of the directory: refused')
    return null
  }
  // For directories some names are equal that differ here, such as names with more spaces. Each of them would have its
  // own number of tries.
  return usernameKey(names[0] ?? '') === usernameKey(username) ? entry : null
}

function refused(): UnavailableError {
  return new UnavailableError('directory_refused', 'The directory does not answer the service; its log says more')
}

function unreachable(): UnavailableError {
  return new UnavailableError('directory_unreachable', 'The directory cannot be reached; try again later')
}

/** The name of the code only: the message of a directory may contain anything. */
function reasonOf(error: ResultCodeError): string {
  return `${error.name} (${error.code})`
}
