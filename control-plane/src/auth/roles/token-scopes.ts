import { TOKEN_SCOPES, type TokenScope } from '../../store/accounts/api-tokens.js'

export { TOKEN_SCOPES, type TokenScope }

/**
 * The scopes that both lists allow. `launch` includes reading, and `admin` includes everything.
 * @returns null for everything
 */
export function narrowest(
  one: readonly TokenScope[] | null,
  other: readonly TokenScope[] | null,
): readonly TokenScope[] | null {
  const level = Math.min(levelOf(one), levelOf(other))
  return level === TOKEN_SCOPES.length ? null : TOKEN_SCOPES.slice(0, level)
}

/** Whether the scopes of a token allow the scope that a route needs. */
export function allowsScope(scopes: readonly TokenScope[] | null, needed: TokenScope): boolean {
  return scopes === null || scopes.includes(needed)
}

/** The number of scopes, from the first one on, that a list allows. */
function levelOf(scopes: readonly TokenScope[] | null): number {
  if (scopes === null) return TOKEN_SCOPES.length
  return Math.max(0, ...scopes.map((scope) => TOKEN_SCOPES.indexOf(scope) + 1))
}
