import type { Configuration } from 'openid-client'
import { UnauthenticatedError, UnavailableError } from '../../errors.js'
import { foreignText } from '../../secrets/foreign-text.js'
import type { Identity } from '../providers/external-users.js'
import type { OpenIdSettings } from '../roles/provider-config.js'
import { type Claims, identityOf } from './claims.js'
import type { Flow } from './flow-cookie.js'
import { graphGroups } from './graph-groups.js'

type Log = { warn(fields: object, text: string): void; error(fields: object, text: string): void }

/** The description of a user who came back from the provider. */
interface CodeAnswer {
  readonly claims: Claims
  readonly accessToken: string
}

/**
 * Exchanges the code from a browser for the provider's description of its user.
 * @param address the address to which the provider sent the browser, with its query
 * @throws UnauthenticatedError, UnavailableError, or an error of the library, when the provider refuses
 */
export async function exchangeCode(
  { configuration, settings, log }: { configuration: Configuration; settings: OpenIdSettings; log: Log },
  flow: Flow,
  address: URL,
): Promise<Identity> {
  const { claims, accessToken } = await answerTo({ configuration, settings, log }, flow, address)
  const graph = 'graphUrl' in settings.groups ? await groupsAtGraph(settings.groups.graphUrl, accessToken, log) : []
  const identity = identityOf(settings, claims, graph)
  if (identity) return identity
  log.error({ kind: flow.kind, claim: settings.usernameClaim }, 'the provider does not say the name of who signed in')
  throw new UnauthenticatedError('sign_in_nameless', `The provider gives no usable claim ${settings.usernameClaim}`)
}

async function answerTo(
  { configuration, settings, log }: { configuration: Configuration; settings: OpenIdSettings; log: Log },
  flow: Flow,
  address: URL,
): Promise<CodeAnswer> {
  const client = await import('openid-client')
  const tokens = await client.authorizationCodeGrant(configuration, address, {
    expectedState: flow.state,
    expectedNonce: flow.nonce,
    pkceCodeVerifier: flow.verifier,
    idTokenExpected: true,
  })
  const idToken = tokens.claims()
  if (!idToken) throw new UnauthenticatedError('sign_in_refused', 'The provider did not say who signed in')
  // The library checks this only if there are several audiences. A token for another client must be refused.
  if (idToken.azp !== undefined && idToken.azp !== settings.clientId) {
    log.warn({ kind: flow.kind, azp: idToken.azp }, 'a sign-in was refused: its token was given to another client')
    throw new UnauthenticatedError('sign_in_refused', 'The sign-in was refused; begin it again')
  }
  // Entra ID puts everything into its token.
  const hasMore = flow.kind === 'oidc' && configuration.serverMetadata().userinfo_endpoint !== undefined
  const more = hasMore ? await client.fetchUserInfo(configuration, tokens.access_token, idToken.sub) : {}
  // Signed claims replace unsigned ones.
  const claims: Claims = { ...more, ...idToken }
  return { claims, accessToken: tokens.access_token }
}

/** Without their groups users would have the wrong roles. So then they cannot sign in. */
async function groupsAtGraph(graphUrl: string, accessToken: string, log: Log) {
  try {
    return await graphGroups(graphUrl, accessToken)
  } catch (error) {
    log.error(
      { reason: foreignText(error, [accessToken]) },
      'the groups of who signed in could not be read from Microsoft Graph',
    )
    throw new UnavailableError(
      'groups_unreachable',
      'The groups could not be read from Microsoft Graph; try again later',
    )
  }
}
