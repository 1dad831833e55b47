import { randomBytes, randomUUID } from 'node:crypto'
import type { Clock } from '../../time/clock.js'
import { ConflictError, NotFoundError } from '../../errors.js'
import { deleteSessionsOfUser } from '../../store/accounts/sessions.js'
import { findUserByName, updateUser } from '../../store/accounts/users.js'
import { insertAudit } from '../../store/audit/audit.js'
import type { RawStore } from '../../store/store.js'
import type { Passwords } from '../sign-in/passwords.js'
import { forgetGuesses } from '../sign-in/sign-in.js'

/**
 * Gives a local account a random password, which has to be changed at the next sign-in. All its sessions and API tokens
 * end. This is done on the host by somebody who may write the database. So nobody has to sign in for it. The audit
 * trail has a record of it.
 * @param unblock also let a blocked account sign in again
 * @returns the password, which is not stored anywhere
 * @throws NotFoundError; ConflictError when the account is blocked and stays so
 */
export async function resetPassword(
  deps: {
    readonly store: RawStore
    readonly passwords: Passwords
    readonly clock: Clock
  },
  username: string,
  unblock: boolean,
): Promise<string> {
  const { store, passwords, clock } = deps
  const password = randomBytes(18).toString('base64url')
  const passwordHash = await passwords.hash(password)
  await store.write('accounts.reset-password', async (queries) => {
    const user = await findUserByName(queries, 'local', username)
    if (!user) throw new NotFoundError('user_not_found', `There is no local user named ${username}`)
    if (!user.enabled && !unblock) {
      throw new ConflictError('user_blocked', `The user ${user.username} is blocked; --unblock lets the user in again`)
    }
    await updateUser(queries, user.id, { passwordHash, passwordMustChange: true, enabled: true })
    await deleteSessionsOfUser(queries, user.id)
    await forgetGuesses(queries, user.username)
    await insertAudit(queries, {
      time: clock.now(),
      user: null,
      address: 'this host',
      action: 'user.reset-password',
      object: { kind: 'user', id: String(user.id), name: user.username },
      status: 200,
      requestId: randomUUID(),
      detail: user.enabled ? null : 'unblocked',
    })
  })
  return password
}
