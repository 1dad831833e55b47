import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import * as v from 'valibot'

const packageSchema = v.object({ version: v.string() })

/** This program's own release. */
export function readVersion(): string {
  return v.parse(packageSchema, JSON.parse(readFileSync(pathOf('../package.json'), 'utf8'))).version
}

/** Where the parts written in Python are. */
export const ANSIBLE_PARTS = {
  supervisor: pathOf('../ansible/supervisor.py'),
  /** Looks whether jobs can have users of their own, and cleans up after them. */
  isolation: pathOf('../ansible/isolation.py'),
  /** Takes and looks at locks of the kernel. */
  locks: pathOf('../ansible/locks.py'),
  /** Installs what a playbook folder requires, and becomes ansible-playbook. */
  requirements: pathOf('../ansible/requirements.py'),
  callbackFolder: pathOf('../ansible/callback'),
}

/** A path of the package. `src` and `dist` have the same depth, so it is found from both. */
function pathOf(relative: string): string {
  return fileURLToPath(new URL(relative, import.meta.url))
}
