import { type OpenCredential, problemOfSecret } from './credential.js'
import type { HashicorpVault } from './hashicorp-vault.js'
import { vaultReferenceOf } from './vault-reference.js'
import { VaultProblem } from './vault-request.js'

/**
 * Puts the secret of Vault into the place of its reference. A credential without a user gets that of the secret.
 * @param vault null: no Vault is set
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

/** Under these names a secret has the password when the reference names none, and the user. */
const PASSWORD_KEYS = ['password', 'token', 'api_key', 'apikey', 'secret'] as const
const USER_KEYS = ['username', 'user', 'login'] as const

function firstText(values: Readonly<Record<string, unknown>>, names: readonly string[]): string | null {
  const found = names.map((name) => (Object.hasOwn(values, name) ? values[name] : undefined))
  return found.find((one): one is string => typeof one === 'string' && one !== '') ?? null
}
