import { NotSignedInError } from '../errors.js'
import { failureOf, readJson, send, type HttpRequest } from './http.js'
import { tokenPairSchema } from './schemas.js'
import type { SavedSession, SessionFile } from './session-file.js'

/** The right to speak to a server: a bearer token, and how to get the next one. */
export interface Access {
  /** The token to try now; null: there is none. */
  readonly token: string | null
  /** After the server refused `token`. @throws NotSignedInError when there is no other one to be had */
  renew(): Promise<void>
}

/** Not signed in: every request that needs a token is told so. */
export function noAccess(server: string): Access {
  return {
    token: null,
    renew: () =>
      Promise.reject(
        new NotSignedInError(`Not signed in at ${server}. Sign in with: holdfast login --server ${server}`),
      ),
  }
}

/** A token from HOLDFAST_TOKEN, for scripts: nothing is read or saved. */
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
 * The saved session. Renewing uses the refresh token up, so it is done under a lock, by whoever comes first; another
 * process that waited finds the new pair in the file.
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
      const request: HttpRequest = {
        method: 'POST',
        path: '/token',
        body: { refreshtoken: saved.refreshtoken },
      }
      const response = await send(saved.server, request)
      // A server that cannot answer now has not used the token up: the session stays for the next try.
      if (response.status >= 500 || response.status === 429) {
        throw await failureOf(saved.server, request, response)
      }
      if (response.status !== 200) throw over(saved)
      const pair = await readJson(saved.server, request, response, tokenPairSchema)
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

function over(session: SavedSession): NotSignedInError {
  return new NotSignedInError(
    `The session of ${session.username} at ${session.server} is over. Sign in with: holdfast login --server ${session.server}`,
  )
}
