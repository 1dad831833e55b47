import { spawnSync } from 'node:child_process'
import { get } from 'node:http'
import { basename } from 'node:path'
import { text } from 'node:stream/consumers'
import { inject } from 'vitest'
import { INSTALLED, whyNoMachine } from './machine.js'

/** The folder with the packages of the run. */
export interface BuiltPackages {
  readonly folder: string
  /** The same, as the machines see it. */
  readonly onMachine: string
}

/** Why packages cannot be tried here; null: they can. */
export function whyNoPackages(): string | null {
  return spawnSync('dpkg-deb', ['--version']).status === 0 ? whyNoMachine() : 'this is no Debian'
}

/** The packages, which are built once for all tests of a run, or were built elsewhere (`SYSTEMD_PACKAGES`). */
export async function builtPackages(): Promise<BuiltPackages> {
  // fetch gives up after five minutes. The packages are compressed, which takes as long as the machine needs for it.
  const folder = await new Promise<string>((resolve, reject) => {
    get(inject('packagesKeeper'), (answer) => {
      text(answer).then((said) => (answer.statusCode === 200 ? resolve(said) : reject(new Error(said))), reject)
    }).once('error', reject)
  })
  return { folder, onMachine: `${INSTALLED}/node_modules/.cache/${basename(folder)}` }
}
