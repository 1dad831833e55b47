import { createHash } from 'node:crypto'
import type { Clock } from '../../time/clock.js'
import { UnauthenticatedError } from '../../errors.js'
import { insertSignInCode, takeSignInCode } from '../../store/accounts/sign-in-codes.js'
import type { Store } from '../../store/store.js'
import { type StoredUser, findUser } from '../../store/accounts/users.js'
import type { Sessions } from '../sessions/sessions.js'
import { type TokenPair, hashOf, randomId } from '../sessions/tokens.js'

/** How long a code is valid, in milliseconds. */
const CODE_MS = 60_000

/**
 * Codes that a browser brings to the client that opened it. Tokens must not be in an address, so the address has a code
 * instead. A code works once, within a minute, and only together with the verifier whose hash the client sent before.
 */
export type SignInCodes = ReturnType<typeof createSignInCodes>

/** Makes the codes that a program exchanges for its tokens. */
export function createSignInCodes(deps: { readonly store: Store; readonly sessions: Sessions; readonly clock: Clock }) {
  const { store, clock } = deps
  return {
    /** @param challenge SHA-256 of the client's verifier, base64url */
    async give(user: Pick<StoredUser, 'id'>, challenge: string): Promise<string> {
      const code = randomId()
      const expiresAt = clock.now() + CODE_MS
      await store.write('sign-in-codes.give', (queries) =>
        insertSignInCode(queries, { hash: hashOf(code), userId: user.id, challenge, expiresAt }),
      )
      return code
    },
    /**
     * Begins a session. A wrong verifier also uses up the code.
     * @param onUser called as soon as the owner of the code is known
     * @throws UnauthenticatedError
     */
    async redeem(
      code: string,
      verifier: string,
      address: string,
      onUser?: (user: StoredUser) => void,
    ): Promise<TokenPair> {
      const taken = await store.write('sign-in-codes.redeem', async (queries) => {
        const found = await takeSignInCode(queries, hashOf(code))
        return found && { ...found, user: await findUser(queries, found.userId) }
      })
      if (taken?.user) onUser?.(taken.user)
      const isGood = taken && taken.expiresAt > clock.now() && taken.challenge === challengeOf(verifier)
      if (!isGood || !taken.user)
        throw new UnauthenticatedError('code_invalid', 'The code is not good, or not any more')
      return deps.sessions.begin(taken.user, address)
    },
  }
}

function challengeOf(verifier: string): string {
  return createHash('sha256').update(verifier).digest('base64url')
}
