// The Node.js that the packages bring along, from its package on npm.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { arch } from 'node:process'
import { join } from 'node:path'

/** A release with long-term support; each release of Holdfast is tried with it. */
const VERSION = '24.21.0'
const CACHE = 'node_modules/.cache/holdfast-node'
/** How Debian names what Node.js names. */
const ARCHITECTURES = { x64: 'amd64', arm64: 'arm64' }

/**
 * Fetches the program and its licence, unless they are there already.
 * @returns {{ version: string, architecture: string, program: string, licence: string }}
 */
export function nodeRuntime() {
  const architecture = ARCHITECTURES[arch]
  if (!architecture) throw new Error(`there is no package for the architecture ${arch}`)
  const folder = join(CACHE, `${VERSION}-${arch}`)
  if (!existsSync(folder)) fetchInto(folder)
  return { version: VERSION, architecture, program: join(folder, 'bin/node'), licence: join(folder, 'LICENSE') }
}

/** @param {string} folder appears whole or not at all */
function fetchInto(folder) {
  mkdirSync(CACHE, { recursive: true })
  const fetched = mkdtempSync(join(CACHE, 'fetched-'))
  try {
    run('npm', ['pack', '--silent', '--pack-destination', fetched, `node-linux-${arch}@${VERSION}`])
    run('tar', ['-xzf', join(fetched, `node-linux-${arch}-${VERSION}.tgz`), '-C', fetched])
    renameSync(join(fetched, 'package'), folder)
  } finally {
    rmSync(fetched, { recursive: true, force: true })
  }
}

/**
 * Runs a program to its end; what it says is shown.
 * @throws Error when it fails
 */
export function run(program, words, options = {}) {
  const { status, error } = spawnSync(program, words, { stdio: ['ignore', 'ignore', 'inherit'], ...options })
  if (status !== 0) throw new Error(`${program} ${words[0]} failed${error ? `: ${error.message}` : ''}`)
}
