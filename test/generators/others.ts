import { execFileSync, spawnSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync } from 'node:fs'
import { join, resolve } from 'node:path'

const ROOT = resolve(import.meta.dirname, '../..')
const PACKAGES = ['package.json', 'package-lock.json']

/**
 * The folder with the programs of others that this folder's package-lock.json names. It is fetched when it is asked for
 * first, and kept. It is no part of the product's own packages, because it is larger than all that the product needs.
 * @throws when npm cannot fetch it
 */
export function programsOfOthers(): string {
  const hash = createHash('sha256')
  for (const name of PACKAGES) hash.update(readFileSync(join(import.meta.dirname, name)))
  const cache = join(ROOT, 'node_modules/.cache/holdfast-generators')
  const folder = join(cache, hash.digest('hex').slice(0, 16))
  if (existsSync(folder)) return folder
  const begun = `${folder}-${process.pid}`
  rmSync(cache, { recursive: true, force: true })
  mkdirSync(begun, { recursive: true })
  for (const name of PACKAGES) cpSync(join(import.meta.dirname, name), join(begun, name))
  const quiet = ['--ignore-scripts', '--no-audit', '--no-fund', '--loglevel=error']
  execFileSync('npm', ['ci', ...quiet], { cwd: begun, stdio: ['ignore', 'ignore', 'inherit'] })
  renameSync(begun, folder)
  return folder
}

/** Runs Node.js in a folder. Gives what it said when it failed, else an empty text. */
export function complaintsOf(folder: string, args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: folder, encoding: 'utf8' })
  return status === 0 ? '' : `exit code ${String(status)}\n${stdout}${stderr}`
}
