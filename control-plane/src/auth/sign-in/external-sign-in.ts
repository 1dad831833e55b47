import type { Clock } from '../../time/clock.js'
import { UnauthenticatedError } from '../../errors.js'
import type { Store } from '../../store/store.js'
import type { Secrets } from '../../secrets/secret-ring.js'
import type { StoredUser } from '../../store/accounts/users.js'
import {
  type UserAdmission,
  type ExternalUsers,
  type Identity,
  createExternalUsers,
} from '../providers/external-users.js'
import { askedGroups } from '../roles/group-names.js'
import { type DirectoryLog, createDirectory } from '../ldap/directory.js'
import { createFlowCookies } from '../openid/flow-cookie.js'
import { type OpenId, createOpenId } from '../openid/open-id.js'
import { createProviders } from '../openid/providers.js'
import { type CredentialStore, createProviderSecrets } from '../providers/provider-secrets.js'
import { type RoleAdvice, createRoleAdvice } from '../providers/role-advice.js'
import type { RoleConfig } from '../roles/role-config.js'
import type { RoleSource } from '../roles/role-source.js'
import { type Questions, createQuestions } from './sign-in-questions.js'
import type { Sessions } from '../sessions/sessions.js'
import type { DirectorySignIn } from './sign-in.js'
import { type SignInCodes, createSignInCodes } from './sign-in-codes.js'

/** Signing in at a directory or at a provider of OpenID Connect. */
export interface ExternalSignIn {
  readonly directory: DirectorySignIn
  readonly openId: OpenId
  readonly codes: SignInCodes
  /**
   * The account of somebody who signed in at a provider.
   * @param onUser called as soon as the account is known, also when it is refused then
   * @throws UnauthenticatedError when the account is blocked, or the name belongs to somebody else
   */
  admit(identity: Identity, onUser: (user: StoredUser) => void): Promise<StoredUser>
  /** The question to a signed-in user whether a program may use their account. */
  readonly questions: Questions
  /** Logs a warning when a setting is missing that every sign-in at a provider needs. */
  check(): Promise<void>
}

/** What signing in elsewhere needs of other parts. */
export interface ExternalSignInDependencies {
  readonly store: Store
  readonly roles: RoleSource
  readonly sessions: Sessions
  readonly credentials: CredentialStore
  readonly clock: Clock
  readonly log: DirectoryLog
  /** ACCESS_TOKEN_SECRET, or the secret that the service made in its place. */
  readonly secret: Secrets
  /** PUBLIC_URL; null: not set. */
  readonly publicUrl: string | null
  /** The folder of config.yaml, where relative paths in it begin. */
  readonly folder: string
}

/** Makes the {@link ExternalSignIn} of this control plane. */
export function createExternalSignIn(deps: ExternalSignInDependencies): ExternalSignIn {
  const { store, roles, clock, log } = deps
  const secrets = createProviderSecrets(deps)
  const cookies = createFlowCookies(deps.secret, clock)
  const directory = createDirectory({ secrets, clock, log, folder: deps.folder })
  const advice = createRoleAdvice({ store, log })
  const accountOf = createAdmission({ roles, users: createExternalUsers({ store, clock }), advice, log })
  // The start does not wait for this advice. So a database that does not answer for a moment does not make it fail.
  const look = (config: RoleConfig) =>
    advice.look(config).catch((error: unknown) => log.warn({ err: error }, 'the roles could not be looked at'))
  roles.onChange((config) => void look(config))

  return {
    directory: {
      isOn: async () => (await roles.current()).providers?.ldap !== undefined,
      async signIn(username, password) {
        const { providers, roles: all } = await roles.current()
        const ldap = providers?.ldap
        const identity = ldap ? await directory.check(ldap, username, password, askedGroups(all)) : null
        return identity && accountOf(identity)
      },
    },
    openId: createOpenId({
      roles,
      log,
      publicUrl: deps.publicUrl,
      providers: createProviders({ secrets, clock }),
      cookies,
    }),
    codes: createSignInCodes(deps),
    questions: createQuestions({ store, cookies }),
    async admit(identity, onUser) {
      const user = await accountOf(identity, onUser)
      if (!user)
        throw new UnauthenticatedError('sign_in_refused', 'You cannot sign in here; ask an admin of the service')
      return user
    },
    async check() {
      const config = await roles.current()
      await look(config)
      const { oidc, azuread } = config.providers ?? {}
      if (deps.publicUrl !== null || !(oidc ?? azuread)) return
      log.warn({}, 'config.yaml has a provider to sign in at, but nobody can come back from it: set PUBLIC_URL')
    },
  }
}

/** Gives the account of a user whom a directory or provider knows, or null. Then the reason is in the log. */
function createAdmission(deps: {
  readonly roles: RoleSource
  readonly users: ExternalUsers
  readonly advice: RoleAdvice
  readonly log: ExternalSignInDependencies['log']
}) {
  const { roles, users, advice, log } = deps

  function noteAdmitted(
    identity: Identity,
    admission: UserAdmission & { outcome: 'admitted' },
    config: RoleConfig,
  ): void {
    const { user, isNew, leftOut } = admission
    advice.signedIn(identity, config)
    if (isNew) advice.made(user, config)
    if (leftOut === 0) return
    const fields = { type: user.type, username: user.username, kept: user.groups.length, leftOut }
    log.warn(
      fields,
      'groups of a sign-in were left out: they are too many, too long, or of unusual characters, and no role names them',
    )
  }

  return async (identity: Identity, onUser?: (user: StoredUser) => void): Promise<StoredUser | null> => {
    const config = await roles.current()
    const admission = await users.admit(identity, config)
    const { type, username } = identity
    if (admission.outcome === 'bad name') {
      log.warn({ type }, 'a sign-in was refused: the name cannot be a username')
      return null
    }
    onUser?.(admission.user)
    if (admission.outcome === 'admitted') {
      noteAdmitted(identity, admission, config)
      return admission.user
    }
    const why = {
      blocked: 'the account is blocked',
      taken: 'another person has an account of that name; delete it first',
      unproven: 'the directory does not say any more by which id it knows the user (ldap.idAttribute)',
    }
    log.warn(
      { type, username: admission.user.username, named: username },
      `a sign-in was refused: ${why[admission.outcome]}`,
    )
    return null
  }
}
