/**
 * The prefix of all paths, below the base URL. Plugins of routes are registered with it and name their paths relative
 * to it.
 */
export const API_PREFIX = '/api/v2'

/** The base URL as a prefix of paths: `/` gives ``, `/holdfast/` gives `/holdfast`. */
export function prefixOf(baseUrl: string): string {
  const trimmed = baseUrl.replace(/^\/+|\/+$/g, '')
  return trimmed === '' ? '' : `/${trimmed}`
}
