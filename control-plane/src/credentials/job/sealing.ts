import { type JobSecrets, MAX_SECRETS_BYTES, sealSecrets } from '@holdfast/protocol'
import { messageOf } from '../../errors.js'
import type { CredentialOptions, CredentialType, OpenCredential } from '../stored/credential.js'
import type { Credentials } from '../stored/credentials.js'
import type { JobValues, JobVault } from './sealed-values.js'
import { type CredentialNeeds, missingCredential } from './needs.js'
import { SecretBoxError } from '../encryption/secret-box.js'
import { vaultIdOf } from './vault-needs.js'
import { VaultProblem } from '../hashicorp/request.js'

/** The secrets of a job cannot be decrypted or sealed. The message tells people why and shows nothing of them. */
export class SecretsProblem extends Error {
  override readonly name = 'SecretsProblem'
}

/** The runner and the run that secrets are sealed for. */
export interface SealTarget {
  readonly jobId: number
  readonly runId: string
  readonly fingerprint: string
  readonly sealingKey: string
}

/**
 * Decrypts the credentials that a job needs and its own secret values, and seals them to its runner.
 * @param values the secret values of the job as they are stored; null when it has none
 * @returns null when there is nothing to seal
 * @throws SecretsProblem
 */
export type SealJobSecrets = (
  needs: CredentialNeeds,
  target: SealTarget,
  values: Buffer | null,
) => Promise<string | null>

/** Makes the function that seals the secrets of a job to its runner. */
export function createJobSealing(
  credentials: Pick<Credentials, 'open'>,
  vault: Pick<JobVault, 'open'>,
): SealJobSecrets {
  return async (needs, target, sealedValues) => {
    const values = sealedValues === null ? null : openValues(vault, target.runId, sealedValues)
    const secrets = await gatherSecrets(needs, values, (name) => openOrFail(credentials, name))
    if (secrets === null) return null
    const text = JSON.stringify(secrets)
    if (Buffer.byteLength(text) > MAX_SECRETS_BYTES) {
      throw new SecretsProblem(
        `The secrets of this job, and the variables that hold a password, are larger than ${MAX_SECRETS_BYTES} bytes`,
      )
    }
    return sealSecrets(text, target.sealingKey, target)
  }
}

/** @throws SecretsProblem */
export function openValues(vault: Pick<JobVault, 'open'>, runId: string, sealed: Buffer): JobValues {
  try {
    return vault.open(runId, sealed)
  } catch (error) {
    if (!(error instanceof SecretBoxError)) throw error
    throw new SecretsProblem(`The passwords of this job cannot be opened: ${messageOf(error)}`)
  }
}

async function openOrFail(credentials: Pick<Credentials, 'open'>, name: string): Promise<OpenCredential> {
  let credential: OpenCredential | null
  try {
    credential = await credentials.open(name)
  } catch (error) {
    if (!(error instanceof SecretBoxError) && !(error instanceof VaultProblem)) throw error
    throw new SecretsProblem(`The credential '${name}' cannot be opened: ${messageOf(error)}`)
  }
  if (!credential) throw new SecretsProblem(missingCredential(name))
  return credential
}

/** The options of a credential that a playbook gets in addition to the login, with the names that playbooks use. */
function extrasOf(type: CredentialType, { db_type, db_name, secure, certificate, ca }: CredentialOptions) {
  if (type === 'certificate') return { certificate: certificate ?? null, ca: ca ?? null }
  if (type !== 'database') return {}
  return { is_database: true, db_type: db_type ?? null, db_name: db_name ?? null, secure: secure ?? false }
}

async function gatherSecrets(
  needs: CredentialNeeds,
  values: JobValues | null,
  open: (name: string) => Promise<OpenCredential>,
): Promise<JobSecrets | null> {
  const extravars: JobSecrets['extravars'] = {}
  const keyFiles: JobSecrets['key_files'] = []
  const hidden = new Map<string, string>(
    values?.hidden.map((value) => [value, originOf(value, values.variables)] as const),
  )
  const opened = async (name: string) => {
    const credential = await open(name)
    hidden.set(credential.password, `the credential '${credential.name}'`)
    return credential
  }
  for (const [key, name] of Object.entries(needs.credentials)) {
    const { name: ownName, host, port, user, password, type, options } = await opened(name)
    extravars[key] = { name: ownName, host, port, user, password, ...extrasOf(type, options) }
    if (type === 'ssh') keyFiles.push({ at: [key, 'private_key_file'], content: keyText(password) })
  }
  if (needs.ansibleCredentials !== null) {
    const { user, password, type, name } = await opened(needs.ansibleCredentials)
    if (type === 'vault' || type === 'token' || type === 'certificate') {
      throw new SecretsProblem(`The credential '${name}' is of type ${type} and is no login`)
    }
    if (user !== null) extravars.ansible_user = user
    if (type === 'ssh') keyFiles.push({ at: ['ansible_ssh_private_key_file'], content: keyText(password) })
    else extravars.ansible_password = password
  }
  const passwordOf = async (name: string): Promise<string> => {
    const { type, password } = await opened(name)
    if (type === 'ssh' || type === 'certificate') {
      throw new SecretsProblem(`The credential '${name}' is a key and no vault password`)
    }
    return password
  }
  const wanted = needs.vaultCredentials
  const vaultPassword = typeof wanted === 'string' ? await passwordOf(wanted) : null
  const vaults: { id: string; password: string }[] = []
  for (const one of typeof wanted === 'string' ? [] : (wanted ?? [])) {
    vaults.push({ id: vaultIdOf(one), password: await passwordOf(one.name) })
  }
  const variables = { ...values?.variables }
  if (hidden.size === 0 && Object.keys(variables).length === 0) return null
  const rest = { extravars, key_files: keyFiles, hidden: [...hidden.keys()], origins: [...hidden.values()] }
  return { variables, ...rest, vault_password: vaultPassword, vaults }
}

/** Which variable has the value of a password field: the author of the form knows it by this name. */
function originOf(value: string, variables: JobValues['variables']): string {
  const name = Object.keys(variables).find((key) => String(variables[key]) === value)
  return name === undefined ? 'a password field' : `the password field '${name}'`
}

/** ssh needs line feeds, and one at the end. */
function keyText(password: string): string {
  return `${password.replaceAll('\r\n', '\n').trimEnd()}\n`
}
