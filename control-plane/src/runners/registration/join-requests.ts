import { networkOf } from '../../auth/network.js'
import type { WaitingRunner } from '../../store/runners/runners.js'

export interface WaitingLimits {
  /** Requests that may wait for an admin at once. */
  readonly mostWaiting: number
  /** The same of one network address (IPv6: of one /64). */
  readonly mostWaitingOfAddress: number
}

/** Whether a request may be put on the list, and which one has to go for it, by its id. */
export type Place =
  { readonly isFree: true; readonly instead: number | null } | { readonly isFree: false; readonly text: string }

/**
 * Finds a place on the list of requests. Room is made by, in this order: a request whose socket is gone, and the newest
 * of the address that has the most, if that has more than the newcomer's would. Nobody goes whom an admin marked.
 * @param list the oldest first
 */
export function placeFor(
  address: string,
  list: readonly WaitingRunner[],
  isConnected: (waiting: WaitingRunner) => boolean,
  limits: WaitingLimits,
): Place {
  const network = networkOf(address)
  const own = list.filter((one) => networkOf(one.ip) === network)
  const isOwnFull = own.length >= limits.mostWaitingOfAddress
  if (!isOwnFull && list.length < limits.mostWaiting) return { isFree: true, instead: null }

  const left = (isOwnFull ? own : list).filter((one) => one.keptBy === null && !isConnected(one))
  const [longestGone] = left.sort((one, other) => one.lastSeen - other.lastSeen)
  if (longestGone) return { isFree: true, instead: longestGone.id }
  if (isOwnFull) return { isFree: false, text: `${own.length} requests of this address wait for approval already` }
  const largest = largestOf(list)
  const newest = largest.at(-1)
  if (newest && largest.length > own.length + 1) return { isFree: true, instead: newest.id }
  return { isFree: false, text: `${list.length} requests wait for approval already` }
}

/** The requests of the address that has the most, those apart that an admin marked. */
function largestOf(list: readonly WaitingRunner[]): readonly WaitingRunner[] {
  const byNetwork = new Map<string, WaitingRunner[]>()
  for (const one of list) {
    if (one.keptBy !== null) continue
    const network = networkOf(one.ip)
    byNetwork.set(network, [...(byNetwork.get(network) ?? []), one])
  }
  return [...byNetwork.values()].reduce((most, some) => (some.length > most.length ? some : most), [])
}
