import { networkOf } from '../../../auth/sessions/network.js'
import { findApprovedAddresses } from '../../../store/runners/runners.js'
import type { Store } from '../../../store/store.js'

/**
 * Network addresses from which approved runners came. Some places are kept for them when many unknown agents connect.
 */
export type KnownAddresses = ReturnType<typeof createKnownAddresses>

/** Makes the list of addresses, empty until the first refresh. */
export function createKnownAddresses(store: Store) {
  let networks = new Set<string>()
  return {
    has: (network: string): boolean => networks.has(network),
    /** An approved runner came from this address. */
    note: (address: string): void => void networks.add(networkOf(address)),
    /** Reads the addresses again. The old ones are used until that is done. */
    async refresh(): Promise<void> {
      networks = new Set((await findApprovedAddresses(store.read)).map(networkOf))
    },
  }
}
