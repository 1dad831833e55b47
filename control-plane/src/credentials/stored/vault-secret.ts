import { type OpenCredential, problemOfSecret } from './credential.js'
import type { HashicorpVault } from '../hashicorp/vault.js'
import { vaultReferenceOf } from '../hashicorp/reference.js'
import { VaultProblem } from '../hashicorp/request.js'

/**
 * Replaces the reference by the secret of Vault. A credential without a user gets the user of the secret.
 * @param vault null: no Vault is configured
 * @throws VaultProblem
 */
export async function withVaultSecret(
  credential: OpenCredential,
  vault: HashicorpVault | null,
): Promise<OpenCredential> {
  const reference = vaultReferenceOf(credential.password)
  if (reference === null) return credential
  const text = `vault:${reference.path}`
  if (vault === null) throw new VaultProblem(`its secret is ${text}, and no Vault is set (VAULT_ADDR)`)
  const values = await vault.read(reference)
  const password = firstText(values, reference.key === null ? PASSWORD_KEYS : [reference.key])
  if (password === null) {
    throw new VaultProblem(`the secret ${text} of Vault has no text '${reference.key ?? 'password'}'`)
  }
  const problem = problemOfSecret(credential.type, password, credential.options)
  if (problem !== null) throw new VaultProblem(`the secret ${text} of Vault does not fit: ${problem}`)
  return { ...credential, user: credential.user ?? firstText(values, USER_KEYS), password }
}

/** The names of the values of a secret: the password, if the reference names no value, and the user. */
const PASSWORD_KEYS = ['password', 'token', 'api_key', 'apikey', 'secret'] as const
const USER_KEYS = ['username', 'user', 'login'] as const

function firstText(values: Readonly<Record<string, unknown>>, names: readonly string[]): string | null {
  const found = names.map((name) => (Object.hasOwn(values, name) ? values[name] : undefined))
  return found.find((one): one is string => typeof one === 'string' && one !== '') ?? null
}
