import { messageOf } from '../../errors.js'
import type { Timers } from '../../time/timers.js'
import { type VaultAnswer, VaultProblem, objectOf } from './request.js'
import type { VaultSettings } from './settings.js'

/** Asks one server of Vault. `reason`: why it refused, for people. @throws VaultProblem */
export type CallVault = (
  method: 'GET' | 'POST',
  path: string,
  token: string | null,
  body?: object,
) => Promise<VaultAnswer & { readonly reason: string }>

/** The token with which Vault is asked. It is renewed before it ends. */
export interface VaultToken {
  /** Logs in when there is no token. @throws VaultProblem */
  now(): Promise<string>
  /** Call it when Vault does not accept a token any more. Then the next token comes from a new login. */
  forget(token: string): Promise<void>
  close(): void
}

/** A token is renewed after this share of its time. */
const RENEW_AFTER = 2 / 3
/** The pause before a failed renewal is tried again. */
const RENEW_AGAIN_MS = 10_000
/** The longest time of a timer of Node.js. A token that lives longer is checked after this time. */
const MAX_TIMER_MS = 2 ** 31 - 1

/** Makes the {@link VaultToken} of a service. */
export function createVaultToken(
  { login }: Pick<VaultSettings, 'login'>,
  call: CallVault,
  timers: Pick<Timers, 'after'>,
  log: { warn(fields: object, text: string): void },
): VaultToken {
  let token: Promise<string> | null = null
  let cancelRenewal: () => void = () => undefined
  let closed = false

  /** @throws VaultProblem */
  async function logIn(): Promise<string> {
    if (login.kind === 'token') {
      const { status, body } = await call('GET', 'auth/token/lookup-self', login.token)
      // A token may be forbidden to look at itself. It is then used as long as it works.
      if (status === 200) renewLater(login.token, { ...numbersOf(body.data, 'ttl'), ...isRenewable(body.data) })
      return login.token
    }
    const { roleId: role_id, secretId: secret_id, mount } = login
    const { status, body, reason } = await call('POST', `auth/${mount}/login`, null, { role_id, secret_id })
    const auth = objectOf(body.auth)
    if (status !== 200 || typeof auth.client_token !== 'string') {
      throw new VaultProblem(`Vault refuses the AppRole login (VAULT_ROLE_ID, VAULT_SECRET_ID): ${reason}`)
    }
    renewLater(auth.client_token, { ...numbersOf(auth, 'lease_duration'), ...isRenewable(auth) })
    return auth.client_token
  }

  function renewLater(own: string, { seconds, renewable }: { seconds: number; renewable: boolean }): void {
    cancelRenewal()
    // A token of 0 seconds has no end.
    if (seconds <= 0 || closed) return
    const ms = Math.min(seconds * 1000 * RENEW_AFTER, MAX_TIMER_MS)
    cancelRenewal = timers.after(ms, () => void (renewable ? renew(own) : forget(own)))
  }

  async function renew(own: string): Promise<void> {
    const problem = await call('POST', 'auth/token/renew-self', own, {}).then(
      ({ status, body, reason }) => {
        if (status !== 200) return reason
        const auth = objectOf(body.auth)
        renewLater(own, { ...numbersOf(auth, 'lease_duration'), ...isRenewable(auth) })
        return null
      },
      (error: unknown) => messageOf(error),
    )
    if (problem === null || closed) return
    log.warn({ problem }, 'the token of Vault could not be renewed')
    if (login.kind === 'approle') return void forget(own)
    cancelRenewal = timers.after(RENEW_AGAIN_MS, () => void renew(own))
  }

  async function forget(own: string): Promise<void> {
    const known = token
    // A failed login is forgotten automatically.
    if ((await known?.catch(() => null)) === own && token === known) token = null
  }

  function tokenNow(): Promise<string> {
    const known = token
    if (known) return known
    const made = logIn()
    token = made
    made.catch(() => {
      if (token === made) token = null
    })
    return made
  }

  function close(): void {
    closed = true
    cancelRenewal()
  }

  return { now: tokenNow, forget, close }
}

function numbersOf(value: unknown, name: string): { seconds: number } {
  const found = objectOf(value)[name]
  return { seconds: typeof found === 'number' ? found : 0 }
}

function isRenewable(value: unknown): { renewable: boolean } {
  return { renewable: objectOf(value).renewable === true }
}
