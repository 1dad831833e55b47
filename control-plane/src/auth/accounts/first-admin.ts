import { randomBytes } from 'node:crypto'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Clock } from '../../time/clock.js'
import { createPrivateFile } from '../../secrets/secrets.js'
import type { Store } from '../../store/store.js'
import { hasUsers, insertUser } from '../../store/accounts/users.js'
import { checkPassword, checkUsername } from './account-rules.js'
import type { Passwords } from '../sign-in/passwords.js'

/** Name of the file in the persistent folder with a generated password. */
const INITIAL_PASSWORD_FILE = 'initial-admin-password'

/** The account of a first start. `generatedPassword` is shown once, and it is also in `passwordFile`. */
export interface FirstAdmin {
  readonly username: string
  readonly generatedPassword: string | null
  readonly passwordFile: string | null
}

/**
 * Makes the first account, in group `admins`, when there is no account at all.
 * @returns null when there are accounts already
 * @throws InvalidInputError when the given name or password breaks the rules
 */
export async function createFirstAdmin(deps: {
  readonly store: Store
  readonly passwords: Passwords
  readonly clock: Clock
  readonly persistentPath: string
  readonly username: string
  /** Null: a password is generated. */
  readonly password: string | null
}): Promise<FirstAdmin | null> {
  const { store, username } = deps
  if (await hasUsers(store.read)) return null
  checkUsername(username)
  const passwordFile = deps.password === null ? join(deps.persistentPath, INITIAL_PASSWORD_FILE) : null
  // Stored before the account is made. Otherwise a crash between the two would leave an account with an unknown
  // password.
  const password = passwordFile === null ? String(deps.password) : await keepPassword(passwordFile)
  checkPassword(password, username)
  const passwordHash = await deps.passwords.hash(password)
  const wasMade = await store.write('accounts.first', async (queries) => {
    if (await hasUsers(queries)) return false
    await insertUser(queries, {
      username,
      type: 'local',
      passwordHash,
      email: null,
      groups: ['admins'],
      enabled: true,
      // The password was printed and is in a file, so it has to be changed.
      passwordMustChange: passwordFile !== null,
      createdAt: deps.clock.now(),
    })
    return true
  })
  if (!wasMade) return null
  return { username, generatedPassword: passwordFile === null ? null : password, passwordFile }
}

/** A new password, or the one that an interrupted first start left. */
async function keepPassword(path: string): Promise<string> {
  await createPrivateFile(path, `${randomBytes(18).toString('base64url')}\n`)
  return (await readFile(path, 'utf8')).trim()
}
