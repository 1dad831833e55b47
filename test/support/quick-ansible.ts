import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const REAL =
  (process.env.PATH ?? '').split(':').find((folder) => existsSync(join(folder, 'ansible-playbook'))) ?? '/usr/bin'
const QUICK_ANSWER = `#!/bin/sh
[ "$1" = --version ] && { echo 'ansible-playbook [core 2.14.0]'; exit 0; }
exec ${REAL}/ansible-playbook "$@"
`

/**
 * The real ansible-playbook, but the question for its version, which takes ansible half a second of computing, is
 * answered at once: every start of an agent asks it.
 * @param folder where the program is put
 * @returns the PATH with which it is found
 */
export function pathWithQuickAnsible(folder: string): string {
  const programs = join(folder, 'quick-programs')
  mkdirSync(programs)
  writeFileSync(join(programs, 'ansible-playbook'), QUICK_ANSWER, { mode: 0o755 })
  return `${programs}:${process.env.PATH ?? ''}`
}
