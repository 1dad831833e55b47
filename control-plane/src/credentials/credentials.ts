import type { Logger } from 'pino'
import { Compile } from 'typebox/compile'
import type { Clock } from '../clock.js'
import { ConflictError, InvalidInputError, NotFoundError } from '../errors.js'
import {
  type NewCredential,
  type StoredCredential,
  deleteCredential,
  findCredential,
  findCredentialByName,
  insertCredential,
  listCredentials,
  replaceCredential,
} from '../store/service/credentials.js'
import type { Store } from '../store/store.js'
import {
  type Credential,
  type CredentialInput,
  CredentialOptions,
  type CredentialType,
  type OpenCredential,
  givenOptions,
  problemOfSecret,
} from './credential.js'
import type { CredentialFile, CredentialFileProblem } from './credential-file.js'
import type { HashicorpVault } from './hashicorp-vault.js'
import { type SecretBox, SecretBoxError } from './secret-box.js'
import { withVaultSecret } from './vault-secret.js'

const optionsOf = Compile(CredentialOptions)

/** The text that is shown in place of a secret. As a password in a request it means "keep the stored one". */
export const SHOWN_SECRET = '********'

/** A credential in a list. */
export interface ListedCredential extends Credential {
  readonly source: 'database' | 'file'
  /** True for a credential of the database that is not used, because the file has one of the same name. */
  readonly overridden: boolean
}

/** The credentials of the database and of credentials.yaml. If both have a name, the file wins. */
export interface Credentials {
  list(): Promise<ListedCredential[]>
  /** What is wrong with credentials.yaml. */
  problems(): Promise<readonly CredentialFileProblem[]>
  /** @throws NotFoundError */
  find(id: number): Promise<ListedCredential>
  /** @throws InvalidInputError, ConflictError when the name is taken */
  create(input: CredentialInput, by: string): Promise<ListedCredential>
  /**
   * Changes the given properties. Without a password, the stored one stays.
   * @throws NotFoundError, InvalidInputError, ConflictError
   */
  change(id: number, changes: Partial<CredentialInput>, by: string): Promise<ListedCredential>
  /** @throws NotFoundError */
  remove(id: number, by: string): Promise<void>
  /** Whether there is a credential of that name. */
  has(name: string): Promise<boolean>
  /**
   * A credential with its secret; null when it does not exist.
   * @throws SecretBoxError when it cannot be decrypted, VaultProblem when it cannot be had from HashiCorp Vault
   */
  open(name: string): Promise<OpenCredential | null>
  /** Logs a warning when stored secrets cannot be decrypted with the current ENCRYPTION_SECRET. */
  check(): Promise<void>
}

/** What the credentials need of other parts. */
export interface CredentialDependencies {
  readonly store: Store
  readonly box: SecretBox
  readonly file: CredentialFile
  /** Null: none is set. */
  readonly hashicorpVault: HashicorpVault | null
  readonly clock: Clock
  readonly log: Logger
}

/** Makes the {@link Credentials} of this control plane. */
export function createCredentials(deps: CredentialDependencies): Credentials {
  const { store, box, file, clock, log, hashicorpVault } = deps
  const fileNames = async () => new Set((await file.all()).map((credential) => credential.name))

  async function stored(id: number): Promise<StoredCredential> {
    const credential = await findCredential(store.read, id)
    if (!credential) throw noSuchCredential()
    return credential
  }

  async function refuseNameOfFile(name: string): Promise<void> {
    if (!(await fileNames()).has(name)) return
    throw new ConflictError('credential_in_file', `credentials.yaml has the credential '${name}'; change it there`)
  }

  function opened(credential: StoredCredential): OpenCredential {
    return { ...shown(credential), password: box.open(credential.secret, credential.name) }
  }

  return {
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
    async create(input, by) {
      const type = input.type ?? 'userpass'
      refuseBadSecret(type, input.password, givenOptions(input.options ?? {}))
      await refuseNameOfFile(input.name)
      const now = clock.now()
      const row: NewCredential = {
        ...plainParts(input),
        name: input.name,
        type,
        secret: box.seal(input.password, input.name),
        createdAt: now,
        updatedAt: now,
      }
      const made = await store.write('credentials.create', (queries) => insertCredential(queries, row))
      if (!made) throw nameTaken(input.name)
      log.info({ credential: made.id, name: made.name, by }, 'credential made')
      return listed(shown(made), 'database', false)
    },
    async change(id, changes, by) {
      const before = await stored(id)
      const name = changes.name ?? before.name
      const type = changes.type ?? typeOf(before)
      if (name !== before.name) await refuseNameOfFile(name)
      const isKept = changes.password === undefined || changes.password === SHOWN_SECRET
      if (isKept && type !== before.type) {
        throw new InvalidInputError('password_needed', 'Another type needs another secret: give the password, too')
      }
      const password = isKept ? openKept(before) : (changes.password ?? '')
      const options = givenOptions({ ...before.options, ...changes.options })
      if (!isKept || changes.options) refuseBadSecret(type, password, options)
      const row: NewCredential = {
        ...plainParts({ ...before, ...changes, options }),
        name,
        type,
        secret: box.seal(password, name),
        createdAt: before.createdAt,
        updatedAt: clock.now(),
      }
      const changed = await store.write('credentials.change', (queries) => replaceCredential(queries, before, row))
      if (!changed) {
        const holder = await findCredentialByName(store.read, name)
        if (holder && holder.id !== id) throw nameTaken(name)
        throw new ConflictError('credential_changed', 'Somebody else changed the credential meanwhile; look again')
      }
      log.info({ credential: id, name, by, new_secret: !isKept }, 'credential changed')
      return listed(shown(changed), 'database', (await fileNames()).has(name))
    },
    async remove(id, by) {
      const removed = await store.write('credentials.remove', (queries) => deleteCredential(queries, id))
      if (!removed) throw noSuchCredential()
      log.info({ credential: id, by }, 'credential removed')
    },
    async has(name) {
      return (await fileNames()).has(name) || (await findCredentialByName(store.read, name)) !== null
    },
    async open(name) {
      const inFile = (await file.all()).find((credential) => credential.name === name)
      if (inFile) return withVaultSecret(inFile, hashicorpVault)
      const credential = await findCredentialByName(store.read, name)
      return credential ? withVaultSecret(opened(credential), hashicorpVault) : null
    },
    async check() {
      const closed = (await listCredentials(store.read)).filter((credential) => {
        try {
          return !opened(credential)
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

  /** A new secret can always be stored, also when the old one cannot be decrypted any more. */
  function openKept(credential: StoredCredential): string {
    try {
      return opened(credential).password
    } catch (error) {
      if (!(error instanceof SecretBoxError)) throw error
      throw new ConflictError(
        'credential_closed',
        `The stored secret cannot be opened: ${error.message}; give a new one`,
      )
    }
  }
}

function refuseBadSecret(type: CredentialType, password: string, options: CredentialOptions): void {
  if (password === SHOWN_SECRET) {
    throw new InvalidInputError('password_masked', 'The password is the mask that stands for a stored one')
  }
  const problem = problemOfSecret(type, password, options)
  if (problem) throw new InvalidInputError('invalid_secret', problem)
}

function plainParts(input: Partial<Omit<CredentialInput, 'type'>>) {
  const { user, host, port, description, options } = input
  const texts = { user: user || null, host: host || null, description: description ?? '' }
  return { ...texts, port: port ?? null, options: givenOptions(options ?? {}) }
}

function shown(credential: StoredCredential): Credential {
  const { id, name, user, host, port, description, options } = credential
  return {
    id,
    name,
    type: typeOf(credential),
    user,
    host,
    port,
    description,
    options: givenOptions(optionsOf.Parse(options)),
  }
}

function typeOf(credential: StoredCredential): CredentialType {
  return credential.type as CredentialType
}

function listed(credential: Credential, source: ListedCredential['source'], overridden: boolean): ListedCredential {
  return { ...credential, source, overridden }
}

function noSuchCredential(): NotFoundError {
  return new NotFoundError('credential_not_found', 'There is no such credential')
}

function nameTaken(name: string): ConflictError {
  return new ConflictError('credential_exists', `There is already a credential named '${name}'`)
}
