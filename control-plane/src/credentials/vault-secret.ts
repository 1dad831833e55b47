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
  const key = reference.key ?? 'password'
  const password = Object.hasOwn(values, key) ? values[key] : undefined
  if (typeof password !== 'string' || password === '') {
    throw new VaultProblem(`the secret ${text} of Vault has no text '${key}'`)
  }
  const problem = problemOfSecret(credential.type, password, credential.options)
  if (problem !== null) throw new VaultProblem(`the secret ${text} of Vault does not fit: ${problem}`)
  return { ...credential, user: credential.user ?? userIn(values), password }
}

function userIn(values: Readonly<Record<string, unknown>>): string | null {
  const found = ['username', 'user'].map((name) => (Object.hasOwn(values, name) ? values[name] : undefined))
  return found.find((one): one is string => typeof one === 'string' && one !== '') ?? null
}
