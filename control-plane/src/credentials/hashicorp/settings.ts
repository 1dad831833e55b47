import { resolve } from 'node:path'
import { type SettingValue, SettingsError, tokenSetting } from '@holdfast/protocol'

/** Where a server of HashiCorp Vault is, and who asks it. Times are in milliseconds. */
export interface VaultSettings {
  /** VAULT_ADDR. */
  readonly address: string
  readonly login:
    | { readonly kind: 'token'; readonly token: string }
    | { readonly kind: 'approle'; readonly roleId: string; readonly secretId: string; readonly mount: string }
  /** VAULT_NAMESPACE. */
  readonly namespace: string | null
  /** VAULT_KV_MOUNT: the path of the secrets engine, when it is not the first part of every reference. */
  readonly mount: string | null
  /** VAULT_CACERT: the file with the certificates (PEM) that are trusted. */
  readonly caPath: string | null
  /** How long a secret is used again after it was read; 0: never. */
  readonly keepMs: number
}

/**
 * Reads the settings of HashiCorp Vault; null: there are none.
 * @throws SettingsError
 */
export function vaultSettingsOf(raw: Readonly<Record<string, SettingValue>>): VaultSettings | null {
  const text = (name: string) => ((raw[name] ?? null) === null ? null : String(raw[name]))
  const [given, token, roleId, secretId] = (
    ['VAULT_ADDR', 'VAULT_TOKEN', 'VAULT_ROLE_ID', 'VAULT_SECRET_ID'] as const
  ).map(text)
  if (!given) return null
  if (!URL.canParse(given) || !/^https?:$/.test(new URL(given).protocol)) {
    throw new SettingsError(
      `VAULT_ADDR: must be an address such as https://vault.example.com:8200, but it is "${given}"`,
    )
  }
  const mount = text('VAULT_APPROLE_MOUNT') ?? 'approle'
  const login =
    roleId && secretId
      ? ({ kind: 'approle', roleId, secretId, mount: withoutSlashes(mount) } as const)
      : token
        ? ({ kind: 'token', token: tokenSetting('VAULT_TOKEN', token) ?? token } as const)
        : null
  if (login === null) throw new SettingsError('VAULT_ADDR: needs VAULT_TOKEN, or VAULT_ROLE_ID and VAULT_SECRET_ID')
  const kvMount = text('VAULT_KV_MOUNT')
  return {
    address: given.replace(/\/+$/, ''),
    login,
    namespace: tokenSetting('VAULT_NAMESPACE', text('VAULT_NAMESPACE')),
    mount: kvMount === null ? null : withoutSlashes(kvMount),
    caPath: raw.VAULT_CACERT === null ? null : resolve(String(raw.VAULT_CACERT)),
    keepMs: Number(raw.VAULT_CACHE_SECONDS) * 1000,
  }
}

function withoutSlashes(path: string): string {
  return path.replace(/^\/+|\/+$/g, '')
}
