import type { Logger } from 'pino'
import type { Clock } from '../../time/clock.js'
import {
  type StoredCredential,
  findCredential,
  findCredentialByName,
  listCredentials,
} from '../../store/service/credentials.js'
import type { Store } from '../../store/store.js'
import type { OpenCredential } from './credential.js'
import { type CredentialChanges, createCredentialChanges } from './changes.js'
import type { CredentialFile, CredentialFileProblem } from './credentials-file.js'
import type { HashicorpVault } from '../hashicorp/vault.js'
import type { SecretBox } from '../encryption/secret-box.js'
import { type ListedCredential, listed, noSuchCredential, openedCredential, shown } from './row.js'
import { withVaultSecret } from './vault-secret.js'

/** The credentials of the database and of credentials.yaml. If both have a name, the file wins. */
export interface Credentials extends CredentialChanges {
  list(): Promise<ListedCredential[]>
  /** What is wrong with credentials.yaml. */
  problems(): Promise<readonly CredentialFileProblem[]>
  /** @throws NotFoundError */
  find(id: number): Promise<ListedCredential>
  /** Whether there is a credential of that name. */
  has(name: string): Promise<boolean>
  /**
   * A credential with its secret; null when it does not exist.
   * @throws SecretBoxError when it cannot be decrypted, VaultProblem when it cannot be read from HashiCorp Vault
   */
  open(name: string): Promise<OpenCredential | null>
  /** Logs a warning when stored secrets cannot be decrypted with the current ENCRYPTION_SECRET. */
  check(): Promise<void>
}

/** Makes the {@link Credentials} of this control plane. */
export function createCredentials(deps: {
  readonly store: Store
  readonly box: SecretBox
  readonly file: CredentialFile
  /** Null: none is set. */
  readonly hashicorpVault: HashicorpVault | null
  readonly clock: Clock
  readonly log: Logger
}): Credentials {
  const { store, box, file, log, hashicorpVault } = deps
  const fileNames = async () => new Set((await file.all()).map((credential) => credential.name))

  async function stored(id: number): Promise<StoredCredential> {
    const credential = await findCredential(store.read, id)
    if (!credential) throw noSuchCredential()
    return credential
  }

  return {
    ...createCredentialChanges({ ...deps, stored, fileNames }),
    async list() {
      const inFile = await file.all()
      const names = new Set(inFile.map((credential) => credential.name))
      const fromFile = inFile.map(({ password: _, ...credential }) => listed(credential, 'file', false))
      const fromDatabase = (await listCredentials(store.read)).map((credential) =>
        listed(shown(credential), 'database', names.has(credential.name)),
      )
      return [...fromFile, ...fromDatabase].sort((one, other) => (one.name < other.name ? -1 : 1))
    },
    problems: () => file.problems(),
    async find(id) {
      const credential = await stored(id)
      return listed(shown(credential), 'database', (await fileNames()).has(credential.name))
    },
    async has(name) {
      return (await fileNames()).has(name) || (await findCredentialByName(store.read, name)) !== null
    },
    async open(name) {
      const inFile = (await file.all()).find((credential) => credential.name === name)
      if (inFile) return withVaultSecret(inFile, hashicorpVault)
      const credential = await findCredentialByName(store.read, name)
      return credential ? withVaultSecret(openedCredential(credential, box), hashicorpVault) : null
    },
    async check() {
      const closed = (await listCredentials(store.read)).filter((credential) => {
        try {
          return !openedCredential(credential, box)
        } catch {
          return true
        }
      })
      if (closed.length === 0) return
      log.error(
        { credentials: closed.map((credential) => credential.name) },
        'stored credentials cannot be opened: ENCRYPTION_SECRET is not the one that they were stored with. Bring it back, or give each its password anew',
      )
    },
  }
}
