import { type ApiTokens, isApiToken } from './api-tokens.js'
import type { Caller } from './caller.js'
import type { Sessions } from './sessions.js'

/** Makes the check of bearer tokens of both kinds: it finds the owner. @throws UnauthenticatedError */
export function bearerCheck(deps: {
  readonly sessions: Pick<Sessions, 'authenticate'>
  readonly apiTokens: Pick<ApiTokens, 'authenticate'>
}): (token: string) => Promise<Caller> {
  return (token) => (isApiToken(token) ? deps.apiTokens.authenticate(token) : deps.sessions.authenticate(token))
}
