import { TOKEN_SCOPES, type TokenScope } from '../../store/accounts/api-tokens.js'

export { TOKEN_SCOPES, type TokenScope }

/**
 * What both lists allow. `launch` allows to read, too, and `admin` is everything.
 * @returns null for everything
 */
export function narrowest(
  one: readonly TokenScope[] | null,
  other: readonly TokenScope[] | null,
): readonly TokenScope[] | null {
  const level = Math.min(levelOf(one), levelOf(other))
  return level === TOKEN_SCOPES.length ? null : TOKEN_SCOPES.slice(0, level)
}

/** Whether what a route needs is among what a token may be used for. */
export function allowsScope(scopes: readonly TokenScope[] | null, needed: TokenScope): boolean {
  return scopes === null || scopes.includes(needed)
}

/** How many of the scopes, from the first one on, a list allows. */
function levelOf(scopes: readonly TokenScope[] | null): number {
  if (scopes === null) return TOKEN_SCOPES.length
  return Math.max(0, ...scopes.map((scope) => TOKEN_SCOPES.indexOf(scope) + 1))
}
