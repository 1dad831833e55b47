import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'

const packageSchema = v.object({ version: v.string() })

/** This program's own release. */
export function readVersion(): string {
  return v.parse(packageSchema, JSON.parse(readFileSync(pathOf('../package.json'), 'utf8'))).version
}

/** Where the parts written in Python are. */
export interface AnsibleParts {
  readonly supervisor: string
  /** Looks whether jobs can have users of their own, and cleans up after them. */
  readonly isolation: string
  /** Takes and looks at locks of the kernel. */
  readonly locks: string
  /** Installs what a playbook folder requires, and becomes ansible-playbook. */
  readonly requirements: string
  readonly callbackFolder: string
}

/** The folder of the package with the parts written in Python. */
export const PACKAGED_PARTS_FOLDER = pathOf('../ansible')

/** The parts in a folder that has what the package has. */
export function partsIn(folder: string): AnsibleParts {
  return {
    supervisor: join(folder, 'supervisor.py'),
    isolation: join(folder, 'isolation.py'),
    locks: join(folder, 'locks.py'),
    requirements: join(folder, 'requirements.py'),
    callbackFolder: join(folder, 'callback'),
  }
}

/** A path of the package. `src` and `dist` have the same depth, so it is found from both. */
function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
