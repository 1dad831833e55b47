// Lies in every bundle as start.js and says whether the bundle is of the build beside it.
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Whether these are still the builds. The compiler's own record of a build names every source by its content.
 * @param {string} bundle its folder
 * @param {Readonly<Record<string, string>>} builds fingerprints of the records, by their paths as seen from there
 */
export function isOfThisBuild(bundle, builds) {
  return Object.entries(builds).every(([path, fingerprint]) => fingerprintOf([join(bundle, path)]) === fingerprint)
}

/**
 * One for all files; null when one is not there.
 * @param {readonly string[]} paths
 */
export function fingerprintOf(paths) {
  const hash = createHash('sha256')
  try {
    for (const path of paths) hash.update(readFileSync(path))
  } catch (error) {
    if (error.code === 'ENOENT') return null
    throw error
  }
  return hash.digest('hex')
}

/** Whether the bundle that this file lies in may be run. */
export function mayRun() {
  const { builds } = JSON.parse(readFileSync(join(import.meta.dirname, 'made-of.json'), 'utf8'))
  return isOfThisBuild(import.meta.dirname, builds)
}
