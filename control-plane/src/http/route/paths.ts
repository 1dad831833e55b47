/** Below the base URL; route plugins are registered with it and state their paths relative to it. */
export const API_PREFIX = '/api/v2'

/** `/` → ``, `/holdfast/` → `/holdfast`: the base URL as a prefix of paths. */
export function prefixOf(baseUrl: string): string {
  const trimmed = baseUrl.replace(/^\/+|\/+$/g, '')
  return trimmed === '' ? '' : `/${trimmed}`
}
