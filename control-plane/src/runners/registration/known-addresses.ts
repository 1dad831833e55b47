import { networkOf } from '../../auth/network.js'
import { findApprovedAddresses } from '../../store/runners/runners.js'
import type { Store } from '../../store/store.js'

/** Network addresses from which approved runners came. They are kept some room when strangers fill the door. */
export interface KnownAddresses {
  has(network: string): boolean
  /** An approved runner came from there. */
  note(address: string): void
  /** Reads anew which they are; the old ones stand until it is done. */
  refresh(): Promise<void>
}

export function createKnownAddresses(store: Store): KnownAddresses {
  let networks = new Set<string>()
  return {
    has: (network) => networks.has(network),
    note: (address) => void networks.add(networkOf(address)),
    async refresh() {
      networks = new Set((await findApprovedAddresses(store.read)).map(networkOf))
    },
  }
}
