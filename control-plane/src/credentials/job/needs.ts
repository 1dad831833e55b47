import { type VaultNeed, type VaultNeeds, vaultNamesOf } from './vault-needs.js'

/** The credentials that a launch asks for. Each text is a name, or `a,b`, which means a, or b if a does not exist. */
export interface CredentialNeeds {
  /** Extra variable → name. */
  readonly credentials: Readonly<Record<string, string>>
  readonly ansibleCredentials: string | null
  readonly vaultCredentials: VaultNeeds | null
}

/** The names in `a,b`, in their order. */
export function namesInList(text: string): string[] {
  return text
    .split(',')
    .map((name) => name.trim())
    .filter((name) => name !== '')
}

/** The choice: one name for each need, and the problem if one does not exist. */
export interface ChosenCredentials {
  readonly needs: CredentialNeeds
  readonly problem: string | null
}

/**
 * Chooses for each need the first credential that exists. If none exists, the need keeps its text and becomes the
 * problem.
 */
export async function chooseCredentials(
  needs: CredentialNeeds,
  has: (name: string) => Promise<boolean>,
): Promise<ChosenCredentials> {
  const missing: string[] = []
  const choose = async (text: string): Promise<string> => {
    for (const name of namesInList(text)) if (await has(name)) return name
    missing.push(text)
    return text
  }
  const orNull = (text: string | null) => (text === null ? null : choose(text))
  const credentials: Record<string, string> = {}
  for (const [key, text] of Object.entries(needs.credentials)) credentials[key] = await choose(text)
  const ansibleCredentials = await orNull(needs.ansibleCredentials)
  const vaultCredentials = await chooseVaults(needs.vaultCredentials, choose)
  const problem = missing.length === 0 ? null : missing.map(missingCredential).join('; ')
  return { needs: { credentials, ansibleCredentials, vaultCredentials }, problem }
}

async function chooseVaults(
  needs: VaultNeeds | null,
  choose: (text: string) => Promise<string>,
): Promise<VaultNeeds | null> {
  if (needs === null) return null
  if (typeof needs === 'string') return choose(needs)
  const chosen: VaultNeed[] = []
  for (const { id, name } of needs) chosen.push({ id, name: await choose(name) })
  return chosen
}

/** Every name in the needs. */
export function allNames(needs: CredentialNeeds): string[] {
  const ofVaults = vaultNamesOf(needs.vaultCredentials)
  const texts = [...Object.values(needs.credentials), needs.ansibleCredentials, ...ofVaults]
  return [...new Set(texts.flatMap((text) => (text === null ? [] : namesInList(text))))]
}

/** The sentence for a credential that does not exist. */
export function missingCredential(text: string): string {
  const names = namesInList(text)
  if (names.length === 0) return 'A credential that the job needs has no name'
  return names.length === 1
    ? `There is no credential '${names[0] ?? ''}'`
    : `There is none of the credentials ${names.map((name) => `'${name}'`).join(', ')}`
}
