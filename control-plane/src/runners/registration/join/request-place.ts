import { networkOf } from '../../../auth/sessions/network.js'
import type { WaitingRunner } from '../../../store/runners/runners.js'
import type { WaitingLimits } from '../hub-options.js'

/** Whether a request may be added to the list, and the id of the request that has to go for it. */
export type RequestPlace =
  { readonly isFree: true; readonly instead: number | null } | { readonly isFree: false; readonly text: string }

/**
 * Finds a place in the list of requests. To make room, a request whose socket is gone is removed first. Otherwise the
 * newest request of the address with the most requests is removed, if that address has more than the new one's would
 * have. A request that an admin marked is never removed.
 * @param list the oldest first
 */
export function placeFor(
  address: string,
  list: readonly WaitingRunner[],
  isConnected: (waiting: WaitingRunner) => boolean,
  limits: WaitingLimits,
): RequestPlace {
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

/** The requests of the address with the most requests. Requests that an admin marked do not count. */
function largestOf(list: readonly WaitingRunner[]): readonly WaitingRunner[] {
  const byNetwork = new Map<string, WaitingRunner[]>()
  for (const one of list) {
    if (one.keptBy !== null) continue
    const network = networkOf(one.ip)
    byNetwork.set(network, [...(byNetwork.get(network) ?? []), one])
  }
  return [...byNetwork.values()].reduce((most, some) => (some.length > most.length ? some : most), [])
}
