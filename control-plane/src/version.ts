import { readFileSync } from 'node:fs'

/** The version of the product family's interface that this service has. */
export const API_VERSION = '7.3.0'

/** The service's own version, from its package.json. */
export const version: string = readVersion()

function readVersion(): string {
  const manifest: unknown = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'))
  if (typeof manifest === 'object' && manifest !== null && 'version' in manifest) return String(manifest.version)
  throw new Error('package.json has no version')
}
