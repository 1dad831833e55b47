import { HoldfastError, UnauthenticatedError, UnavailableError } from '../../errors.js'
import { foreignText } from '../../secrets/foreign-text.js'
import type { OpenIdSettings } from '../roles/provider-config.js'

interface Log {
  warn(fields: object, text: string): void
  error(fields: object, text: string): void
}

/** Codes of openid-client for a provider that does not answer, or gives a wrong answer. */
const AWAY: ReadonlySet<string> = new Set([
  'OAUTH_TIMEOUT',
  'OAUTH_ABORT',
  'OAUTH_RESPONSE_IS_NOT_CONFORM',
  'OAUTH_RESPONSE_IS_NOT_JSON',
  'OAUTH_PARSE_ERROR',
])

/** Codes with which a provider refuses the client id or secret of this service. The last one is from openid-client. */
const NOT_OUR_CLIENT: ReadonlySet<string> = new Set([
  'invalid_client',
  'unauthorized_client',
  'OAUTH_WWW_AUTHENTICATE_CHALLENGE',
])

/**
 * The error of a sign-in at a provider, as the service shows it: not available, wrongly configured, or refused. The
 * provider's own message goes to the log, because it may contain anything.
 * @param secrets what the provider was sent
 */
export function refusalOf(
  kind: string,
  error: unknown,
  log: Log,
  secrets: readonly (string | null)[] = [],
): HoldfastError {
  if (error instanceof HoldfastError) return error
  const { code, error: word } = wordsOf(error)
  const reason = reasonOf(error, secrets)
  if (NOT_OUR_CLIENT.has(word) || NOT_OUR_CLIENT.has(code)) {
    log.error({ kind, reason }, 'the provider does not know the service by this client id and secret')
    return new UnavailableError(
      'provider_refused',
      'This sign-in is not set up completely; the log of the service says more',
    )
  }
  if (word === 'access_denied') {
    log.warn({ kind, reason }, 'a sign-in was refused by the provider')
    return new UnauthenticatedError('sign_in_refused', 'The provider refused the sign-in, or it was given up there')
  }
  // fetch fails with a TypeError.
  if (error instanceof TypeError || AWAY.has(code)) {
    log.error({ kind, reason }, 'the provider of a sign-in does not answer as it should')
    return new UnavailableError('provider_unreachable', 'The sign-in provider cannot be reached; try again later')
  }
  log.warn({ kind, reason }, 'a sign-in was refused: what came from the provider is not good')
  return new UnauthenticatedError('sign_in_refused', 'The sign-in was refused; begin it again')
}

/** The error for a provider whose configuration cannot be read, or does not fit config.yaml. */
export function discoveryFailure(settings: OpenIdSettings, error: unknown, log: Log): HoldfastError {
  if (error instanceof HoldfastError) return error
  const { kind, issuer } = settings
  const reason = reasonOf(error, [])
  log.error(
    { kind, issuer, reason },
    'the provider of a sign-in cannot be asked what it is: look whether its address is right',
  )
  return new UnavailableError('provider_unreachable', 'The sign-in provider cannot be reached; try again later')
}

/** `code` of openid-client itself, `error` of the provider's answer. */
function wordsOf(error: unknown): { code: string; error: string } {
  const { code, error: word } = (error ?? {}) as { code?: unknown; error?: unknown }
  return { code: typeof code === 'string' ? code : '', error: typeof word === 'string' ? word : '' }
}

function reasonOf(error: unknown, secrets: readonly (string | null)[]): string {
  const { code, error: word } = wordsOf(error)
  const words = [foreignText(error, secrets), code, foreignText(word, secrets)]
  return words.filter((text) => text !== '').join('; ')
}
