import { dirname } from 'node:path'
import type { Ages } from '../ages/age-limits.js'
import type { Ground } from '../ground/ground.js'
import { openSecretRing } from '../secrets/secret-ring.js'
import type { Store } from '../store/store.js'
import { createAccounts } from './accounts/accounts.js'
import { createApiTokens } from './sessions/api-tokens.js'
import { bearerCheck } from './sessions/bearer.js'
import { createBrowserSessions } from './sessions/browser-sessions.js'
import { createExternalSignIn } from './sign-in/external-sign-in.js'
import { createFirstAdmin } from './accounts/first-admin.js'
import { createGrants } from './roles/grants.js'
import { type HashCost, createPasswords } from './sign-in/passwords.js'
import type { CredentialStore } from './providers/provider-secrets.js'
import { openRoleSource } from './roles/role-source.js'
import { createSessionRecords } from './sessions/session-records.js'
import { createSessions } from './sessions/sessions.js'
import { type SignInDependencies, createSignIn } from './sign-in/sign-in.js'
import { createSignInSweeper } from './sign-in/sweeper.js'
import { createTokens } from './sessions/tokens.js'

/** What signing in needs of the settings. Times are in milliseconds. */
export interface AuthSettings {
  readonly persistentPath: string
  readonly configPath: string
  /** Null: the secret is made once and kept in the persistent folder. */
  readonly accessTokenSecret: string | null
  /** The earlier secret, which is still accepted. */
  readonly accessTokenSecretPrevious: string | null
  readonly accessTokenMs: number
  readonly refreshTokenMs: number
  /** Longest life of a session. */
  readonly sessionMaxMs: number
  readonly apiTokenMaxDays: number
  /** Without a slash at its end; null: unknown. */
  readonly publicUrl: string | null
  readonly admin: { readonly username: string; readonly password: string | null }
}

/** What signing in needs of other rooms. */
export interface AuthNeeds {
  readonly store: Store
  readonly ages: Ages
  readonly meters: SignInDependencies['meters']
  /** Secrets of directories and providers. */
  readonly credentials: CredentialStore
  /** The cost of the hash of a password. If left out: the product's own value. */
  readonly hashCost?: HashCost
}

/** The parts of this room, ready to use. */
export type AuthParts = Awaited<ReturnType<typeof composeAuth>>

/**
 * Builds users, roles, sessions and tokens.
 * @throws SettingsError when config.yaml has a mistake
 */
export async function composeAuth(ground: Ground, settings: AuthSettings, needs: AuthNeeds) {
  const { clock, timers, log, onClose } = ground
  const { store, ages, meters, credentials } = needs
  const { publicUrl, configPath, persistentPath, accessTokenMs, refreshTokenMs, sessionMaxMs } = settings
  const secret = await openSecretRing({
    setting: 'ACCESS_TOKEN_SECRET',
    given: settings.accessTokenSecret,
    previous: settings.accessTokenSecretPrevious,
    folder: persistentPath,
    name: 'access-token-secret',
    clock,
  })
  const passwords = createPasswords(needs.hashCost)
  const roles = await openRoleSource(configPath, { log })
  const tokens = createTokens(secret, clock)
  const sessions = createSessions({ store, tokens, roles, clock, accessTokenMs, refreshTokenMs, sessionMaxMs })
  const apiTokens = createApiTokens({ store, roles, clock, log, mostDays: settings.apiTokenMaxDays })
  const browserSessions = createBrowserSessions({ store, roles, clock, idleMs: refreshTokenMs, mostMs: sessionMaxMs })
  const folder = dirname(configPath)
  const external = createExternalSignIn({ store, roles, sessions, clock, log, secret, publicUrl, folder, credentials })
  await external.check()
  const signIn = createSignIn({ store, passwords, sessions, clock, directory: external.directory, meters })
  const sweeper = createSignInSweeper({ store, clock, ages, timers, log })
  onClose(() => sweeper.close())
  return {
    roles,
    sessions,
    browserSessions,
    apiTokens,
    authenticate: bearerCheck({ sessions, apiTokens }),
    external,
    signIn,
    sweeper,
    accounts: createAccounts({ store, passwords, roles, signIn, clock, log }),
    grants: createGrants({ store, roles }),
    sessionRecords: createSessionRecords({ store, clock }),
    /** Signs the access tokens. */
    accessTokens: secret,
    /** The account that was made at the first start; null when there were accounts already. */
    firstAdmin: await createFirstAdmin({ store, passwords, clock, persistentPath, ...settings.admin }),
  }
}
