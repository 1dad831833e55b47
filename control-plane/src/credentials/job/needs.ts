import { type VaultNeeds, vaultNamesOf } from './vault-needs.js'

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
export function chooseCredentials(needs: CredentialNeeds, has: (name: string) => boolean): ChosenCredentials {
  const missing: string[] = []
  const choose = (text: string): string => {
    const found = namesInList(text).find(has)
    if (found === undefined) missing.push(text)
    return found ?? text
  }
  const { ansibleCredentials, vaultCredentials } = needs
  const chosen: CredentialNeeds = {
    credentials: Object.fromEntries(Object.entries(needs.credentials).map(([key, text]) => [key, choose(text)])),
    ansibleCredentials: ansibleCredentials === null ? null : choose(ansibleCredentials),
    vaultCredentials: chosenVaults(vaultCredentials, choose),
  }
  const problem = missing.length === 0 ? null : missing.map(missingCredential).join('; ')
  return { needs: chosen, problem }
}

function chosenVaults(needs: VaultNeeds | null, choose: (text: string) => string): VaultNeeds | null {
  if (needs === null || typeof needs === 'string') return needs === null ? null : choose(needs)
  return needs.map(({ id, name }) => ({ id, name: choose(name) }))
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
