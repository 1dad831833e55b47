import { readFileSync } from 'node:fs'

/** The product family's interface that this service speaks. */
export const API_VERSION = '7.3.0'

/** The service's own version, as its package says. */
export const version: string = readVersion()

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version)
  throw new Error('package.json has no version')
}
