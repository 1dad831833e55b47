import { type Access, ClientError, RefusedError, type Tokens, createClient } from '@holdfast/client'
import { NotSignedInError } from '../errors.js'
import type { SavedSession, SessionFile } from './session-file.js'
import { cliErrorOf } from './words.js'

/** The access of somebody who is not signed in. A request that needs a token fails with NotSignedInError. */
export function noAccess(server: string): Access {
  return {
    token: null,
    renew: () =>
      Promise.reject(
        new NotSignedInError(`Not signed in at ${server}. Sign in with: holdfast login --server ${server}`),
      ),
  }
}

/** The access with a token from HOLDFAST_TOKEN, for scripts. It reads and saves no session. */
export function tokenAccess(token: string): Access {
  return {
    token,
    renew: () =>
      Promise.reject(
        new NotSignedInError(
          'The token in HOLDFAST_TOKEN is wrong or has expired. Set a new one, or use holdfast login.',
        ),
      ),
  }
}

/**
 * The access with the saved session. A refresh token works only once. So the first process that renews it holds a lock.
 * Another process that has waited for the lock finds the new pair of tokens in the file.
 */
export function sessionAccess(file: SessionFile, session: SavedSession): Access {
  let current = session
  let renewing: Promise<void> | null = null

  async function renewOnce(): Promise<void> {
    await file.exclusively(async () => {
      const saved = await file.read()
      if (!saved || saved.server !== current.server) throw over(current)
      if (saved.token !== current.token) {
        current = saved
        return
      }
      const pair = await nextPair(saved)
      current = { ...saved, token: pair.token, refreshtoken: pair.refreshtoken }
      await file.write(current)
    })
  }

  return {
    get token() {
      return current.token
    },
    renew() {
      renewing ??= renewOnce().finally(() => {
        renewing = null
      })
      return renewing
    },
  }
}

/** Gets a new pair of tokens. The refresh token is used up after it. @throws CliError */
async function nextPair(saved: SavedSession): Promise<Tokens> {
  try {
    return await createClient({ server: saved.server }).refreshTokens({ body: { refreshtoken: saved.refreshtoken } })
  } catch (error) {
    // A server that cannot answer now has not used the token up. So the session stays, and the next try may succeed.
    if (error instanceof RefusedError && error.status !== 429) throw over(saved)
    throw error instanceof ClientError ? cliErrorOf(error) : error
  }
}

function over(session: SavedSession): NotSignedInError {
  return new NotSignedInError(
    `The session of ${session.username} at ${session.server} is over. Sign in with: holdfast login --server ${session.server}`,
  )
}
