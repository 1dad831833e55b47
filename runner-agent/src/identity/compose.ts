import type { Ground } from '../ground.js'
import type { Identity } from './identity.js'
import { createKeyring, type Keyring } from './keyring.js'
import { openTrust, type Trust } from './trust.js'

/** The parts of this room. */
export interface IdentityParts {
  readonly trust: Trust
  readonly keyring: Keyring
}

/** Who this runner is, and which control plane it obeys. */
export function composeIdentity(
  { log, now }: Ground,
  { statePath, serviceFingerprint }: { readonly statePath: string; readonly serviceFingerprint: string | null },
  { identity, isIdle }: { readonly identity: Identity; readonly isIdle: () => boolean },
): IdentityParts {
  return {
    trust: openTrust({ statePath, given: serviceFingerprint, now, log }),
    keyring: createKeyring(identity, { statePath, log, isIdle }),
  }
}
