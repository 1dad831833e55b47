import { execa } from 'execa'
import { interpreterOfAnsible } from './host-python.js'
import type { Environment } from '../ground.js'

/** What `ansible-playbook --version` would say, without loading all of ansible: a tenth of the work at each start of the agent. */
const QUESTION = `
from ansible.release import __version__
print("[core %s]" % __version__)
`

/** The version of ansible-core on this host; null when there is none, or it does not answer soon. */
export async function readAnsibleVersion(environment: Environment): Promise<string | null> {
  const python = interpreterOfAnsible(environment.PATH)
  const quick = python === null ? null : versionIn(await ask(python, ['-c', QUESTION], environment))
  // ansible-playbook itself is asked when it is a wrapper, or when its release keeps the version elsewhere.
  return quick ?? versionIn(await ask('ansible-playbook', ['--version'], environment))
}

function versionIn(text: string): string | null {
  return /\[core ([^\]\s]+)/.exec(text)?.[1] ?? /ansible-playbook ([\d.]+)/.exec(text)?.[1] ?? null
}

async function ask(program: string, words: readonly string[], environment: Environment): Promise<string> {
  const result = await execa(program, words, {
    env: { PATH: environment.PATH, HOME: environment.HOME },
    extendEnv: false,
    // Python looks for modules in its working directory, too.
    cwd: '/',
    reject: false,
    stdin: 'ignore',
    timeout: 20_000,
    forceKillAfterDelay: 500,
    maxBuffer: 64 * 1024,
  })
  return result.stdout
}
