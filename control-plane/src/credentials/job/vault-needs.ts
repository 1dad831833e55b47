import * as v from 'valibot'

/** One of several vault passwords of a job. */
export interface VaultNeed {
  /** The name by which ansible-vault knows the password (`--vault-id`); null: the name of the credential. */
  readonly id: string | null
  readonly name: string
}

/** The vault passwords of a job: one, named like any credential, or several. */
export type VaultNeeds = string | readonly VaultNeed[]

/** Vault passwords as jobs and plans store them. */
export const vaultNeedsSchema = v.nullable(
  v.union([v.string(), v.pipe(v.array(v.object({ id: v.nullable(v.string()), name: v.string() })), v.readonly())]),
)

/** The characters of a vault id. `@` would end it on ansible's command line. */
export const VAULT_ID = '^[^@\\p{C}]{1,100}$'
/** Most vault passwords of one job. */
export const MAX_VAULTS = 20

/** Vault passwords as a file or a launch names them: a text, or a list of texts and of `{name, id}`. */
export function vaultNeedsOf(
  given: string | readonly (string | { readonly name: string; readonly id?: string | null })[] | null | undefined,
): VaultNeeds | null {
  if (typeof given === 'string' || given === null || given === undefined) return given || null
  const needs = given.map((one) =>
    typeof one === 'string' ? { id: null, name: one } : { id: one.id ?? null, name: one.name },
  )
  return needs.length === 0 ? null : needs
}

/** The id of a vault password; the name of the credential if it has none of its own. */
export function vaultIdOf({ id, name }: VaultNeed): string {
  return id ?? name.replace(/[@\p{C}]/gu, '_').slice(0, 100)
}

/** The names of vault passwords, each perhaps with alternatives. */
export function vaultNamesOf(needs: VaultNeeds | null): readonly string[] {
  if (needs === null) return []
  return typeof needs === 'string' ? [needs] : needs.map(({ name }) => name)
}
