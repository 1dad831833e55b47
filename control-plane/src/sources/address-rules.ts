import { BlockList, isIP } from 'node:net'
import { SourceProblem } from './question.js'

/**
 * Addresses that belong to this machine or to networks around it. A form reaches them only when REST_ALLOWED_HOSTS
 * names them, because many services there trust everybody who can reach them. Of IPv6 only 2000::/3 belongs to the
 * internet. The test networks in it, Teredo and 6to4 count as private, too.
 */
const PRIVATE_NETWORKS = `
  0.0.0.0/8, 10.0.0.0/8, 100.64.0.0/10, 127.0.0.0/8, 169.254.0.0/16, 172.16.0.0/12, 192.0.0.0/24, 192.0.2.0/24,
  192.168.0.0/16, 198.18.0.0/15, 198.51.100.0/24, 203.0.113.0/24, 224.0.0.0/3,
  ::/3, 4000::/2, 8000::/1, 2001::/32, 2001:db8::/32, 2002::/16`

/**
 * Networks by the version of their addresses. They are apart, because one `BlockList` finds every IPv4 address in `::/3`:
 * it takes 10.0.0.1 for `::ffff:10.0.0.1`.
 */
type Networks = Readonly<Record<'ipv4' | 'ipv6', BlockList>>

/** The hosts that a setting such as REST_ALLOWED_HOSTS names. All texts are in lower case. */
export interface HostRules {
  readonly names: ReadonlySet<string>
  /** `.example.com` for the entry `*.example.com`. */
  readonly suffixes: readonly string[]
  readonly networks: Networks
  readonly isEmpty: boolean
}

/** Which addresses forms may ask. */
export interface AddressRules {
  /** REST_ALLOWED_HOSTS; empty: everything but private addresses. */
  readonly allowed: HostRules
  /** REST_DENIED_HOSTS. A host that both settings name is denied. */
  readonly denied: HostRules
  /** The words for messages. Left out: the words for forms. */
  readonly words?: RuleWords
}

/** How messages call the settings, and who asks. */
export interface RuleWords {
  readonly allowed: string
  readonly denied: string
  readonly who: string
}

const OF_FORMS: RuleWords = { allowed: 'REST_ALLOWED_HOSTS', denied: 'REST_DENIED_HOSTS', who: 'forms' }

/** The host or the address is not allowed. Asking again does not help. */
export class HostRefused extends SourceProblem {}

/**
 * Reads a list of host names, names such as `*.example.com`, addresses and networks such as `10.0.0.0/8`, with commas
 * between them.
 * @throws Error that says which entry is none of these
 */
export function parseHostRules(text: string): HostRules {
  const names = new Set<string>()
  const suffixes: string[] = []
  const networks = { ipv4: new BlockList(), ipv6: new BlockList() }
  const entries = text.split(',').map((entry) => entry.trim().toLowerCase())
  for (const entry of entries.filter((one) => one !== '')) {
    const [address = '', bits] = entry.replace(/^\[|\]$/g, '').split('/')
    const version = isIP(address)
    if (version !== 0) {
      const length = bits === undefined ? (version === 4 ? 32 : 128) : /^\d{1,3}$/.test(bits) ? Number(bits) : -1
      if (length < 0 || length > (version === 4 ? 32 : 128)) throw new Error(`${entry} is no network`)
      const family = familyOf(version)
      networks[family].addSubnet(address, length, family)
    } else if (/^\*(\.[a-z0-9_-]+)+$/.test(entry)) suffixes.push(entry.slice(1))
    else if (/^[a-z0-9_-]+(\.[a-z0-9_-]+)*$/.test(entry)) names.add(entry)
    else throw new Error(`${entry} is no host name, address or network`)
  }
  return { names, suffixes, networks, isEmpty: entries.every((entry) => entry === '') }
}

const PRIVATE = parseHostRules(PRIVATE_NETWORKS)

/**
 * Refuses a host by its name, before it is resolved.
 * @param host as a URL has it: lower case, numbers in their usual form
 * @throws SourceProblem
 */
export function refuseHost({ denied, words = OF_FORMS }: AddressRules, host: string): void {
  if (isNamed(denied, host)) throw new HostRefused(`the host ${host} is in ${words.denied}`)
}

/**
 * Refuses an address before a connection to it is made. The connection then goes to exactly this address.
 * @param host the name that led to it, or the address itself
 * @throws SourceProblem
 */
export function refuseAddress(rules: AddressRules, host: string, address: string): void {
  const real = withoutDisguise(address)
  const { words = OF_FORMS } = rules
  if (holds(rules.denied.networks, real) || holds(rules.denied.networks, address)) {
    throw new HostRefused(`the address ${real} of ${host} is in ${words.denied}`)
  }
  if (isNamed(rules.allowed, host) || holds(rules.allowed.networks, real)) return
  if (!rules.allowed.isEmpty) throw new HostRefused(`the host ${host} is not in ${words.allowed}`)
  if (holds(PRIVATE.networks, real)) throw notPublic(host, real, words)
}

function notPublic(host: string, address: string, { allowed, who }: RuleWords): HostRefused {
  return new HostRefused(
    `the address ${address} of ${host} is private: ${who} may ask it only when ${allowed} names it`,
  )
}

function isNamed({ names, suffixes }: HostRules, host: string): boolean {
  const name = host.replace(/\.$/, '')
  return names.has(name) || suffixes.some((suffix) => name.endsWith(suffix))
}

/** True also for a text that is no address: `refuseAddress` asks for the denied networks first, so it refuses such a text. */
function holds(networks: Networks, address: string): boolean {
  const version = isIP(address)
  const family = familyOf(version)
  return version === 0 || networks[family].check(address, family)
}

/** @param version as `isIP` says it */
function familyOf(version: number): 'ipv4' | 'ipv6' {
  return version === 4 ? 'ipv4' : 'ipv6'
}

/** Whether a name or an address is one of those that the rules name. A name is not looked up. */
export function isHostIn(rules: HostRules, host: string): boolean {
  return isNamed(rules, host) || (isIP(host) !== 0 && holds(rules.networks, withoutDisguise(host)))
}

/** Without the brackets that an IPv6 address has in a URL. */
export function bare(host: string): string {
  return host.replace(/^\[(.*)\]$/, '$1')
}

/** The IPv4 address that an IPv6 address stands for (`::ffff:10.0.0.1`, `64:ff9b::a00:1`), or the address itself. */
function withoutDisguise(address: string): string {
  if (isIP(address) !== 6) return address
  const canonical = bare(new URL(`http://[${address.split('%')[0] ?? ''}]/`).hostname)
  const [, high, low] = /^(?:::ffff:|64:ff9b::)([0-9a-f]{1,4}):([0-9a-f]{1,4})$/.exec(canonical) ?? []
  if (high === undefined || low === undefined) return canonical
  const [one, other] = [Number.parseInt(high, 16), Number.parseInt(low, 16)]
  return [one >> 8, one & 255, other >> 8, other & 255].join('.')
}
