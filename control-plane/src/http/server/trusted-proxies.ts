import { SettingsError } from '@holdfast/protocol'
import { isIP } from 'node:net'
import { type HostRules, isHostIn, parseHostRules } from '../../sources/address-rules.js'

/** Whose word counts about where a request comes from. Null: nobody's. */
export type TrustedProxies =
  /** So many proxies stand one behind the other before the service, whatever their addresses are. */
  | { readonly hops: number }
  /** The proxies have these addresses. Everybody else is a client. */
  | { readonly networks: HostRules }

/** More proxies than this are not one behind the other. */
const MAX_HOPS = 10
const WORDS = `0 (no proxy), the number of proxies one behind the other (1 to ${MAX_HOPS}), or their addresses and networks with commas between them`

/** Reads TRUST_PROXY. @throws SettingsError */
export function trustedProxiesOf(text: string): TrustedProxies | null {
  if (/^(0|false|no|off)$/i.test(text)) return null
  if (/^(true|yes|on)$/i.test(text)) return { hops: 1 }
  if (/^\d+$/.test(text) && Number(text) >= 1 && Number(text) <= MAX_HOPS) return { hops: Number(text) }
  const networks = networksOf(text)
  if (networks !== null) return { networks }
  throw new SettingsError(`TRUST_PROXY: must be ${WORDS}, not ${JSON.stringify(text)}`)
}

function networksOf(text: string): HostRules | null {
  try {
    const rules = parseHostRules(text)
    const isAddresses = !rules.isEmpty && rules.names.size === 0 && rules.suffixes.length === 0
    return isAddresses ? rules : null
  } catch {
    return null
  }
}

/** Whether the other side of a connection is a proxy whose headers count. */
export function isProxy(trusted: TrustedProxies, peer: string | undefined): boolean {
  return 'hops' in trusted || (peer !== undefined && isHostIn(trusted.networks, peer))
}

/** Where a request comes from. */
export interface Origin {
  readonly address: string
  /** How many entries of the list nobody vouches for. A client may have written them. */
  readonly unproven: number
  /** An entry that counts is no address. */
  readonly isBroken: boolean
}

/**
 * The client of a request that a proxy passed on. Each proxy adds the address that it saw to the end of X-Forwarded-For. So
 * the list is read from its end, as far as its entries are by trusted proxies.
 * @param peer the address of the proxy that connects
 */
export function originOf(trusted: TrustedProxies, peer: string, forwardedFor: string): Origin {
  const entries = forwardedFor.split(',').map((entry) => entry.trim())
  let address = peer
  let left = entries.length
  for (let hop = 0; left > 0 && mayName(trusted, address, hop); hop += 1) {
    const next = addressOf(entries[left - 1] ?? '')
    if (next === null) return { address, unproven: left, isBroken: true }
    address = next
    left -= 1
  }
  return { address, unproven: left, isBroken: false }
}

function mayName(trusted: TrustedProxies, address: string, hop: number): boolean {
  return 'hops' in trusted ? hop < trusted.hops : isHostIn(trusted.networks, address)
}

/** An address, as proxies write it: some add the port. */
function addressOf(entry: string): string | null {
  const bare = /^\[([^\]]+)\](?::\d+)?$/.exec(entry)?.[1] ?? /^([\d.]+):\d+$/.exec(entry)?.[1] ?? entry
  return isIP(bare) === 0 ? null : bare
}
