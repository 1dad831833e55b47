import { Type } from 'typebox'
import { Compile } from 'typebox/compile'
import { NotFoundError } from '../../errors.js'
import type { StoredCredential } from '../../store/service/credentials.js'
import {
  CREDENTIAL_TYPES,
  type Credential,
  CredentialOptions,
  type CredentialType,
  type OpenCredential,
  givenOptions,
} from './credential.js'
import type { SecretBox } from '../encryption/secret-box.js'

const optionsOf = Compile(CredentialOptions)
const typeCheck = Compile(Type.Enum([...CREDENTIAL_TYPES]))

/** A credential in a list. */
export interface ListedCredential extends Credential {
  readonly source: 'database' | 'file'
  /** True for a credential of the database that is not used, because the file has one with the same name. */
  readonly overridden: boolean
}

/** The properties of a stored credential that people may see. */
export function shown(credential: StoredCredential): Credential {
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

/** The type of a stored credential. */
export function typeOf(credential: StoredCredential): CredentialType {
  return typeCheck.Parse(credential.type)
}

/** A credential as an entry of a list. */
export function listed(
  credential: Credential,
  source: ListedCredential['source'],
  overridden: boolean,
): ListedCredential {
  return { ...credential, source, overridden }
}

/** A stored credential with its secret. @throws SecretBoxError */
export function openedCredential(credential: StoredCredential, box: SecretBox): OpenCredential {
  return { ...shown(credential), password: box.open(credential.secret, credential.name) }
}

/** The error for an id that no credential has. */
export function noSuchCredential(): NotFoundError {
  return new NotFoundError('credential_not_found', 'There is no such credential')
}
