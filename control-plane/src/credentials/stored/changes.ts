import type { Logger } from 'pino'
import type { Clock } from '../../time/clock.js'
import { ConflictError, InvalidInputError } from '../../errors.js'
import {
  type NewCredential,
  type StoredCredential,
  deleteCredential,
  findCredentialByName,
  insertCredential,
  replaceCredential,
} from '../../store/service/credentials.js'
import type { Store } from '../../store/store.js'
import {
  type CredentialInput,
  type CredentialOptions,
  type CredentialType,
  givenOptions,
  problemOfSecret,
} from './credential.js'
import { type SecretBox, SecretBoxError } from '../encryption/secret-box.js'
import { type ListedCredential, listed, noSuchCredential, openedCredential, shown, typeOf } from './row.js'

/** The text that is shown in place of a secret. As a password in a request it means "keep the stored one". */
export const SHOWN_SECRET = '********'

/** What admins do with the credentials of the database. */
export type CredentialChanges = ReturnType<typeof createCredentialChanges>

/** What the changes need of other parts. */
export interface CredentialChangeDependencies {
  readonly store: Store
  readonly box: SecretBox
  readonly clock: Clock
  readonly log: Logger
  /** @throws NotFoundError */
  readonly stored: (id: number) => Promise<StoredCredential>
  /** The names in credentials.yaml. */
  readonly fileNames: () => Promise<ReadonlySet<string>>
}

/** Makes the {@link CredentialChanges} of this control plane. */
export function createCredentialChanges(deps: CredentialChangeDependencies) {
  const { store, box, clock, log, stored, fileNames } = deps

  async function refuseNameOfFile(name: string): Promise<void> {
    if (!(await fileNames()).has(name)) return
    throw new ConflictError('credential_in_file', `credentials.yaml has the credential '${name}'; change it there`)
  }

  /** @param isKept the stored secret stays */
  function changedRow(before: StoredCredential, changes: Partial<CredentialInput>, isKept: boolean): NewCredential {
    const name = changes.name ?? before.name
    const type = changes.type ?? typeOf(before)
    if (isKept && type !== before.type) {
      throw new InvalidInputError('password_needed', 'Another type needs another secret: give the password, too')
    }
    const password = isKept ? openKept(before, box) : (changes.password ?? '')
    const options = givenOptions({ ...before.options, ...changes.options })
    if (!isKept || changes.options) refuseBadSecret(type, password, options)
    return {
      ...plainParts({ ...before, ...changes, options }),
      name,
      type,
      secret: box.seal(password, name),
      createdAt: before.createdAt,
      updatedAt: clock.now(),
    }
  }

  return {
    /** @throws InvalidInputError, ConflictError when the name is taken */
    async create(input: CredentialInput, by: string): Promise<ListedCredential> {
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
    /**
     * Changes the given properties. Without a password, the stored one stays.
     * @throws NotFoundError, InvalidInputError, ConflictError
     */
    async change(id: number, changes: Partial<CredentialInput>, by: string): Promise<ListedCredential> {
      const before = await stored(id)
      if (changes.name !== undefined && changes.name !== before.name) await refuseNameOfFile(changes.name)
      const isKept = changes.password === undefined || changes.password === SHOWN_SECRET
      const row = changedRow(before, changes, isKept)
      const { name } = row
      const changed = await store.write('credentials.change', (queries) => replaceCredential(queries, before, row))
      if (!changed) {
        const holder = await findCredentialByName(store.read, name)
        if (holder && holder.id !== id) throw nameTaken(name)
        throw new ConflictError('credential_changed', 'Somebody else changed the credential meanwhile; look again')
      }
      log.info({ credential: id, name, by, new_secret: !isKept }, 'credential changed')
      return listed(shown(changed), 'database', (await fileNames()).has(name))
    },
    /** @throws NotFoundError */
    async remove(id: number, by: string): Promise<void> {
      const removed = await store.write('credentials.remove', (queries) => deleteCredential(queries, id))
      if (!removed) throw noSuchCredential()
      log.info({ credential: id, by }, 'credential removed')
    },
  }
}

/** A new secret can always be stored, also when the old one cannot be decrypted any more. */
function openKept(credential: StoredCredential, box: SecretBox): string {
  try {
    return openedCredential(credential, box).password
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error
    throw new ConflictError('credential_closed', `The stored secret cannot be opened: ${error.message}; give a new one`)
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

function nameTaken(name: string): ConflictError {
  return new ConflictError('credential_exists', `There is already a credential named '${name}'`)
}
