import type { Ground } from '../ground/ground.js'
import { type SecretRing, openSecretRing } from '../secrets/secret-ring.js'
import type { Store } from '../store/store.js'
import { createCredentialFile } from './stored/credentials-file.js'
import { createCredentials } from './stored/credentials.js'
import { createHashicorpVault } from './hashicorp/vault.js'
import type { VaultSettings } from './hashicorp/settings.js'
import { createJobVault } from './job/sealed-values.js'
import { type SecretBox, createSecretBox } from './encryption/secret-box.js'
import { type SecretRotation, createSecretRotation } from './encryption/rotation.js'

/** What credentials need of the settings. */
export interface CredentialSettings {
  readonly persistentPath: string
  readonly credentialsPath: string
  /** Null: a secret is made once and kept in the persistent folder. */
  readonly encryptionSecret: string | null
  /** The secret before it, which can still decrypt. */
  readonly encryptionSecretPrevious: string | null
  /** HashiCorp Vault; null: none. */
  readonly hashicorpVault: VaultSettings | null
}

/** The parts of this room, ready to use. */
export type CredentialParts = Awaited<ReturnType<typeof composeCredentials>>

/** Builds the stored credentials, those of credentials.yaml, and the encryption of what is stored. */
export async function composeCredentials(ground: Ground, settings: CredentialSettings, store: Store) {
  const { clock, log, timers, steady, onClose } = ground
  const encryption = await openSecretRing({
    setting: 'ENCRYPTION_SECRET',
    given: settings.encryptionSecret,
    previous: settings.encryptionSecretPrevious,
    folder: settings.persistentPath,
    name: 'encryption-secret',
    clock,
  })
  const box = createSecretBox(encryption)
  const file = createCredentialFile({ path: settings.credentialsPath, clock, log })
  const hashicorpVault = settings.hashicorpVault
    ? createHashicorpVault(settings.hashicorpVault, { timers, steady, log })
    : null
  onClose(() => Promise.resolve(hashicorpVault?.close()))
  const credentials = createCredentials({ store, clock, log, box, file, hashicorpVault })
  await credentials.check()
  return { credentials, vault: createJobVault(box), box, encryption }
}

/** What the rotation of secrets needs of other rooms. */
export interface RotationNeeds {
  readonly store: Store
  readonly box: SecretBox
  readonly encryption: SecretRing
  readonly accessTokens: SecretRing
  /** In milliseconds. */
  readonly refreshTokenMs: number
}

/** Builds the rotation of the service's secrets. */
export function composeSecretRotation(ground: Ground, needs: RotationNeeds): SecretRotation {
  const { clock, steady, timers, log, onClose } = ground
  const rotation = createSecretRotation({ ...needs, clock, steady, timers, log })
  onClose(() => rotation.close())
  return rotation
}
