import { createSigningKey, fingerprintOf, publicKeyOf } from '@holdfast/protocol'
import type { ServiceIdentity } from '../../control-plane/src/runners/socket/handshake.js'

/** A control plane's key, without anything before it. */
export function newServiceIdentity(): ServiceIdentity {
  const privatePem = createSigningKey()
  return { privatePem, publicKey: publicKeyOf(privatePem), succession: [] }
}

/** The key of every control plane that a test does not give its own, so that one that is started again is the same. */
export const TEST_SERVICE = newServiceIdentity()

/** As the hub takes it. */
export const TEST_SERVICE_SOURCE = { current: () => TEST_SERVICE }

export const fingerprintOfService = (service: ServiceIdentity): string => fingerprintOf(service.publicKey)
