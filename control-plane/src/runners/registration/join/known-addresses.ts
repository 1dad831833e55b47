import { networkOf } from '../../../auth/sessions/network.js'
import { findApprovedAddresses } from '../../../store/runners/runners.js'
import type { Store } from '../../../store/store.js'

/**
 * Network addresses from which approved runners came. Some places are kept for them when many unknown agents connect.
 */
export interface KnownAddresses {
  has(network: string): boolean
  /** An approved runner came from this address. */
  note(address: string): void
  /** Reads the addresses again. The old ones are used until that is done. */
  refresh(): Promise<void>
}

/** Makes the list of addresses, empty until the first refresh. */
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
