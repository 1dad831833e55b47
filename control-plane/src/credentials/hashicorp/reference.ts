/** A secret of HashiCorp Vault. The password of a credential can name it: `vault:mount/path#name`. */
export interface VaultReference {
  /** The mount and the path of the secret, without the `data` of the API. */
  readonly path: string
  /** The name of the value; null: `password`. */
  readonly key: string | null
}

/** The reference that stands in place of a password, or null. */
export function vaultReferenceOf(password: string): VaultReference | null {
  const [, path, key] = /^vault:([^\s#/][^\s#]*\/[^\s#]*[^\s#/])(?:#([^\s#]+))?$/.exec(password) ?? []
  // A path must not lead upwards, because a reference names exactly one secret.
  if (path === undefined || path.split('/').some((step) => step === '' || step === '.' || step === '..')) return null
  return { path, key: key ?? null }
}
