import { UnavailableError, messageOf } from '../../errors.js'
import type { ProviderConfig } from '../roles/provider-config.js'
import type { RoleSource } from '../roles/role-source.js'

/** A login or a secret that this service needs at a provider. */
export interface ProviderSecret {
  readonly user: string | null
  readonly password: string
}

/** The stored credentials that config.yaml names. */
export type ProviderSecrets = ReturnType<typeof createProviderSecrets>

/** From the room of credentials. Null when there is no such credential. It throws when one cannot be opened. */
export interface CredentialStore {
  open(name: string): Promise<ProviderSecret | null>
}

/** Makes the part that reads the secrets of directories and providers. */
export function createProviderSecrets(deps: {
  readonly credentials: CredentialStore
  readonly log: { error(fields: object, text: string): void }
}) {
  /** A user who signs in only learns that it is not their fault. The name of the credential is only for the log. */
  function unusable(name: string, reason: string): UnavailableError {
    deps.log.error({ credential: name, reason }, 'a credential that config.yaml names for the sign-in cannot be used')
    return new UnavailableError(
      'sign_in_credential',
      'This sign-in is not set up completely; the log of the service says more',
    )
  }

  return {
    /** @throws UnavailableError when there is none with that name, or it cannot be opened */
    async open(name: string): Promise<ProviderSecret> {
      let credential: ProviderSecret | null
      try {
        credential = await deps.credentials.open(name)
      } catch (error) {
        throw unusable(name, messageOf(error))
      }
      if (!credential) throw unusable(name, 'there is no credential of that name')
      return credential
    },
  }
}

/**
 * The credentials without those that config.yaml names for the sign-in. No form and no launch may give these to a
 * playbook, because its author could read the whole directory with them.
 */
export function credentialsForJobs<Credential, Listed extends { readonly name: string }>(
  credentials: {
    has(name: string): Promise<boolean>
    open(name: string): Promise<Credential | null>
    list(): Promise<Listed[]>
  },
  roles: Pick<RoleSource, 'current'>,
): typeof credentials {
  const keptNames = async () => namedBy((await roles.current()).providers ?? {})
  const isKept = async (name: string) => (await keptNames()).includes(name)
  return {
    has: async (name) => !(await isKept(name)) && credentials.has(name),
    open: async (name) => ((await isKept(name)) ? null : credentials.open(name)),
    async list() {
      const kept = await keptNames()
      return (await credentials.list()).filter(({ name }) => !kept.includes(name))
    },
  }
}

function namedBy({ ldap, oidc, azuread }: ProviderConfig): (string | null | undefined)[] {
  return [ldap?.bindCredential, oidc?.clientCredential, azuread?.clientCredential]
}
